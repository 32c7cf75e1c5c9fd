#!/usr/bin/env python3
"""Measures what it costs to know who calls and what happens: calls per second with each of identity and
quotas, metrics, access log and trace log, and with all of them, against a server with none. A row
of its own shows how much of the cost of identity is the header that every call brings.

Starts the servers itself, all at once; rows take turns within each round, so a ratio compares what was
measured within seconds. Goals are marked, never enforced.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "testing"), str(TESTS / "bench")]

import bench_program  # noqa: E402
from server_process import ServerProcess, metrics_address  # noqa: E402

GIB = 1 << 30
GOAL = 0.95

# Quotas that are counted and never reached.
POLICY = """\
[[client]]
match = "token:bench"
roles = ["execute", "observe"]
max_concurrent_requests = 4096
max_queued_bytes = "1GiB"
max_requests_per_second = 1000000
max_bytes_per_second = "100GiB"
max_streams = 16
"""
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

# The server's file of tokens.
TOKENS = "tokens"
# As long as "authorization", which servers refuse where they know no tokens.
UNREAD_HEADER = "x-bench-token"
HEADER_ROW = "header as long, read by nobody"
IDENTITY_ROW = "identity and quotas"
# Name of a row, what its server has, and whether the goal is for it.
ROWS = [
    ("all off", (), False),
    (HEADER_ROW, ("header",), False),
    (IDENTITY_ROW, ("identity",), False),
    ("metrics", ("metrics",), False),
    ("access log", ("access log",), False),
    ("trace log, every call traced", ("trace log",), False),
    ("all but the trace log", ("identity", "metrics", "access log"), True),
    ("all", ("identity", "metrics", "access log", "trace log"), False),
]


class Observed:
    """A server with some of the features, and the metadata of its callers. A context manager."""

    def __init__(self, programs, folder, features):
        folder.mkdir()
        self._programs = programs
        self._folder = folder
        self._features = features
        self._metadata = []
        arguments = ["--devices", "none", "--log-level", "info"]
        if "header" in features:
            self._metadata += ["--metadata", UNREAD_HEADER, self._bearer()]
        if "identity" in features:
            policy = folder / "policy.toml"
            policy.write_text(POLICY, encoding="ascii")
            self._metadata += ["--metadata", "authorization", self._bearer()]
            arguments += ["--policy", policy, "--tokens", folder / TOKENS]
        if "metrics" in features:
            arguments += ["--metrics-listen", "127.0.0.1:0"]
        if "access log" in features:
            arguments += ["--access-log", folder / "access.log"]
        if "trace log" in features:
            arguments += ["--trace-log", folder / "trace.log"]
            self._metadata += ["--metadata", "traceparent", TRACEPARENT]
        self._process = ServerProcess(programs / "opserve-server", folder, arguments)

    def _bearer(self):
        """The value of the metadata authorization for a new token, in a file of this folder."""
        token = subprocess.run(
            [self._programs / "opserve-server", "token", "add", "bench", "--tokens",
             self._folder / TOKENS],
            check=True, capture_output=True, text=True).stdout.strip()
        return f"Bearer {token}"

    def __enter__(self):
        self._process.__enter__()
        if "metrics" in self._features:
            metrics_address(self._process)  # It offers them.
        return self

    def __exit__(self, *failure):
        self._process.__exit__(*failure)

    def measure(self, options):
        """(calls per second, processor time of client and server per call in us) of one run of the load.

        The lines of its logs are thrown away afterwards.
        """
        command = [self._programs / "wire_load", "--target", self._process.address, "--bytes", options.bytes,
                   "--concurrency", options.concurrency, "--seconds", options.seconds,
                   "--warm-up", options.seconds / 4, "--server-pid", self._process.pid, *self._metadata]
        got = bench_program.answer_of(command, ", ".join(self._features) or "nothing", options.seconds)
        for log in self._folder.glob("*.log"):
            if log.name != "server.log":
                log.open("w").close()
        cpu_s_per_gib = got["client_cpu_s_per_gib"] + got["server_cpu_s_per_gib"]
        return got["calls_per_s"], cpu_s_per_gib * options.bytes / GIB * 1e6

    def dropped(self):
        """What the server says of lines that it could not write."""
        return [line for line in self._process.log().splitlines() if "log lines dropped" in line]


def measure(programs, folder, options):
    """What Observed.measure tells of each row, by round, and complaints about lost lines."""
    # One after the other: idle servers take no time.
    servers = [Observed(programs, folder / str(i), features)
               for i, (_, features, _) in enumerate(ROWS)]
    rounds, lost = [], []
    entered = []
    try:
        for server in servers:
            entered.append(server.__enter__())
        for number in range(options.rounds):
            order = list(range(len(ROWS)))
            # Nobody is always the first, or always after the same one.
            order = order[number % len(ROWS):] + order[:number % len(ROWS)]
            if number % 2:
                order.reverse()
            got = {row: servers[row].measure(options) for row in order}
            rounds.append([got[row] for row in range(len(ROWS))])
        lost = [line for server in servers for line in server.dropped()]
    finally:
        for server in entered:
            server.__exit__(None, None, None)
    return rounds, lost


def ratios(rounds, name, base):
    """Calls per second and processor time of a row against those of another: medians of the rounds."""
    row, other = (next(i for i, each in enumerate(ROWS) if each[0] == title)
                  for title in (name, base))
    return [statistics.median(got[row][i] / got[other][i] for got in rounds) for i in (0, 1)]


def report(rounds, options):
    """Prints a table, and what it says about goals and the header."""
    print(f"{options.bytes} B, {options.concurrency} calls at a time, {options.rounds} rounds of "
          f"{options.seconds:g} s")
    print(f"{'server':30} {'calls/s':>9}  {'of all off':>10}  {'CPU us/call':>11}  {'of all off':>10}")
    for row, (name, _, _) in enumerate(ROWS):
        speed, cpu = (statistics.median(got[row][i] for got in rounds) for i in (0, 1))
        speed_ratio, cpu_ratio = ratios(rounds, name, ROWS[0][0])
        print(f"{name:30} {speed:9,.0f}  {speed_ratio:10.3f}  {cpu:11.2f}  {cpu_ratio:10.3f}")
    for name, _, has_goal in ROWS:
        if has_goal:
            missed = "" if ratios(rounds, name, ROWS[0][0])[0] >= GOAL else ", missed"
            print(f"goal: {name} at least {GOAL} of calls/s{missed}")
    speed_ratio, cpu_ratio = ratios(rounds, IDENTITY_ROW, HEADER_ROW)
    print(f"{IDENTITY_ROW} against the header alone: {speed_ratio:.3f} of calls/s, {cpu_ratio:.3f} of CPU")


def bench(options):
    with tempfile.TemporaryDirectory() as folder:
        rounds, lost = measure(options.bin, pathlib.Path(folder), options)
    report(rounds, options)
    for line in lost:
        print(f"bench_observed: {line}", file=sys.stderr)
    return not lost


if __name__ == "__main__":
    sys.exit(bench_program.main(__doc__, bench, {"rounds": 1, "seconds": 0.1},
                                rounds=(15, "rounds"), seconds=(1.0, "time per measurement"),
                                bytes=(64, "of a tensor"), concurrency=(32, "calls at a time")))
