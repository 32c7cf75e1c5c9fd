#!/usr/bin/python3
"""What the programs for Windows need of it."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOLS = "x86_64-w64-mingw32-"
# All that they import comes with every Windows 10 on which a server or a command runs.
SYSTEM = {"advapi32", "bcrypt", "crypt32", "dbghelp", "dnsapi", "iphlpapi", "kernel32", "msvcrt", "ole32", "psapi",
          "shell32", "user32", "ws2_32"}
PROGRAMS = []
# Stripped, as they are in the zip.
MOST_BYTES = 20_000_000


def imports(program):
    """The libraries without which the program does not start, in small letters and without .dll."""
    headers = subprocess.run([TOOLS + "objdump", "-p", program], check=True, capture_output=True, text=True).stdout
    return {name.lower() for name in re.findall(r"DLL Name: (\S+?)\.dll", headers, re.IGNORECASE)}


class Programs(unittest.TestCase):
    def test_need_nothing_but_windows(self):
        for program in PROGRAMS:
            with self.subTest(program=program.name):
                found = imports(program)
                self.assertIn("kernel32", found)
                self.assertEqual(found - SYSTEM, set())

    def test_take_utf8(self):
        for program in PROGRAMS:
            with self.subTest(program=program.name):
                self.assertIn(b">UTF-8</activeCodePage>", program.read_bytes())

    def test_are_not_too_large(self):
        for program in PROGRAMS:
            with self.subTest(program=program.name), tempfile.NamedTemporaryFile() as stripped:
                subprocess.run([TOOLS + "strip", "-o", stripped.name, program], check=True)
                self.assertLessEqual(pathlib.Path(stripped.name).stat().st_size, MOST_BYTES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="+", type=pathlib.Path)
    PROGRAMS = parser.parse_args().programs
    unittest.main(argv=sys.argv[:1])
