#!/usr/bin/env python3
"""Measures how calls per second grow with the server's pollers, for several clients at once.

Starts a server for each number of pollers, all at once; they take turns within each round, so a ratio
compares what was measured within seconds. A machine with few processors shows little: clients and server share
them.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import statistics
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "testing"), str(TESTS / "bench")]

import bench_program  # noqa: E402
import machine  # noqa: E402
from server_process import ServerProcess  # noqa: E402

POLLERS = (1, 2, 4, 8)
# Bytes each way, and calls that a client has under way.
LOADS = ((64, 32), (65536, 8), (1 << 20, 4), (16 << 20, 2))


def load(options, address, size, concurrency):
    """Calls per second of one client, a process of its own."""
    command = [options.bin / "wire_load", "--target", address, "--bytes", size, "--concurrency", concurrency,
               "--seconds", options.seconds, "--warm-up", options.seconds / 4]
    return bench_program.answer_of(command, f"{size} B", options.seconds)["calls_per_s"]


def measure(options, address, size, concurrency):
    """Calls per second of all clients together."""
    with concurrent.futures.ThreadPoolExecutor(options.clients) as clients:
        calls = [clients.submit(load, options, address, size, concurrency)
                 for _ in range(options.clients)]
        return sum(call.result() for call in calls)


def report(before, rounds, options):
    """Prints a row for each load and number of pollers, with its ratio to a single one."""
    print(f"{before}\n{options.clients} clients, medians of {options.rounds} rounds of "
          f"{options.seconds:g} s")
    print(f"{'bytes':>9} {'calls each':>10} {'pollers':>8} {'calls/s':>9} {'GiB/s':>7} {'of one':>7}")
    for size, concurrency in LOADS:
        for pollers in POLLERS:
            got = statistics.median(each[size, pollers] for each in rounds)
            ratio = statistics.median(each[size, pollers] / each[size, POLLERS[0]] for each in rounds)
            print(f"{size:9} {concurrency:10} {pollers:8} {got:9,.0f} {got * size / (1 << 30):7.2f} "
                  f"{ratio:7.2f}")


def bench(options):
    before = machine.state()
    rounds = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        servers = {}
        for pollers in POLLERS:
            own = pathlib.Path(folder) / str(pollers)
            os.mkdir(own)
            servers[pollers] = running.enter_context(ServerProcess(
                options.bin / "opserve-server", own,
                ["--devices", "none", "--pollers", str(pollers)]))
        for number in range(options.rounds):
            # Nobody is always the first.
            order = POLLERS[number % len(POLLERS):] + POLLERS[:number % len(POLLERS)]
            rounds.append({(size, pollers): measure(options, servers[pollers].address, size, concurrency)
                           for size, concurrency in LOADS for pollers in order})
    report(before, rounds, options)
    return True


if __name__ == "__main__":
    sys.exit(bench_program.main(__doc__, bench, {"rounds": 1, "seconds": 0.1, "clients": 2},
                                rounds=(5, "rounds"), seconds=(1.0, "time per measurement"),
                                clients=(4, "processes that call at once")))
