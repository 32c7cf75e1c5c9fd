#!/usr/bin/python3
"""Runs the commands of docs/cli.md in bash, one block after the other, in one folder."""

import os
import re
import subprocess

import numpy as np

import cli_fixture
from cli_fixture import CALL_LIMIT_S, ROOT, CliCase, environment


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


if __name__ == "__main__":
    cli_fixture.main(__doc__)
