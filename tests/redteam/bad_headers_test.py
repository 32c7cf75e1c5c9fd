#!/usr/bin/env python3
"""Calls whose headers gRPC complains about in the log, one after the other.

Exits with 0 if they make a few lines that tell how many there were, and the server serves; with 1 if
not.
"""

import attack
from http2_caller import Http2Caller, framed

CALLS = 2000
# A line per second, on a machine that takes this long for all of it.
MOST_LINES = 30

CHECK = "/grpc.health.v1.Health/Check"
EMPTY_MESSAGE = framed(b"")
# No time, with a character that turns the direction of writing.
BAD_HEADERS = (("grpc-timeout", "z\u202e"),)


def send_bad_headers(address):
    """Makes the calls; what is wrong, or nothing."""
    with Http2Caller(address) as caller:
        for _ in range(CALLS):
            caller.wait(caller.call(CHECK, EMPTY_MESSAGE, BAD_HEADERS))
            if caller.is_closed:
                return ["the server closed the connection"]
        status = caller.wait(caller.call(CHECK, EMPTY_MESSAGE))
    return [] if status == 0 else [f"the server does not serve: {status}"]


def bad_headers(target):
    wrong = send_bad_headers(target.address)
    lines = [line for line in target.process.log().splitlines() if " grpc message=" in line]
    print(f"{len(lines)} lines")
    if not lines:
        wrong.append("gRPC did not complain, so nothing was tested")
    if len(lines) > MOST_LINES:
        wrong.append(f"{CALLS} calls made {len(lines)} lines")
    if any("not_logged=" not in line or "\u202e" in line for line in lines):
        wrong.append(f"this is no line for a log: {lines[0]}")
    return wrong


if __name__ == "__main__":
    attack.run([bad_headers], ways=("tcp",))
