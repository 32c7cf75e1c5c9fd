#!/usr/bin/python3
"""Memory of a peak of connections goes back to the system soon after they have closed.

About half of it does: the server keeps an entry for each descriptor, and the allocator every page
on which one of them lies. Nothing does where the server does not give it back.
"""

import argparse
import contextlib
import pathlib
import resource
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("testing", "redteam")]

from raw_http2 import HEALTH_CHECK, call, open_http2  # pylint: disable=wrong-import-position
from server_process import ServerProcess  # pylint: disable=wrong-import-position

SERVER = None
LIMIT_S = 60
# More than the least that the server takes for a peak.
CONNECTIONS = 1500
FILES = 2 * CONNECTIONS + 1024


def rss(server):
    """Resident bytes of the process."""
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) << 10


class PeakMemoryTest(unittest.TestCase):

    def test_memory_goes_back(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most < FILES:
            self.skipTest(f"ulimit -Hn is {most}, not {FILES}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        limit = str(2 * CONNECTIONS)
        with tempfile.TemporaryDirectory(prefix="opserve-peak-") as folder, \
                ServerProcess(SERVER, folder, ["--devices", "none", "--max-connections", limit,
                                               "--max-connections-per-client", limit]) as server:
            before = rss(server)
            with contextlib.ExitStack() as connections:
                for _ in range(CONNECTIONS):
                    connection = connections.enter_context(open_http2(server.address))
                    self.assertEqual(call(connection, HEALTH_CHECK, b""), b"\x08\x01")
                peak = rss(server)
            enough = before + (peak - before) * 3 // 4
            deadline = time.monotonic() + LIMIT_S
            while rss(server) > enough and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertLess(rss(server), enough, f"{before} before, {peak} at the peak")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True, type=pathlib.Path)
    known, rest = parser.parse_known_args()
    SERVER = known.server.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
