#!/usr/bin/env python3
"""A program that announces large requests on streams and sends none of their bytes.

Exits with 0 if another client is served all the same, and the server takes no memory for what does
not come; with 1 if not.
"""

import argparse
import pathlib
import struct
import sys
import tempfile

from operator_calls import OperatorCaller, field, varint
from process_memory import rss

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testing"))
from server_process import ServerProcess  # noqa: E402  (the path is set above)

MIB = 1 << 20
ATTACKER = "127.0.0.2"
STREAMS = 5
ANNOUNCED_PER_STREAM = 3
FLOAT16 = 2
IS_INFINITY = b"ELEMENT_WISE_IS_INFINITY"


def request(values):
    """An ExecuteRequest about so many values of type FLOAT16, without its payload."""
    desc = field(2, FLOAT16) + field(3, varint(values))
    mode = field(1, b"InfinityMode") + field(3, 0)
    return field(1, IS_INFINITY) + field(4, mode) + field(5, desc)


def framed(message):
    """A message as gRPC sends it."""
    return struct.pack(">BI", 0, len(message)) + message


def check(server):
    """What is wrong; empty: nothing."""
    before = rss(server.pid)
    with OperatorCaller(server.address, source=ATTACKER) as attacker:
        for _ in range(STREAMS):
            stream = attacker.open("/opserve.v1.OperatorService/ExecuteStream")
            for number in range(ANNOUNCED_PER_STREAM):
                values = 80 * MIB
                attacker.send(stream, framed(field(1, number) + field(2, request(values)) +
                                             field(3, varint(2 * values))))
        # With the first refusal the attacker has as much as it gets.
        while not attacker.answers:
            attacker.receive()
        with OperatorCaller(server.address) as bystander:
            values = 32 * MIB
            status, answer = bystander.ask("Execute", request(values) + field(16, bytes(2 * values)))
        if status != 0 or len(answer) < values:
            return f"another client is refused: {status}"
    grown = rss(server.pid) - before
    print(f"{grown / MIB:.0f} MiB more")
    return "" if grown < 256 * MIB else f"the server grew by {grown // MIB} MiB"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with ServerProcess(arguments.bin / "opserve-server", folder,
                           ["--devices", "none"]) as server:
            wrong = check(server)
    if wrong:
        print(wrong, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
