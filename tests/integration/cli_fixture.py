"""Runs the real `opserve` against a real server, for the tests of the command line."""

import argparse
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from server_process import ServerProcess  # pylint: disable=wrong-import-position

CALL_LIMIT_S = 60
OPSERVE = None
ADDRESS = None
SOCKET = None

SUCCESS, CALL_FAILED, USAGE, UNREACHABLE, FILE_ERROR, TEST_FAILED = range(6)
ROUND_AWAY = ["ELEMENT_WISE_ROUND", "--attr", "RoundingMode=TOWARD_INFINITY"]


def environment(**changes):
    kept = {k: v for k, v in os.environ.items()
            if k not in ("NO_COLOR", "GRPC_VERBOSITY") and not k.startswith("OPSERVE_")}
    return {**kept, "OPSERVE_ADDRESS": ADDRESS, **changes}


def program():
    """Path of `opserve`."""
    return OPSERVE


def opserve(*arguments, stdin=None, **changes):
    """Runs `opserve` to its end, with the text `stdin` as its input."""
    return subprocess.run([OPSERVE, *map(str, arguments)], capture_output=True, text=True,
                          timeout=CALL_LIMIT_S, check=False, input=stdin or "",
                          env=environment(**changes))


def on_terminal(*arguments, stdout=None, **changes):
    """What opserve prints to a terminal; only what goes to standard error where `stdout` is given."""
    parent, child = pty.openpty()
    with subprocess.Popen([OPSERVE, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=stdout or child, stderr=child,
                          env=environment(**changes)) as process:
        os.close(child)
        printed = b""
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            printed += part
        os.close(parent)
        process.wait(CALL_LIMIT_S)
    return process.returncode, printed.decode()


def round_half_away(x):
    wide = x.astype(np.float64)
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide).astype(x.dtype)


def bits(x):
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


class CliCase(unittest.TestCase):
    """A test with a folder for its files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="opserve-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.random = np.random.default_rng(7)

    def save(self, name, tensor):
        np.save(self.folder / name, tensor)
        return self.folder / name

    def succeed(self, *arguments, **options):
        """What `opserve` prints where it succeeds."""
        done = opserve(*arguments, **options)
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        return done.stdout

    def fail_with(self, code, words, *arguments, **options):
        """Runs `opserve`, which must fail with that exit code and say `words`."""
        done = opserve(*arguments, **options)
        self.assertEqual(done.returncode, code, done)
        self.assertIn(words, done.stderr)
        return done

    def assert_same(self, got, expected):
        self.assertEqual((got.dtype, got.shape), (expected.dtype, expected.shape))
        np.testing.assert_array_equal(bits(got), bits(expected))


def main(description):
    global OPSERVE, ADDRESS, SOCKET  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bin", type=pathlib.Path, required=True,
                        help="folder of opserve-server and opserve")
    programs, rest = parser.parse_known_args()
    OPSERVE = programs.bin.resolve() / "opserve"
    with tempfile.TemporaryDirectory(prefix="opserve-cli-server-") as folder:
        # Memory is shared through a socket beside the unix socket.
        SOCKET = f"unix:{folder}/socket"
        arguments = ["--devices", "none", "--listen", SOCKET]
        with ServerProcess(programs.bin / "opserve-server", folder, arguments) as server:
            ADDRESS = server.address
            tests = unittest.main(argv=[sys.argv[0], *rest], exit=False)
    if not tests.result.wasSuccessful():
        sys.exit(1)
    if server.exit_code != 0:
        sys.exit(f"the server ended with exit code {server.exit_code}")
