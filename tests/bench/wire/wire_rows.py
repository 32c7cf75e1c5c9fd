"""What bench_wire.py compares: the rows, the payloads, and the goals."""

import dataclasses

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

SIZES = (64, 4 * KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB)
CHAIN_SIZES = (MIB, 64 * MIB)
LARGE_SIZES = (MIB, 16 * MIB, 64 * MIB)


def concurrencies(size):
    """How many calls are under way at a time."""
    return (1, 32) if size < MIB else (1, 4)


@dataclasses.dataclass(frozen=True)
class Server:
    """A program that serves: `program` of the build, with flags. All listen on TCP and a unix socket."""
    program: str
    arguments: tuple = ()


OPSERVE = Server("opserve-server", ("--devices", "none", "--log-level", "warn",
                                    "--max-connections", "100000",
                                    "--max-connections-per-client", "100000"))

# One that takes less than large tensors have, and may not hold more.
SMALL_OPSERVE = Server("opserve-server", (*OPSERVE.arguments, "--max-tensor-bytes", "16MiB",
                                          "--max-message-bytes", "16MiB",
                                          "--max-queued-bytes", "64MiB"))

# What makes loopback transport of large messages fast, for both ends.
TUNED = ("--cubic", "--keep-pages")


def peer(style, tuning=TUNED):
    return Server("wire_peer", ("--style", style, *tuning))


def channel_arguments(**values):
    """Flags that set gRPC's channel arguments besides; a double underscore stands for a dot."""
    return (*TUNED, *(word for name, value in values.items()
                      for word in ("--channel-arg", f"grpc.{name.replace('__', '.')}={value}")))


@dataclasses.dataclass(frozen=True)
class Row:
    """One way to move a payload there and back."""
    name: str             # for --only and JSON
    label: str            # for people
    server: Server | None  # None: the client does it all
    mode: str             # of wire_load
    unix: bool = False    # over a unix socket, else TCP
    tuning: tuple = TUNED  # of the client
    ceiling: str = ""     # name of the row that it is compared with
    group: str = ""       # "style", "transport": only with that option
    sizes: tuple = SIZES


def raw_echo(name, change, tuning):
    """The raw echo with another tuning of both ends."""
    return Row(f"raw-{name}", f"raw echo, {change}", peer("raw-cq", tuning), "echo", tuning=tuning,
               ceiling="raw", group="transport")


ROWS = (
    Row("proto", "protobuf echo", peer("proto-cq", ()), "proto-echo", tuning=(), ceiling="raw"),
    Row("raw", "raw echo", peer("raw-cq"), "echo"),
    Row("raw-chunked", "raw chunked echo", peer("raw-chunked"), "chunked-echo", ceiling="raw"),
    Row("raw-unix", "raw echo, unix", peer("raw-cq"), "echo", unix=True),
    Row("tcp", "opserve", OPSERVE, "execute", ceiling="raw"),
    Row("unix", "opserve, unix", OPSERVE, "execute", unix=True, ceiling="raw-unix"),
    Row("client", "opserve, client library", OPSERVE, "client", ceiling="raw"),
    Row("stream", "opserve, streamed", OPSERVE, "stream", ceiling="raw"),
    Row("pipelined", "opserve, client's stream", OPSERVE, "pipelined", ceiling="raw-chunked"),
    Row("first-byte", "opserve, first byte", OPSERVE, "first-byte", sizes=LARGE_SIZES),
    Row("shm", "opserve, shared memory", OPSERVE, "shared-memory", unix=True, ceiling="raw-unix"),
    Row("kernel", "bare kernel", None, "kernel"),
    Row("resident", "opserve, resident", OPSERVE, "resident", unix=True, ceiling="raw-unix"),
    Row("chain", "opserve, chain of 8", OPSERVE, "chain", sizes=CHAIN_SIZES),
    Row("calls8", "opserve, 8 calls", OPSERVE, "calls8", sizes=CHAIN_SIZES),

    Row("tcp-callback", "opserve, callback", peer("execute-callback"), "execute", ceiling="raw",
        group="style"),
    Row("tcp-sync", "opserve, sync", peer("execute-sync"), "execute", ceiling="raw", group="style"),
    Row("raw-callback", "raw echo, callback", peer("raw-callback"), "echo", ceiling="raw",
        group="style"),
    Row("raw-sync", "raw echo, sync", peer("raw-sync"), "echo", ceiling="raw", group="style"),
    Row("proto-tuned", "protobuf echo, tuned", peer("proto-cq"), "proto-echo", ceiling="raw",
        group="style"),
    Row("proto-callback", "protobuf echo, callback", peer("proto-callback", ()), "proto-echo",
        tuning=(), ceiling="raw", group="style"),
    Row("proto-sync", "protobuf echo, sync", peer("proto-sync", ()), "proto-echo", tuning=(),
        ceiling="raw", group="style"),

    raw_echo("untuned", "untuned", ()),
    raw_echo("no-cubic", "no CUBIC", ("--keep-pages",)),
    raw_echo("no-pages", "pages not kept", ("--cubic",)),
    raw_echo("no-bdp", "no BDP probe", channel_arguments(http2__bdp_probe=0)),
    raw_echo("frames", "frames of 1 MiB", channel_arguments(http2__max_frame_size=MIB)),
    raw_echo("chunks", "reads of 1 MiB", channel_arguments(
        experimental__tcp_read_chunk_size=MIB, experimental__tcp_max_read_chunk_size=4 * MIB)),
    raw_echo("lookahead", "lookahead 16 MiB", channel_arguments(http2__lookahead_bytes=16 * MIB)),
    raw_echo("write-buffer", "write buffer 1 MiB", channel_arguments(
        http2__write_buffer_size=MIB)),
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
    Target("pipelined", "raw-chunked", (64 * MIB,), (1, 4), 0.95),
    Target("pipelined", "raw", (64 * MIB,), (1, 4), 0.85),
    Target("client", "raw", (MIB,), (1,), 1.5),
    Target("client", "raw", (16 * MIB,), (1,), 2.5),
    Target("client", "raw", (64 * MIB,), (1,), 3.0),
    Target("tcp", "proto", (64 * MIB,), (1, 4), 5.0),
    Target("client", "proto", (64 * MIB,), (1, 4), 8.0),
    Target("shm", "kernel", (64 * MIB,), (1, 4), 0.8),
    Target("chain", "calls8", (64 * MIB,), (1,), 10.0),
)


@dataclasses.dataclass(frozen=True)
class TimeTarget:
    """A goal: the median time of a call of a row, in microseconds, at most."""
    row: str
    sizes: tuple
    concurrencies: tuple
    p50_us: float


TIME_TARGETS = (
    TimeTarget("first-byte", (64 * MIB,), (1,), 2000),
)


# Most bytes that a server may have above what it has idle, while a large tensor goes through it.
LARGE_GOAL_BYTES = 64 * MIB


def size_text(size):
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"
