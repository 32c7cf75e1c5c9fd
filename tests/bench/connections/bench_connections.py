#!/usr/bin/env python3
"""Measures what many connections of many identities cost the server, idle after one small call each.

Identities are addresses of the loopback network, 127.x.y.z, which need no tokens. A server of its own
gets the connections of one identity, and another one the same number, of all identities: what the
second needs more is theirs. All of them are closed and opened again, to see what stays: of the heap,
which a preloaded library counts to the byte, and of the resident memory, which the allocator keeps
until the server gives it back, at most once a minute.
"""

import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("testing", "redteam", "bench")]

import bench_program  # noqa: E402
import machine  # noqa: E402
from raw_http2 import EXECUTE, call, open_http2  # noqa: E402
from server_process import ServerProcess  # noqa: E402

MIB = 1 << 20
KIB = 1 << 10
VALUES = [number / 4 for number in range(16)]
# Of each connection the server has two: its own, and gRPC's.
FILES_PER_CONNECTION = 2
# What the server keeps for all else.
OTHER_FILES = 1024
# Makes threads, pools and caches that stay.
WARM_UP_CONNECTIONS = 64
QUIET_LIMIT_S = 60
# Times that all of them are opened and closed.
ROUNDS = 3
# What may be there after the last round that was not after the first: connections differ in nothing.
MOST_GROWTH = MIB


def small_request(programs, folder):
    """The bytes of a request with 64 bytes of payload, and the bytes that must be in its answer."""
    subprocess.run([programs / "opserve", "pack", "ELEMENT_WISE_ROUND", "--attr",
                    "RoundingMode=TOWARD_ZERO", "--input", write_npy(folder / "x.npy"),
                    "--output", folder / "request"], check=True, capture_output=True)
    return ((folder / "request").read_bytes(),
            struct.pack(f"<{len(VALUES)}f", *(float(int(value)) for value in VALUES)))


def write_npy(path):
    """VALUES as a NumPy file of FLOAT32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(VALUES)},), }}"
    header = header.ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + struct.pack(f"<{len(VALUES)}f", *VALUES))
    return path


def address_of(identity):
    """An address of the loopback network for each number, from 127.1.0.1 on."""
    number = identity + 1
    return f"127.{1 + number // 250 // 250}.{number // 250 % 250}.{1 + number % 250}"


class Server:
    """An opserve-server that takes so many connections, also of one identity. A context manager."""

    def __init__(self, programs, folder, connections):
        folder.mkdir()
        most = str(connections + 2 * WARM_UP_CONNECTIONS)
        self.flags = ["--max-connections", most, "--max-connections-per-client", most]
        self._process = ServerProcess(programs / "opserve-server", folder,
                                      ["--devices", "none", "--log-level", "error", *self.flags],
                                      {"LD_PRELOAD": str(programs / "libheap_meter.so"),
                                       "OPSERVE_HEAP_METER": str(folder / "heap")})
        self._meter = folder / "heap"
        self._request = small_request(programs, folder)

    def __enter__(self):
        self._process.__enter__()
        for connection in self.open(WARM_UP_CONNECTIONS, WARM_UP_CONNECTIONS):
            connection.close()
        self.files = self._settled_files()
        return self

    def __exit__(self, *failure):
        self._process.__exit__(*failure)

    def open(self, count, identities):
        """So many connections, each of which has made its call."""
        message, expected = self._request
        connections = []
        for number in range(count):
            connection = open_http2(self._process.address, source=address_of(number % identities))
            connections.append(connection)
            answer = call(connection, EXECUTE, message)
            if answer is None or expected not in answer:
                raise RuntimeError(f"connection {number + 1} got a wrong answer: {answer}")
            if sys.stderr.isatty() and number % 500 == 0:
                print(f"\r\033[K{number} of {count} connections", end="", file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        return connections

    def sizes(self):
        """(bytes on the heap, resident bytes) once the first are the same for a moment."""
        last, now = -1, self._heap()
        deadline = time.monotonic() + QUIET_LIMIT_S
        while last != now and time.monotonic() < deadline:
            time.sleep(0.2)
            last, now = now, self._heap()
        return now, self._rss()

    def close(self, connections):
        """Closes them, and waits until the server has done the same."""
        for connection in connections:
            connection.close()
        deadline = time.monotonic() + QUIET_LIMIT_S
        while self._count_files() > self.files:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self._count_files()} descriptors are open, {self.files} were "
                                   "before")
            time.sleep(0.1)

    def _heap(self):
        return struct.unpack_from("q", self._meter.read_bytes())[0]

    def _rss(self):
        status = pathlib.Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) * KIB

    def _count_files(self):
        return len(list(pathlib.Path(f"/proc/{self._process.pid}/fd").iterdir()))

    def _settled_files(self):
        """Open descriptors once none has been closed for a moment."""
        last, now = -1, self._count_files()
        while last != now:
            time.sleep(0.2)
            last, now = now, self._count_files()
        return now


def room_for(wanted):
    """How many connections the limit of open files has room for, which is raised as far as it goes."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    fit = (most - OTHER_FILES) // FILES_PER_CONNECTION
    if fit >= wanted:
        return wanted
    print(f"ulimit -Hn is {most:,}: there is room for {fit:,} connections of {wanted:,} "
          f"({FILES_PER_CONNECTION} files each); raise it to "
          f"{FILES_PER_CONNECTION * wanted + OTHER_FILES:,} for all")
    return fit


