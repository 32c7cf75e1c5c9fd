#!/usr/bin/python3
"""Runs the real ghz against a real server: every profile, shortened, and every command of deploy/ghz/README.md.

Installs ghz by its module path, so it needs Go; skipped where there is none, or no network to fetch
modules from, unless OPSERVE_REQUIRE has ghz. Passes if every call of every run is answered with OK.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
import go_tool  # pylint: disable=wrong-import-position
from server_process import ServerProcess  # pylint: disable=wrong-import-position

RUN_LIMIT_S = 120
# What makes a profile short: fewer calls, lower rates, steps that take less time.
SHORTER = {
    "smoke": [],
    "ramp": ["--duration", "2s", "--load-start", "100", "--load-step", "100", "--load-end", "400",
             "--load-step-duration", "500ms"],
    "soak": ["--duration", "1s", "--rps", "200"],
    "large": ["--total", "8"],
}


class GhzTest(unittest.TestCase):
    ghz = None
    programs = None
    address = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="opserve-ghz-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # As the root of the repository, where the commands are run, with a folder of its own for what they write.
        for name in ("deploy", "proto"):
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "build" / "release").mkdir(parents=True)
        (self.folder / "build" / "release" / "bin").symlink_to(self.programs)

    def run_ghz(self, *arguments):
        """Runs ghz, with the arguments before the server's; every call must be answered with OK."""
        report_path = self.folder / "report.json"
        command = [self.ghz, "--format", "json", "--output", report_path, *arguments, self.address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False,
                              stdin=subprocess.DEVNULL, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        report = json.loads(report_path.read_text(encoding="utf-8"))
        self.assertGreater(report["count"], 0)
        self.assertEqual(report["statusCodeDistribution"], {"OK": report["count"]})
        self.assertFalse(report.get("errorDistribution"))
        return report

    def blocks(self):
        page = (ROOT / "deploy" / "ghz" / "README.md").read_text(encoding="utf-8")
        return [block.replace("\\\n", " ") for block in re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S)]

    def make_large_request(self):
        """Runs the commands of the page that write the request of large.json."""
        script, = [block for block in self.blocks() if "opserve pack" in block]
        script = script.replace("ghz --config", ": ")
        subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, check=True,
                       timeout=RUN_LIMIT_S, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.assertGreater((self.folder / "build/ghz/large.bin").stat().st_size, 1 << 24)

    def test_every_profile(self):
        profiles = {path.stem for path in (ROOT / "deploy" / "ghz").glob("*.json")}
        self.assertEqual(profiles, set(SHORTER))
        self.make_large_request()
        for profile, shorter in SHORTER.items():
            with self.subTest(profile=profile):
                report = self.run_ghz("--config", f"deploy/ghz/{profile}.json", *shorter)
                print(f"{profile}: {report['count']} calls, {report['rps']:.0f} calls/s", flush=True)

    def test_every_command_of_the_page(self):
        self.make_large_request()
        commands = [shlex.split(line, comments=True) for block in self.blocks()
                    for line in block.splitlines() if line.startswith("ghz ")]
        page = (ROOT / "deploy" / "ghz" / "README.md").read_text(encoding="utf-8")
        commands += [shlex.split(text) for text in re.findall(r"`(ghz --config[^`]*)`", page)]
        self.assertGreater(len(commands), 4)
        for command in commands:
            with self.subTest(command=command):
                # To the server of the test, and not for as long.
                arguments = shlex.split(re.sub(r" (-[nz] \S+|[\w.-]+:\d+)(?= |$)", "",
                                               shlex.join(command[1:])))
                profile = next((name for name in SHORTER if f"{name}.json" in " ".join(arguments)), None)
                self.run_ghz(*arguments, *SHORTER.get(profile, ["-n", "8"]))

    def test_the_page_installs_the_version_that_is_tested(self):
        module, version = go_tool.pinned()["ghz"]
        self.assertIn([f"go install {module}@{version}"],
                      [block.splitlines() for block in self.blocks()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True,
                        help="folder of opserve-server and opserve")
    parser.add_argument("--tools", type=pathlib.Path, required=True,
                        help="folder that ghz is installed into, and kept in")
    arguments, rest = parser.parse_known_args()
    GhzTest.ghz = go_tool.install("ghz", arguments.tools)
    GhzTest.programs = arguments.bin.resolve()
    with tempfile.TemporaryDirectory(prefix="opserve-ghz-server-") as folder:
        with ServerProcess(GhzTest.programs / "opserve-server", folder) as server:
            GhzTest.address = server.address
            result = unittest.main(argv=[os.path.basename(sys.argv[0]), *rest], exit=False).result
    if server.exit_code != 0:
        sys.exit(f"the server ended with exit code {server.exit_code}:\n{server.log()}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
