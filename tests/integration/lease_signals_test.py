#!/usr/bin/python3
"""Runs `opserve lease ... -- COMMAND`, and sends it the signals that ask programs to end."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))

from server_process import ServerProcess  # pylint: disable=wrong-import-position

BIN = None
MODULES = None
LIMIT_S = 60
OWN_CODE = 5
# Tells its signals, and ends with the first that is not SIGINT. The lease is there until it does.
COMMAND = f"""
import signal, subprocess, sys
def told(number, _):
    leases = subprocess.run([sys.argv[1], "leases", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    print(signal.Signals(number).name, leases.stdout.decode().count('"held": true'), flush=True)
    sys.exit({OWN_CODE})
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, told)
signal.signal(signal.SIGINT, lambda *_: print("SIGINT", flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""


class LeaseSignalsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="opserve-lease-"))
        arguments = ["--devices", "auto", "--allow-software-adapters"]
        server = cls.enterClassContext(ServerProcess(BIN / "opserve-server", folder, arguments,
                                                     {"OPSERVE_MODULE_DIR": str(MODULES)}))
        cls.environment = {**os.environ, "OPSERVE_ADDRESS": server.address}
        # GPUs join later.
        deadline = time.monotonic() + LIMIT_S
        while cls.count_gpus() == 0 and time.monotonic() < deadline:
            pass

    @classmethod
    def count_gpus(cls):
        listed = subprocess.run([BIN / "opserve", "devices", "--json"], check=True, capture_output=True,
                                timeout=LIMIT_S, env=cls.environment)
        return sum(not device["name"].startswith("cpu/") for device in json.loads(listed.stdout)["devices"])

    def lease(self, *command):
        """`opserve lease` with the command."""
        process = subprocess.Popen([BIN / "opserve", "lease", "gpu", "--", *command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment)
        self.addCleanup(process.kill)
        return process

    def test_the_command_is_told_and_the_lease_lasts_until_it_ends(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            process = self.lease(sys.executable, "-c", COMMAND, str(BIN / "opserve"))
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(number)
            printed, errors = process.communicate(timeout=LIMIT_S)
            self.assertEqual((process.returncode, printed, errors), (OWN_CODE, f"{number.name} 1\n", ""))

    def test_what_a_terminal_sends_to_both_is_left_to_the_command(self):
        process = self.lease(sys.executable, "-c", COMMAND, str(BIN / "opserve"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGQUIT)
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=LIMIT_S)
        self.assertEqual((process.returncode, printed), (OWN_CODE, "SIGTERM 1\n"))

    def test_a_command_inherits_nothing_of_it(self):
        process = self.lease("/bin/sh", "-c", "kill -TERM $$")
        process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--modules", required=True, type=pathlib.Path)
    known, rest = parser.parse_known_args()
    BIN, MODULES = known.bin.resolve(), known.modules.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
