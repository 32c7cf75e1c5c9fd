#!/usr/bin/env python3
"""Measures how many identities share one server: overload, and a greedy one beside a modest one.

Starts opserve-server itself, with tokens for identities. Each ratio compares what was measured within
seconds on the same machine; goals are marked, never enforced.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "testing"), str(TESTS / "bench")]

import bench_program  # noqa: E402
from server_process import ServerProcess  # noqa: E402

IDENTITIES = 16
# The server is full with as many, which wait for it as large ones would.
MOST_REQUESTS = 16
OVERLOAD = 4
# Before all others, and after them.
FIRST = (os.SCHED_RR, os.sched_param(1))
LAST = (os.SCHED_IDLE, os.sched_param(0))


class Host:
    """A server with tokens for identities, and files with the tokens of some. A context manager."""

    def __init__(self, programs, folder, arguments):
        self._programs = programs
        self._folder = pathlib.Path(folder)
        registry = self._folder / "tokens"
        self._tokens = [subprocess.run(
            [programs / "opserve-server", "token", "add", f"client-{i}", "--tokens", registry],
            check=True, capture_output=True, text=True).stdout.strip()
            for i in range(IDENTITIES + 1)]
        self._process = ServerProcess(programs / "opserve-server", folder,
                                      ["--devices", "none", "--log-level", "error",
                                       "--tokens", registry, *arguments])

    def __enter__(self):
        self._process.__enter__()
        return self

    def __exit__(self, *failure):
        self._process.__exit__(*failure)

    def start(self, first, count, options, *arguments, schedule=None):
        """Clients of `count` identities from number `first` on; `result` waits for what they got.

        `schedule`: how the system runs them, FIRST or LAST; None for as all others.
        """
        tokens = self._folder / f"tokens-{first}-{count}"
        tokens.write_text("".join(f"{token}\n" for token in self._tokens[first:first + count]),
                          encoding="ascii")
        return subprocess.Popen(
            [self._programs / "shared_load", "--target", self._process.address,
             "--tokens", tokens, "--seconds", str(options.seconds),
             "--warm-up", str(options.seconds / 5), *map(str, arguments)],
            stdout=subprocess.PIPE, text=True,
            preexec_fn=None if schedule is None else lambda: os.sched_setscheduler(0, *schedule))

    def rss_mib(self):
        status = pathlib.Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


def result(load):
    """What clients got. Fails where an answer was wrong, or a call failed but by a refusal."""
    output, _ = load.communicate()
    if load.returncode != 0:
        raise RuntimeError("shared_load failed")
    got = json.loads(output)
    if got["wrong"] or got["failed"]:
        raise RuntimeError(f"{got['wrong']} wrong answers, {got['failed']} failures: "
                           f"{got['first_failure']}")
    return got


def per_second(got):
    return got["right"] / got["seconds"]


def goal(ratio, text, is_met):
    return f"{ratio:6.2f}  (goal: {text}{'' if is_met else ', missed'})"


def overload(programs, options):
    """As many calls as the server takes, and four times as many."""
    with tempfile.TemporaryDirectory() as folder:
        limits = ["--max-concurrent-requests", MOST_REQUESTS, "--inline-bytes", 0]
        with Host(programs, folder, map(str, limits)) as host:
            each = MOST_REQUESTS // IDENTITIES
            rows = []
            for _ in range(options.repeats):
                peak = result(host.start(0, IDENTITIES, options, "--calls-at-a-time", each))
                before = host.rss_mib()
                patient = result(host.start(0, IDENTITIES, options, "--retries",
                                            "--calls-at-a-time", each * OVERLOAD))
                stubborn = result(host.start(0, IDENTITIES, options,
                                             "--calls-at-a-time", each * OVERLOAD))
                rows.append((peak, patient, stubborn, host.rss_mib() - before))
    patient = statistics.median(per_second(row[1]) / per_second(row[0]) for row in rows)
    stubborn = statistics.median(per_second(row[2]) / per_second(row[0]) for row in rows)
    refused = sum(row[2]["refused"] for row in rows)
    bare = sum(row[2]["refused_without_delay"] for row in rows)
    print(f"{OVERLOAD} times overload, {IDENTITIES} identities, 64 B: right answers per second against the "
          "peak")
    print(f"  clients that wait as they are told  {goal(patient, 'at least 0.9', patient >= 0.9)}")
    print(f"  clients that try again at once      {goal(stubborn, 'at least 0.9', stubborn >= 0.9)}")
    print(f"  refusals that do not say when to try again: {bare} of {refused}")
    print(f"  the server grew by {max(row[3] for row in rows):.1f} MiB at most")
    return bare == 0


def may_go_first():
    """Whether this process may run programs before all others."""
    schedule = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, *FIRST)
    except PermissionError:
        return False
    os.sched_setscheduler(0, *schedule)
    return True


def beside(host, options, greedy, schedules):
    """How long a modest identity waits alone, and beside a greedy one."""
    modest = ("--rate", 50)
    alone = result(host.start(IDENTITIES, 1, options, *modest, schedule=schedules[0]))
    load = host.start(0, 1, options, *greedy, schedule=schedules[1])
    together = result(host.start(IDENTITIES, 1, options, *modest, schedule=schedules[0]))
    result(load)
    return alone, together


def fairness(programs, options):
    """A modest identity alone, and beside one that takes what it can get."""
    greedy = {
        "small and urgent, 256 at a time": ("--calls-at-a-time", 256, "--channels", 32, "--urgent"),
        "1 MiB, 64 at a time": ("--calls-at-a-time", 64, "--channels", 8, "--values", 1 << 18),
    }
    places = {"clients share the server's processors": (None, None)}
    if may_go_first():
        places["clients as if on machines of their own"] = (FIRST, LAST)
    else:
        print("without the right to SCHED_RR all clients share the server's processors")
    print("a modest identity, 50 calls of 64 B per second: its latency beside a greedy one against "
          "alone")
    passed = True
    for place, schedules in places.items():
        print(f" {place}")
        for name, arguments in greedy.items():
            pairs = []
            with tempfile.TemporaryDirectory() as folder, Host(programs, folder, ()) as host:
                for _ in range(options.repeats):
                    pairs.append(beside(host, options, arguments, schedules))
            median, p99 = (statistics.median(together[key] / alone[key] for alone, together in pairs)
                           for key in ("p50_us", "p99_us"))
            refused = sum(together["refused"] for _, together in pairs)
            print(f"  {name:32} median {median:6.2f}, p99 {goal(p99, 'at most 2', p99 <= 2)}, "
                  f"{refused} refused")
            passed = passed and refused == 0
    return passed


def bench(options):
    return all([case(options.bin, options) for case in (overload, fairness)])


if __name__ == "__main__":
    sys.exit(bench_program.main(__doc__, bench, {"repeats": 1, "seconds": 0.5},
                                repeats=(5, "turns"), seconds=(5.0, "time per measurement")))
