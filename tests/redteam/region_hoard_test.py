#!/usr/bin/env python3
"""Programs that take all connections for shared memory and share none, or share files of holes.

Exits with 0 if others can share memory again soon, and if a file of holes makes the server take no
memory and counts with its size; with 1 if not.
"""

import time

import attack
from process_memory import rss
from region_client import RegionClient

MIB = 1 << 20
GIB = 1 << 30
CONNECTIONS = 64
LIMIT_S = 30


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
