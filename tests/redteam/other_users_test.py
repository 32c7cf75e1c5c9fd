#!/usr/bin/env python3
"""Another user of a socket file, who says that they are the first one. Needs root; else skipped."""

import os
import pathlib
import sys

import attack
import operator_calls
from region_client import RegionClient
from raw_http2 import EXECUTE, call, connect, field, is_closed_within, is_healthy, open_http2

NOBODY = 65534
SKIPPED = 77
CONNECTIONS_PER_CLIENT = 4
NAME = field(b"opserve-client", b"runner-3")
# A tensor of four FLOAT32.
CREATE = b"\x0a\x05\x10\x01\x1a\x01\x04"


def as_nobody(function):
    """What `function`, run by another user, returns: True or False."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os._exit(0 if function() else 1)
        finally:
            os._exit(2)
    return {0: True, 1: False}[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]


def let_everybody_in(target):
    """Lets all users reach the socket file."""
    path = pathlib.Path(target.address[5:])
    path.parent.chmod(0o755)
    path.chmod(0o777)


def sees_tensors(target):
    """Whether ListTensors shows any to this user."""
    with open_http2(target.address) as connection:
        answer = call(connection, b"/opserve.v1.OperatorService/ListTensors", b"", NAME)
    # Field 1 comes first where there is a tensor.
    return answer is not None and answer[:1] == b"\x0a"


def same_name(target):
    let_everybody_in(target)
    with open_http2(target.address) as connection:
        if not call(connection, b"/opserve.v1.OperatorService/CreateTensor", CREATE, NAME):
            return ["no tensor was created"]
    if not sees_tensors(target):
        return ["the tensor's owner does not see it"]
    return ["another user sees it"] if as_nobody(lambda: sees_tensors(target)) else []


def uses_region(target, region):
    """Whether this user's call finds the region that has this id."""
    desc = operator_calls.field(2, 1) + operator_calls.field(3, b"\x04")
    place = operator_calls.field(1, operator_calls.field(1, region) + operator_calls.field(3, 16))
    request = operator_calls.field(1, b"ELEMENT_WISE_MODULUS_TRUNCATE")
    for _ in range(2):
        request += operator_calls.field(5, desc) + operator_calls.field(10, place)
    with open_http2(target.address) as connection:
        return call(connection, EXECUTE, request, NAME) is not None


def same_region(target):
    let_everybody_in(target)
    owner = RegionClient(target.address[5:] + ".regions")
    region = owner.register(4096)
    if not region:
        return ["no region was registered"]
    # Also before its owner has used it.
    for _ in range(2):
        if as_nobody(lambda: uses_region(target, region)):
            return ["another user's call finds it"]
        if not uses_region(target, region):
            return ["its owner's call does not find it"]
    owner.close()
    return []


def all_connections(target):
    let_everybody_in(target)
    taken = [connect(target.address) for _ in range(CONNECTIONS_PER_CLIENT + 1)]
    if not is_closed_within(taken[-1], 5):
        return ["a user has more connections than one may have"]
    return [] if as_nobody(lambda: is_healthy(target.address)) else ["another user gets none"]


if __name__ == "__main__":
    if os.getuid() != 0:
        sys.exit(SKIPPED)
    attack.run([same_name, same_region, all_connections], ways=("unix",),
               options=("--max-connections-per-client", str(CONNECTIONS_PER_CLIENT)))
