#!/usr/bin/python3
"""The zip for Windows: what it holds, that its programs start, and that its scripts use options that there are."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNDER_WINE = ROOT / "deploy/windows/run-under-wine.sh"
LIMIT_S = 300
BUILD = None
PROGRAMS = ("opserve-server.exe", "opserve.exe")
SCRIPTS = ("check-machine.ps1", "install-service.ps1", "remove-service.ps1")


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.addClassCleanup(cls.folder.cleanup)
        folder = pathlib.Path(cls.folder.name)
        for output in ("first", "second"):
            subprocess.run([ROOT / "deploy/windows/make-bundle.sh", BUILD, folder / output], check=True,
                           capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        cls.archives = [next((folder / output).glob("*.zip")) for output in ("first", "second")]
        with zipfile.ZipFile(cls.archives[0]) as archive:
            archive.extractall(folder / "unpacked")
        cls.tree = next((folder / "unpacked").iterdir())

    def test_the_same_build_gives_the_same_bytes(self):
        self.assertEqual(self.archives[0].read_bytes(), self.archives[1].read_bytes())

    def test_all_is_in_one_folder(self):
        self.assertRegex(self.tree.name, r"^opserve-[0-9.]+-windows-x86_64$")
        for name in (*PROGRAMS, *SCRIPTS, "opserve-server.toml", "README.txt", "client/include/opserve/client.h",
                     "client/lib/cmake/opserve/opserve-config.cmake", "client/lib/libopserve_client.a"):
            self.assertTrue((self.tree / name).is_file(), name)

    def test_every_library_has_its_licence(self):
        licences = self.tree / "LICENSES"
        packages = [line.split()[0] for line in (licences / "packages.txt").read_text(encoding="ascii").splitlines()]
        self.assertIn("grpc", packages)
        self.assertIn("openssl", packages)
        for package in packages:
            self.assertGreater((licences / f"{package}.txt").stat().st_size, 100, package)

    def help_of(self, program, *verb):
        return subprocess.run([UNDER_WINE, self.tree / program, *verb, "--help"], check=True, capture_output=True,
                              text=True, timeout=LIMIT_S).stdout

    def test_scripts_use_options_that_there_are(self):
        known = self.help_of("opserve-server.exe")
        for verb in ("health", "devices", "run", "bench"):
            known += self.help_of("opserve.exe", verb)
        for script in SCRIPTS:
            text = (self.tree / script).read_text(encoding="ascii")
            self.assertIn("\r\n", (self.tree / script).read_bytes().decode("ascii"))
            for option in re.findall(r"[\s'](--[a-z-]+)", text):
                self.assertIn(option, known, script)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    BUILD = parser.parse_args().build
    unittest.main(argv=sys.argv[:1])
