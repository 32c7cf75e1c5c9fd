#!/usr/bin/env python3
"""Calls whose headers gRPC complains about in the log, one after the other.

Exits with 0 if they make a few lines that tell how many there were, and the server serves; with 1 if
not.
"""

import argparse
import pathlib
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testing"))
from http2_caller import Http2Caller  # noqa: E402  (the path is set above)
from server_process import ServerProcess  # noqa: E402

CALLS = 2000
# A line per second, on a machine that takes this long for all of it.
MOST_LINES = 30

CHECK = "/grpc.health.v1.Health/Check"
EMPTY_MESSAGE = struct.pack(">BI", 0, 0)
# No time, with a character that turns the direction of writing.
BAD_HEADERS = (("grpc-timeout", "z\u202e"),)


def check(server):
    """Makes the calls; what is wrong, or nothing."""
    with Http2Caller(server.address) as caller:
        for _ in range(CALLS):
            caller.wait(caller.call(CHECK, EMPTY_MESSAGE, BAD_HEADERS))
            if caller.is_closed:
                return "the server closed the connection"
        status = caller.wait(caller.call(CHECK, EMPTY_MESSAGE))
    return "" if status == 0 else f"the server does not serve: {status}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="folder of opserve-server")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(pathlib.Path(arguments.bin) / "opserve-server", folder,
                               ("--devices", "none"))
        with server:
            wrong = check(server)
        lines = [line for line in server.log().splitlines() if " grpc message=" in line]
        if not lines:
            wrong = wrong or "gRPC did not complain, so nothing was tested"
        if len(lines) > MOST_LINES:
            wrong = wrong or f"{CALLS} calls made {len(lines)} lines"
        if any("not_logged=" not in line or "\u202e" in line for line in lines):
            wrong = wrong or f"this is no line for a log: {lines[0]}"
        if server.exit_code != 0:
            wrong = f"the server ended with {server.exit_code}\n{wrong}"
    print(wrong or f"passed with {len(lines)} lines")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