def measure(programs, folder, connections, identities, rest_s):
    """(heap, RSS) before, then with them and after them, round by round, and after a rest."""
    with Server(programs, folder, connections) as server:
        print(f"{connections:,} connections of {identities:,} "
              f"{'identity' if identities == 1 else 'identities'}, {' '.join(server.flags)}")
        sizes = [server.sizes()]
        for _ in range(ROUNDS):
            opened = server.open(connections, identities)
            sizes.append(server.sizes())
            server.close(opened)
            sizes.append(server.sizes())
        time.sleep(rest_s)
        sizes.append(server.sizes())
    names = ["before", *(name for number in range(1, ROUNDS + 1)
                         for name in (f"with them, round {number}", "closed")),
             f"{rest_s:g} s later"]
    for name, (heap, resident) in zip(names, sizes):
        print(f"  {name:<20} heap {heap / MIB:8.2f} MiB  RSS {resident / MIB:8.1f} MiB", flush=True)
    return sizes


def report(connections, identities, one, many):
    """Prints what each costs, and what stays."""
    print(f"{'':<30}{'heap':>12}{'RSS':>12}")
    for name, count, sizes in (
            ("per connection", connections, [one[1][i] - one[0][i] for i in (0, 1)]),
            ("per identity, the difference", identities, [many[1][i] - one[1][i] - many[0][i] + one[0][i]
                                                          for i in (0, 1)]),
            ("a closed one keeps", connections, [many[2][i] - many[0][i] for i in (0, 1)]),
            (f"the same after {ROUNDS} rounds", connections, [many[-2][i] - many[0][i] for i in (0, 1)]),
            ("the same after the rest", connections, [many[-1][i] - many[0][i] for i in (0, 1)])):
        print(f"{name:<30}" + "".join(f"{size / count / KIB:>8.2f} KiB" for size in sizes))
    growth = max(sizes[-1][0] - sizes[2][0] for sizes in (one, many))
    print(f"the heap after round {ROUNDS} against that after the first: {growth / MIB:+.2f} MiB "
          f"(goal: at most {MOST_GROWTH / MIB:g}{', missed' if growth > MOST_GROWTH else ''})")


def bench(options):
    print(machine.state())
    connections = room_for(options.connections)
    identities = min(options.identities, connections)
    with tempfile.TemporaryDirectory(prefix="opserve-connections-") as folder:
        one, many = (measure(options.bin, pathlib.Path(folder) / str(count), connections, count,
                             options.rest)
                     for count in (1, identities))
    report(connections, identities, one, many)
    return True


if __name__ == "__main__":
    sys.exit(bench_program.main(__doc__, bench, {"connections": 40, "identities": 10, "rest": 0},
                                connections=(10000, "in all"), identities=(1000, "of the second server"),
                                rest=(65.0, "seconds of rest in the end")))
