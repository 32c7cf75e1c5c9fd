#!/usr/bin/python3
"""That no script for Windows ends with the first line that a program writes to its standard error.

Windows PowerShell 5.1 makes an error of such a line where it is redirected, and with $ErrorActionPreference = 'Stop'
the script ends there, whatever the program's exit code is.
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "deploy" / "windows"
PREFERENCE = re.compile(r"\$ErrorActionPreference = '(\w+)'")


def fragile_lines(text):
    """Numbers of the lines of a script that redirect standard error to where its lines end the script."""
    found = []
    of_script = of_function = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(("function ", "}")):
            of_function = None
        said = PREFERENCE.search(line)
        if "2>" in line and (said[1] if said else of_function or of_script) != "Continue":
            found.append(number)
        if said and line.startswith(" "):
            of_function = said[1]
        elif said and line.startswith("$"):
            of_script = said[1]
    return found


class PowerShell(unittest.TestCase):
    def test_scripts_go_on_after_lines_on_standard_error(self):
        scripts = sorted(SCRIPTS.rglob("*.ps1"))
        self.assertGreaterEqual(len(scripts), 3)
        self.assertEqual({script.name: fragile_lines(script.read_text(encoding="ascii")) for script in scripts},
                         {script.name: [] for script in scripts})

    def test_lines_that_end_a_script_are_found(self):
        self.assertEqual(fragile_lines("$ErrorActionPreference = 'Stop'\n$said = & $program 2>&1\n"), [2])
        self.assertEqual(fragile_lines("$ErrorActionPreference = 'Stop'\nfunction Test {\n  & $program 2>&1\n}\n"), [3])
        self.assertEqual(fragile_lines("function Test {\n  $ErrorActionPreference = 'Continue'\n  & $program 2>&1\n}\n"
                                       "& $program 2>&1\n"), [5])

    def test_others_are_not(self):
        self.assertEqual(fragile_lines("$ErrorActionPreference = 'Stop'\n& $program | Out-Null\n"), [])
        self.assertEqual(fragile_lines("$ErrorActionPreference = 'Stop'\nfunction Test {\n"
                                       "  $ErrorActionPreference = 'Continue'\n  & $program 2>&1\n}\n"), [])
        self.assertEqual(fragile_lines("$said = & { $ErrorActionPreference = 'Continue'; & $program 2>&1 }\n"), [])


if __name__ == "__main__":
    unittest.main()
