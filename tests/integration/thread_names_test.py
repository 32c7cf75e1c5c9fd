#!/usr/bin/python3
"""What the threads of a running opserve-server are called, as `ps -T`, `top -H`, gdb and perf show it."""

import argparse
import os
import pathlib
import re
import socket
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
# The server's own threads where everything is on, and how many there are of each.
NAMES = {"opserve-server": 1, "signals": 1, "end": 1, "end-calls": 1, "watchdog": 1, "saturation": 1,
         "tensors": 1, "tensor-reads": 1, "files": 1, "edge": 1, "poller/0": 1, "poller/1": 1, "regions": 1,
         "metrics": 1, "access-log": 1, "trace-log": 1, "audit-log": 1, "leases": 1, "maintenance": 1,
         "runner/cpu": 3, "runner/gpu0": 2, "cpu-pool": 1}
# gRPC's threads name themselves.
GRPC_NAMES = re.compile(r"grpc|default-executo|resolver-execut|timer|event|posix")
# Large enough for two threads.
ELEMENTS = 4 << 20


def names_of(pid):
    """How many threads of the process have each name."""
    names = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text(encoding="utf-8").rstrip("\n")
        except FileNotFoundError:
            continue
        names[name] = names.get(name, 0) + 1
    return names


class ThreadNamesTest(unittest.TestCase):

    def test_each_thread_of_the_server_has_a_name(self):
        with tempfile.TemporaryDirectory(prefix="opserve-names-") as name, \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            folder = pathlib.Path(name)
            manager.bind(name + "/notify")
            tokens = folder / "tokens"
            subprocess.run([BIN / "opserve-server", "token", "add", "test", "--tokens", tokens],
                           check=True, capture_output=True)
            arguments = ["--listen", f"unix:{folder}/socket", "--pollers", "2", "--workers", "3",
                         "--cpu-threads", "2", "--metrics-listen", "127.0.0.1:0",
                         "--tokens", tokens, "--devices", "auto", "--allow-software-adapters"]
            for log in ("access", "trace", "audit"):
                arguments += [f"--{log}-log", folder / f"{log}.log"]
            environment = {"NOTIFY_SOCKET": name + "/notify", "WATCHDOG_USEC": "60000000",
                           "OPSERVE_MODULE_DIR": str(MODULES)}
            with ServerProcess(BIN / "opserve-server", folder, arguments, environment) as server:
                self.expect_names(server, folder)
            self.assertEqual(server.exit_code, 0, server.log())

    def run_in_the_pool(self, server, folder):
        """A request that is worth two threads."""
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({ELEMENTS},), }}"
        header = (header.ljust(117) + "\n").encode()
        (folder / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
                                       + header + bytes(4 * ELEMENTS))
        subprocess.run([BIN / "opserve", "run", "ELEMENT_WISE_ROUND", "--address", server.address,
                        "--attr", "RoundingMode=TOWARD_ZERO", "--device", "cpu",
                        "--input", folder / "x.npy", "--output", folder / "y.npy"],
                       check=True, capture_output=True, timeout=LIMIT_S)

    def expect_names(self, server, folder):
        expected = dict(NAMES)
        if len(os.sched_getaffinity(0)) == 1:
            del expected["cpu-pool"]
        deadline = time.monotonic() + LIMIT_S
        while True:
            names = names_of(server.pid)
            ours = {name: names.get(name, 0) for name in expected}
            # A thread names itself when it starts, and GPUs join later.
            if ours == expected or time.monotonic() > deadline:
                break
            # The thread of the pool comes with the first of these, or too late for that.
            self.run_in_the_pool(server, folder)
        self.assertEqual(ours, expected, names)
        others = sorted(set(names) - set(expected))
        self.assertTrue(others)
        for name in others:
            self.assertRegex(name, GRPC_NAMES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--modules", required=True, type=pathlib.Path)
    known, rest = parser.parse_known_args()
    BIN, MODULES = known.bin.resolve(), known.modules.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
