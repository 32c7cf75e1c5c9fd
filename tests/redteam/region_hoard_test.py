#!/usr/bin/env python3
"""Programs that take all connections for shared memory and share none, or share files of holes.

Exits with 0 if others can share memory again soon, and if a file of holes makes the server take no
memory and counts with its size; with 1 if not.
"""

import fcntl
import os
import socket
import time

import attack
from operator_calls import field, fields
from process_memory import rss

MIB = 1 << 20
GIB = 1 << 30
CONNECTIONS = 64
LIMIT_S = 30
F_ADD_SEALS = 1033
F_SEAL_SEAL = 1
F_SEAL_SHRINK = 2


class RegionClient:
    """A connection to the server's socket of regions."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(LIMIT_S)
        self._socket.connect(path)

    def register(self, size):
        """Registers a file of holes; whether that was allowed."""
        file = os.memfd_create("holes", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(file, size)
            fcntl.fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL)
            socket.send_fds(self._socket, [field(1, field(1, size))], [file])
            return 1 in fields(self._socket.recv(1 << 16))
        except ConnectionError:
            return False
        finally:
            os.close(file)

    def close(self):
        """Ends the connection."""
        self._socket.close()


def region_hoard(target):
    path = target.address[5:] + ".regions"
    hoard = [RegionClient(path) for _ in range(CONNECTIONS)]
    start = time.monotonic()
    while True:
        client = RegionClient(path)
        if client.register(4096):
            break
        client.close()
        if time.monotonic() > start + LIMIT_S:
            return ["connections that share nothing shut everybody else out"]
        time.sleep(0.05)
    print(f"served after {time.monotonic() - start:.1f} s")
    for each in hoard:
        each.close()

    before = rss(target.pid)
    holes = RegionClient(path)
    if not holes.register(GIB) or not holes.register(GIB):
        return ["the quota of a connection was not to be had"]
    if holes.register(4096):
        return ["a connection may have more than its quota"]
    other = RegionClient(path)
    if not other.register(GIB) or other.register(GIB):
        return ["the quota of a user is not kept"]
    grown = rss(target.pid) - before
    print(f"3 GiB of holes take {grown / MIB:.1f} MiB")
    return [] if grown < 64 * MIB else [f"holes take {grown // MIB} MiB"]


if __name__ == "__main__":
    attack.run([region_hoard], ways=("unix",),
               options=("--region-idle-limit", "1", "--max-region-bytes-per-user", "3073MiB",
                        "--max-region-connections-per-user", f"{CONNECTIONS}"))
