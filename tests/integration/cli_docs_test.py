#!/usr/bin/python3
"""Runs the commands of docs/cli.md in bash, one block after the other, in one folder, and those of other pages."""

import os
import re
import shlex
import subprocess

import numpy as np

import cli_fixture
from cli_fixture import (CALL_FAILED, CALL_LIMIT_S, ROOT, SUCCESS, TEST_FAILED, CliCase,
                         environment)


class DocsTest(CliCase):

    def test_every_command_works(self):
        x = np.array([[0.5, np.inf, 2.5], [1.5, -1, -2.5]], np.float32)
        self.save("x.npy", x)
        text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
        # What a block prints may stand in another one right below it.
        blocks = re.findall(r"^```sh\n(.*?)^```$(?:\n\n```\n(.*?)^```$)?", text, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 7)
        path = f"{cli_fixture.program().parent}:{os.environ['PATH']}"
        self.assertTrue(any(printed for _, printed in blocks))
        for block, printed in blocks:
            output = self.folder / "y.npy"
            output.unlink(missing_ok=True)
            done = subprocess.run(["bash", "--norc", "-euo", "pipefail", "-c", block],
                                  cwd=self.folder, capture_output=True, text=True, check=False,
                                  timeout=CALL_LIMIT_S, env=environment(PATH=path))
            self.assertEqual(done.returncode, 0, f"{block}{done.stdout}{done.stderr}")
            self.assertEqual(done.stderr, "")
            self.assertIn(printed, done.stdout)
            if "y.npy" in block:
                self.assert_same(np.load(output), np.trunc(x))


    def other_commands(self):
        """(page, words) of each `opserve` in the shell blocks of all pages but docs/cli.md."""
        for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")]:
            if page.name == "cli.md":
                continue
            for block in re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
                for line in block.replace("\\\n", " ").splitlines():
                    found = re.match(r"(?:build/release/bin/|\$)?opserve (.*)", line)
                    if found:
                        yield page.name, [word for word in shlex.split(found.group(1), comments=True)
                                          if word != "&"]

    def test_every_command_of_other_pages_works(self):
        commands = list(self.other_commands())
        self.assertGreater(len(commands), 12)
        (self.folder / "build" / "ghz").mkdir(parents=True)
        for name in ("x.npy", "build/ghz/x.npy"):
            self.save(name, np.array([[0.5, -1.5], [2.5, np.inf]], np.float32))
        for page, words in commands:
            with self.subTest(page=page, words=words):
                if words[0] == "bench":
                    words += ["--duration", "50ms"]
                code, said = SUCCESS, ""
                # There is no GPU here; that the calls are right shows on the processor.
                if "gpu" in words:
                    code, said = CALL_FAILED, "DEVICE_UNAVAILABLE"
                    self.run_here(["cpu" if word == "gpu" else word for word in words], SUCCESS, "")
                if "--self-test" in words:
                    code, said = TEST_FAILED, "has no GPU"
                self.run_here([*words, "--json"] if code == CALL_FAILED else words, code, said)

    def addresses(self, shown):
        """As many addresses as are shown, all of the test's server; a socket file for a socket file."""
        names = iter([cli_fixture.ADDRESS, f"dns:{cli_fixture.ADDRESS}", f"ipv4:{cli_fixture.ADDRESS}"])
        return ",".join(cli_fixture.SOCKET if address.startswith("unix:") else next(names)
                        for address in shown.split(","))

    def run_here(self, words, code, said):
        """Runs `opserve` in the test's folder, at the test's server, by as many addresses as are shown."""
        if "--address" in words:
            words = [self.addresses(word) if before == "--address" else word
                     for before, word in zip([""] + words, words)]
        done = subprocess.run([cli_fixture.program(), *words], cwd=self.folder, capture_output=True,
                              text=True, check=False, timeout=CALL_LIMIT_S, env=environment())
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(said, done.stdout + done.stderr)


if __name__ == "__main__":
    cli_fixture.main(__doc__)
