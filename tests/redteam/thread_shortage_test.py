#!/usr/bin/env python3
"""Many reflection streams, self-tests and the end of a server that can start no more threads.

Memory for another stack is not there, which is how a limit of threads shows to a process of any user.
Exits with 0 if every call gets an answer or an error, and the server drains as ever; with 1 if not.
"""

import argparse
import pathlib
import resource
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testing"))
from http2_caller import Http2Caller  # noqa: E402  (the path is set above)
from server_process import ServerProcess  # noqa: E402

MIB = 1 << 20
# Less than the stack of a thread, which is 8 MiB, and enough for calls.
SPARE = 6 * MIB
STREAMS = 400
RESOURCE_EXHAUSTED = 8

REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
SELF_TEST = "/opserve.v1.OperatorService/SelfTestDevices"
LIST_SERVICES = b"\x3a\x00"


def message(data):
    """`data` with the five bytes that gRPC puts before it."""
    return struct.pack(">BI", 0, len(data)) + data


def size_of(pid):
    """Bytes of the address space of a process."""
    pages = pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * resource.getpagesize()


def threads_of(pid):
    """Threads of a process."""
    return len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))


def check(server):
    """Does it all; what is wrong, or nothing."""
    with Http2Caller(server.address) as caller:
        # What is made for the first calls is there afterwards. No self-test: the next one would take
        # the stack of its thread.
        status = caller.wait(caller.call(REFLECTION, message(b"")))
        if status != 0:
            return f"reflection ends with {status} before there is any shortage"
        limit = size_of(server.pid) + SPARE
        resource.prlimit(server.pid, resource.RLIMIT_AS, (limit, limit))
        before = threads_of(server.pid)
        for _ in range(STREAMS):
            stream = caller.open(REFLECTION)
            caller.send(stream, message(LIST_SERVICES))
        status = caller.wait(caller.call(SELF_TEST, message(b"")))
        # A thread of gRPC that has just ended leaves its stack to the next one.
        if status not in (0, RESOURCE_EXHAUSTED):
            return f"a self-test without a thread ends with {status}"
        status = caller.wait(caller.call("/grpc.health.v1.Health/Check", message(b"")))
        if status != 0:
            return f"the server is not healthy: {status}"
        if threads_of(server.pid) > before + 4:
            return f"streams took {threads_of(server.pid) - before} threads"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="folder of opserve-server")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(pathlib.Path(arguments.bin) / "opserve-server", folder,
                               ("--devices", "none", "--log-level", "error"))
        with server:
            try:
                wrong = check(server)
            except OSError as error:
                wrong = f"the connection broke: {error}"
        if server.exit_code != 0:
            wrong = f"the server ended with {server.exit_code}:\n{server.log()}\n{wrong}"
    print(wrong or "passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
