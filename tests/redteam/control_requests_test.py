#!/usr/bin/env python3
"""Requests of many tiny fields to methods that need none, against a server with little memory.

Parsed, such a request takes far more memory than it did on the wire, and handling a long list of
handles keeps others waiting. Exits with 0 if every request was refused or answered soon, and the
server lives; with 1 if not.
"""

import resource
import time

import attack
from http2_caller import Http2Caller, framed

MIB = 1 << 20
# What the server may take in all from the start on: enough for its threads and some messages.
ADDRESS_SPACE = 3 << 30
# Longest that a request may keep the server busy. Sending it is not counted.
LIMIT_S = 5
RESOURCE_EXHAUSTED = 8

SERVICE = "/opserve.v1.OperatorService/"
# Method, field, bytes. Handles are field 1, and no method knows field 15.
REQUESTS = (
    ("/grpc.health.v1.Health/Check", b"\x78\x01", 48 * MIB),
    (SERVICE + "GetServerInfo", b"\x78\x01", 48 * MIB),
    (SERVICE + "ListOperators", b"\x78\x01", 48 * MIB),
    (SERVICE + "RenewTensors", b"\x0a\x00", 48 * MIB),
    (SERVICE + "DeleteTensors", b"\x0a\x00", 48 * MIB),
)


def control_requests(target):
    resource.prlimit(target.pid, resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for path, field, size in REQUESTS:
        message = field * (size // len(field))
        with Http2Caller(target.address) as caller:
            call = caller.call(path, framed(message))
            begin = time.monotonic()
            status = caller.wait(call)
            took = time.monotonic() - begin
        if status != RESOURCE_EXHAUSTED:
            return [f"{path} of {size} bytes ends with {status}"]
        if took > LIMIT_S:
            return [f"{path} of {size} bytes takes {took:.1f} s"]
    with Http2Caller(target.address) as caller:
        status = caller.wait(caller.call("/grpc.health.v1.Health/Check", framed(b"")))
    return [] if status == 0 else [f"the server does not serve: {status}"]


if __name__ == "__main__":
    attack.run([control_requests], ways=("tcp",), options=("--log-level", "error"))
