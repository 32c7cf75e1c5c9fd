#!/usr/bin/env python3
"""Measures how many identities share one server: overload, and a greedy one beside a modest one.

Starts opserve-server itself, with tokens for identities. Each ratio compares what was measured within
seconds on the same machine; what the machine alone makes the modest one wait is measured at a server
that the greedy one does not call. Goals are marked, never enforced.
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
# Calls per second of a modest identity.
MODEST_RATE = 50
# Where it is measured: with nobody else; at a second server while a greedy identity has the first,
# which is what the machine alone makes it wait; and at the server of the greedy one.
SLICES = ("alone", "apart", "beside")
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


def with_greedy(greedy_host, modest_host, options, greedy, schedules):
    """What a modest identity gets from one server while a greedy one has another, or the same."""
    load = greedy_host.start(0, 1, options, *greedy, schedule=schedules[1])
    got = modest(modest_host, options, schedules)
    result(load)
    return got


def modest(host, options, schedules):
    """What a modest identity gets."""
    return result(host.start(IDENTITIES, 1, options, "--rate", MODEST_RATE,
                             schedule=schedules[0]))


def take_turns(host, other, options, greedy, schedules):
    """What a modest identity got, by SLICES: a list with a result per turn.

    Each turn measures all of them, and each of them is the first, the second and the last in turn.
    """
    measure = {
        "alone": lambda: modest(host, options, schedules),
        "apart": lambda: with_greedy(host, other, options, greedy, schedules),
        "beside": lambda: with_greedy(host, host, options, greedy, schedules),
    }
    got = {name: [] for name in SLICES}
    for turn in range(options.repeats):
        first = turn % len(SLICES)
        for name in SLICES[first:] + SLICES[:first]:
            got[name].append(measure[name]())
    return got


def print_latency(title, key, got, most=None):
    """A row: medians over the turns, and of what the turns' own ratios are."""
    times = [statistics.median(each[key] for each in got[name]) for name in SLICES]
    by_alone, by_apart = (
        statistics.median(beside[key] / floor[key]
                          for beside, floor in zip(got["beside"], got[name], strict=True))
        for name in ("alone", "apart"))
    goal_text = "" if most is None else f" (goal: /alone <= {most})"
    missed = "" if most is None or by_alone <= most else " missed"
    print(f"    {title + goal_text:26}" + "".join(f"{time:9,.0f}" for time in times)
          + f"{by_alone:8.2f}{by_apart:8.2f}{missed}")


def fairness(programs, options):
    """A modest identity alone, beside one that takes what it can get, and apart from it."""
    greedy = {
        "small and urgent, 256 at a time": ("--calls-at-a-time", 256, "--channels", 32, "--urgent"),
        "1 MiB, 64 at a time": ("--calls-at-a-time", 64, "--channels", 8, "--values", 1 << 18),
    }
    places = {"clients share the server's processors": (None, None)}
    if may_go_first():
        places["clients as if on machines of their own"] = (FIRST, LAST)
    else:
        print("without the right to SCHED_RR all clients share the server's processors")
    print(f"a modest identity, {MODEST_RATE} calls of 64 B per second, and a greedy one: us per call\n"
          f" {'':29}{'alone':>9}{'apart':>9}{'beside':>9}{'/alone':>8}{'/apart':>8}")
    passed = True
    for place, schedules in places.items():
        print(f" {place}")
        for name, arguments in greedy.items():
            with tempfile.TemporaryDirectory() as folder, \
                    tempfile.TemporaryDirectory() as other_folder, \
                    Host(programs, folder, ()) as host, \
                    Host(programs, other_folder, ()) as other:
                got = take_turns(host, other, options, arguments, schedules)
            refused = sum(each["refused"] for name in SLICES for each in got[name])
            print(f"  {name}: {refused} refused")
            print_latency("median", "p50_us", got)
            print_latency("p99", "p99_us", got, most=2)
            passed = passed and refused == 0
    return passed


def bench(options):
    return all([case(options.bin, options) for case in (overload, fairness)])


if __name__ == "__main__":
    sys.exit(bench_program.main(__doc__, bench, {"repeats": 1, "seconds": 0.5},
                                repeats=(5, "turns"), seconds=(5.0, "time per measurement")))
