#!/usr/bin/env python3
"""A program that keeps tensors of one byte under ever new names.

What counts against quotas are records more than contents then. Exits with 0 if the server refuses
in time and takes about as much memory as it counts; with 1 if not.
"""


import attack
from operator_calls import OperatorCaller, field, uint8_desc
from process_memory import rss

MIB = 1 << 20
QUOTA_BYTES = 4 * MIB
MOST_TENSORS = 3000
# Beside the tensors: what gRPC keeps for the connection and its calls, and the allocator's rounding.
SLACK_BYTES = 8 * MIB
OK = 0
RESOURCE_EXHAUSTED = 8


def tiny_tensors(target):
    client = OperatorCaller(target.address)
    request = field(1, uint8_desc(1)) + field(3, b"l" * 128) + field(16, b"x")
    if client.ask("CreateTensor", request, "warm")[0] != OK:
        return ["CreateTensor failed"]
    before = rss(target.pid)
    for i in range(MOST_TENSORS):
        status, _ = client.ask("CreateTensor", request, f"{i:0128}")
        if status == RESOURCE_EXHAUSTED:
            break
        if status != OK:
            return [f"CreateTensor failed with {status}"]
    else:
        return [f"{MOST_TENSORS} tensors count less than {QUOTA_BYTES // MIB} MiB"]
    grown = rss(target.pid) - before
    print(f"{i} tensors, {grown / MIB:.1f} MiB")
    return [] if grown < QUOTA_BYTES + SLACK_BYTES else [f"they take {grown / MIB:.1f} MiB"]


if __name__ == "__main__":
    attack.run([tiny_tensors], ways=("tcp",),
               options=("--max-resident-bytes", f"{QUOTA_BYTES // MIB}MiB"))
