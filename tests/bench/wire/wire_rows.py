"""What bench_wire.py compares: the rows, the payloads, and the goals."""

import dataclasses

KIB = 1 << 10
MIB = 1 << 20

SIZES = (64, 4 * KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB)
CHAIN_SIZES = (MIB, 64 * MIB)


def concurrencies(size):
    """How many calls are under way at a time."""
    return (1, 32) if size < MIB else (1, 4)


@dataclasses.dataclass(frozen=True)
class Server:
    """A program that serves: `program` of the build, with flags. All listen on TCP and a unix socket."""
    program: str
    arguments: tuple = ()


OPSERVE = Server("opserve-server", ("--devices", "none", "--log-level", "warn"))


def peer(style, tuned):
    return Server("wire_peer", ("--style", style, *(("--tuned",) if tuned else ())))


@dataclasses.dataclass(frozen=True)
class Row:
    """One way to move a payload there and back."""
    name: str             # for --only and JSON
    label: str            # for people
    server: Server | None  # None: the client does it all
    mode: str             # of wire_load
    unix: bool = False    # over a unix socket, else TCP
    tuned: bool = True    # the client
    ceiling: str = ""     # name of the row that it is compared with
    style: bool = False   # only with --style
    sizes: tuple = SIZES


ROWS = (
    Row("proto", "protobuf echo", peer("proto-cq", False), "proto-echo", tuned=False, ceiling="raw"),
    Row("raw", "raw echo", peer("raw-cq", True), "echo"),
    Row("raw-unix", "raw echo, unix", peer("raw-cq", True), "echo", unix=True),
    Row("tcp", "opserve", OPSERVE, "execute", ceiling="raw"),
    Row("unix", "opserve, unix", OPSERVE, "execute", unix=True, ceiling="raw-unix"),
    Row("stream", "opserve, streamed", OPSERVE, "stream", ceiling="raw"),
    Row("shm", "opserve, shared memory", OPSERVE, "shared-memory", unix=True, ceiling="raw-unix"),
    Row("kernel", "bare kernel", None, "kernel"),
    Row("resident", "opserve, resident", OPSERVE, "resident", unix=True, ceiling="raw-unix"),
    Row("chain", "opserve, chain of 8", OPSERVE, "chain", sizes=CHAIN_SIZES),
    Row("calls8", "opserve, 8 calls", OPSERVE, "calls8", sizes=CHAIN_SIZES),

    Row("tcp-callback", "opserve, callback", peer("execute-callback", True), "execute", ceiling="raw",
        style=True),
    Row("tcp-sync", "opserve, sync", peer("execute-sync", True), "execute", ceiling="raw", style=True),
    Row("raw-callback", "raw echo, callback", peer("raw-callback", True), "echo", ceiling="raw",
        style=True),
    Row("raw-sync", "raw echo, sync", peer("raw-sync", True), "echo", ceiling="raw", style=True),
    Row("raw-untuned", "raw echo, untuned", peer("raw-cq", False), "echo", tuned=False,
        ceiling="raw", style=True),
    Row("proto-tuned", "protobuf echo, tuned", peer("proto-cq", True), "proto-echo", ceiling="raw",
        style=True),
    Row("proto-callback", "protobuf echo, callback", peer("proto-callback", False), "proto-echo",
        tuned=False, ceiling="raw", style=True),
    Row("proto-sync", "protobuf echo, sync", peer("proto-sync", False), "proto-echo", tuned=False,
        ceiling="raw", style=True),
)


@dataclasses.dataclass(frozen=True)
class Target:
    """A goal: a row's rate, divided by that of another row of the same run."""
    row: str
    base: str
    sizes: tuple
    concurrencies: tuple
    ratio: float


TARGETS = (
    Target("tcp", "raw", (64, 4 * KIB), (32,), 0.85),
    Target("unix", "raw-unix", (64, 4 * KIB), (32,), 0.85),
    Target("tcp", "raw", (MIB, 16 * MIB, 64 * MIB), (1, 4), 0.9),
    Target("tcp", "proto", (64 * MIB,), (1, 4), 5.0),
    Target("shm", "kernel", (64 * MIB,), (1, 4), 0.8),
    Target("chain", "calls8", (64 * MIB,), (1,), 10.0),
)


def size_text(size):
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"
