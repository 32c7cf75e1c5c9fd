#!/usr/bin/env python3
"""A program that opens streams for leases of GPUs and says nothing on them.

Exits with 0 if the server ends them, and serves another client meanwhile; with 1 if not.
"""


import attack
from operator_calls import OperatorCaller

STREAMS = 64
STALL_LIMIT_S = 1


def silent_leases(target):
    with OperatorCaller(target.address, source=attack.ATTACKER) as attacker:
        with attack.Bystander(target) as bystander:
            streams = [attacker.open("/opserve.v1.OperatorService/LeaseDevice")
                       for _ in range(STREAMS)]
            for stream in streams:
                attacker.wait(stream)
    kept = [stream for stream in streams if stream not in attacker.statuses]
    wrong = [f"{len(kept)} streams were kept"] if kept else []
    return wrong + target.verdict() + bystander.verdict()


if __name__ == "__main__":
    attack.run([silent_leases], ways=("tcp",), options=("--stall-limit", str(STALL_LIMIT_S)))
