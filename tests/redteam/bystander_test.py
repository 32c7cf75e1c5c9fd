#!/usr/bin/env python3
"""Whether a bystander tells a server that keeps it waiting from a machine that does."""

import time

import attack
from bystander import WAIT_LIMIT_S, Bystander, stall_s

# Several times what is allowed, so that it is noticed as well where the bystander comes late.
STOP_S = 3 * WAIT_LIMIT_S


def stopped_server(target):
    with Bystander(target) as bystander:
        with target.process.stopped():
            time.sleep(STOP_S)
    return [] if bystander.verdict() else ["nobody noticed that the server was stopped"]


def idle_server(target):
    with Bystander(target) as bystander:
        time.sleep(1)
    return bystander.verdict()


def shares_of_waits(_):
    """Waits with what the server ran and found no processor meanwhile, and what of it counts."""
    cases = {"blocked": (6, 0, 0, 6), "working": (6, 6, 0, 6),
             "working beside other programs": (18, 6, 12, 6),
             "working with two threads": (3, 6, 0, 3),
             "standing in line, with many threads": (6, 0.1, 9, 0.1)}
    return [f"{name}: {stall_s(wait, ran, queued)} s of {wait} s count"
            for name, (wait, ran, queued, stall) in cases.items()
            if stall_s(wait, ran, queued) != stall]


if __name__ == "__main__":
    attack.run([shares_of_waits, idle_server, stopped_server], ways=("tcp",))
