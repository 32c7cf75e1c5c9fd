#!/usr/bin/env python3
"""Many reflection streams, self-tests and the end of a server that can start no more threads.

Memory for another stack is not there, which is how a limit of threads shows to a process of any user.
Exits with 0 if every call gets an answer or an error, and the server drains as ever; with 1 if not.
"""

import pathlib
import resource

import attack
from http2_caller import Http2Caller, framed

MIB = 1 << 20
# Less than the stack of a thread, which is 8 MiB, and enough for calls.
SPARE = 6 * MIB
STREAMS = 400
RESOURCE_EXHAUSTED = 8

REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
SELF_TEST = "/opserve.v1.OperatorService/SelfTestDevices"
LIST_SERVICES = b"\x3a\x00"


def size_of(pid):
    """Bytes of the address space of a process."""
    pages = pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * resource.getpagesize()


def threads_of(pid):
    """Threads of a process."""
    return len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))


def thread_shortage(target):
    with Http2Caller(target.address) as caller:
        # What is made for the first calls is there afterwards. No self-test: the next one would take
        # the stack of its thread.
        status = caller.wait(caller.call(REFLECTION, framed(b"")))
        if status != 0:
            return [f"reflection ends with {status} before there is any shortage"]
        limit = size_of(target.pid) + SPARE
        resource.prlimit(target.pid, resource.RLIMIT_AS, (limit, limit))
        before = threads_of(target.pid)
        for _ in range(STREAMS):
            stream = caller.open(REFLECTION)
            caller.send(stream, framed(LIST_SERVICES))
        status = caller.wait(caller.call(SELF_TEST, framed(b"")))
        # A thread of gRPC that has just ended leaves its stack to the next one.
        if status not in (0, RESOURCE_EXHAUSTED):
            return [f"a self-test without a thread ends with {status}"]
        status = caller.wait(caller.call("/grpc.health.v1.Health/Check", framed(b"")))
        if status != 0:
            return [f"the server is not healthy: {status}"]
        if threads_of(target.pid) > before + 4:
            return [f"streams took {threads_of(target.pid) - before} threads"]
    return []


if __name__ == "__main__":
    attack.run([thread_shortage], ways=("tcp",), options=("--log-level", "error"))
