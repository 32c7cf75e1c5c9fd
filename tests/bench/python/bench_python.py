#!/usr/bin/env python3
"""Measures the Python client against the C++ client, side by side in one run.

Both call one server over TCP on the loopback interface: tensors of 64 KiB to 64 MiB with one call after
the other and with four at a time, and calls of 64 bytes of which many are under way. They take turns within each repeat; numbers
are medians over the repeats, ratios the medians of ratios within a repeat. Goals are marked, never enforced.

Each measurement is a process of its own, of Python as of C++, so that neither of them is younger to the
scheduler. `make bench-python` runs it with the package of the wheel.
"""

import asyncio
import collections
import concurrent.futures
import json
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[up] / folder)
                for up, folder in ((2, "testing"), (1, ""))]

import bench_program  # noqa: E402
import machine  # noqa: E402
import opserve  # noqa: E402
from server_process import ServerProcess  # noqa: E402

KIB = 1 << 10
MIB = 1 << 20
SIZES = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB)
SMALL = 64
UNDER_WAY = 256
SEVERAL = 4
RATIO_GOAL = 0.95
CALLS_GOAL = 20000


def size_text(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB" if size >= KIB else f"{size} B"


def tensor(size):
    return np.random.default_rng(1).normal(0, 100, size // 4).astype(np.float32)


def run_process(command, seconds):
    """Calls per second, of a process that prints JSON with calls_per_s."""
    return bench_program.answer_of(command, " ".join(map(str, command)), seconds)["calls_per_s"]


def cpp(options, server, size, *arguments):
    """The C++ client, as `opserve bench` measures it."""
    return run_process(
        [options.bin / "opserve", "bench", "--address", server.address, "--json",
         "--attr", "RoundingMode=TOWARD_ZERO", "--shape", size // 4, "--duration", f"{options.seconds}s", *arguments],
        options.seconds)


def check(result, x):
    """A benchmark of wrong results is worth nothing."""
    if not np.array_equal(result, np.trunc(x)):
        raise RuntimeError(f"a result of {size_text(x.nbytes)} is wrong")


def one_by_one(client, size, seconds):
    """Calls, each once the one before is over, and the time that they took."""
    x = tensor(size)
    check(client.round(x, rounding_mode="TOWARD_ZERO"), x)
    calls = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        client.round(x, rounding_mode="TOWARD_ZERO")
        calls += 1
    return calls, time.perf_counter() - start


def several(client, size, seconds):
    """The same with SEVERAL calls under way. As in C++, a result goes before the next call begins."""
    x = tensor(size)
    check(client.start.round(x, rounding_mode="TOWARD_ZERO").result(), x)
    calls = 0
    waiting = collections.deque()
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        while len(waiting) < SEVERAL:
            waiting.append(client.start.round(x, rounding_mode="TOWARD_ZERO"))
        waiting.popleft().result()
        calls += 1
    while waiting:
        waiting.popleft().result()
        calls += 1
    return calls, time.perf_counter() - start


def over_a_stream(client, size, seconds):
    """The same over a stream, of which UNDER_WAY are under way."""
    x = tensor(size)
    calls = 0
    waiting = collections.deque()
    with client.stream() as stream:
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            for _ in range(UNDER_WAY // 4):
                waiting.append(stream.round(x, rounding_mode="TOWARD_ZERO"))
            while len(waiting) > UNDER_WAY * 3 // 4:
                result = waiting.popleft().result()
                calls += 1
        for call in waiting:
            result = call.result()
            calls += 1
        elapsed = time.perf_counter() - start
    check(result, x)
    return calls, elapsed


async def awaited(client, size, seconds, by_stream):
    """The same with asyncio: UNDER_WAY tasks that each await one call after the other."""
    x = tensor(size)
    end = time.perf_counter() + seconds

    async def caller(methods):
        calls = 0
        while time.perf_counter() < end:
            result = await methods.round(x, rounding_mode="TOWARD_ZERO")
            calls += 1
        check(result, x)
        return calls

    async def run(methods):
        start = time.perf_counter()
        calls = sum(await asyncio.gather(*[caller(methods) for _ in range(UNDER_WAY)]))
        return calls, time.perf_counter() - start

    if not by_stream:
        return await run(client.aio)
    async with client.aio.stream() as stream:
        return await run(stream)


WAYS = {
    "one-by-one": one_by_one,
    "several": several,
    "stream": over_a_stream,
    "asyncio": lambda client, size, seconds: asyncio.run(awaited(client, size, seconds, False)),
    "asyncio-stream": lambda client, size, seconds: asyncio.run(awaited(client, size, seconds, True)),
}


def python(options, server, size, way):
    """The Python client."""
    return run_process([sys.executable, __file__, "--measure", way, server.address, size, options.seconds],
                       options.seconds)


def measure(way, address, size, seconds):
    """What that process does."""
    # Not on the first thread, as `opserve bench` does: malloc treats that one otherwise.
    with opserve.connect(address) as client, concurrent.futures.ThreadPoolExecutor(1) as other:
        calls, elapsed = other.submit(WAYS[way], client, int(size), float(seconds)).result()
    print(json.dumps({"calls_per_s": calls / elapsed}))


def compare_throughput(options, server):
    print(f"\n{'tensor':>8}  at a time  {'C++ GiB/s':>9}  {'Python GiB/s':>12}  {'ratio':>5}  goal", flush=True)
    for at_a_time, way in ((1, "one-by-one"), (SEVERAL, "several")):
        for size in options.sizes:
            pairs = [(cpp(options, server, size, "--concurrency", str(at_a_time)), python(options, server, size, way))
                     for _ in range(options.repeats)]
            ratio = statistics.median(ours / theirs for theirs, ours in pairs)
            gib = [statistics.median(numbers) * size / (1 << 30) for numbers in zip(*pairs)]
            print(f"{size_text(size):>8}  {at_a_time:>9}  {gib[0]:9.3f}  {gib[1]:12.3f}  {ratio:5.2f}  "
                  f">= {RATIO_GOAL} {'ok' if ratio >= RATIO_GOAL else 'missed'}", flush=True)


def measure_small_calls(options, server):
    rows = {
        "C++, stream": lambda: cpp(options, server, SMALL, "--stream", "--concurrency", str(UNDER_WAY)),
        "Python, stream": lambda: python(options, server, SMALL, "stream"),
        "Python, asyncio over a stream": lambda: python(options, server, SMALL, "asyncio-stream"),
        "Python, asyncio": lambda: python(options, server, SMALL, "asyncio"),
    }
    measured = {name: [] for name in rows}
    for _ in range(options.repeats):
        for name, run in rows.items():
            measured[name].append(run())
    print(f"\n{f'{SMALL} B, {UNDER_WAY} under way':<30}  calls/s  goal")
    for name, numbers in measured.items():
        calls = statistics.median(numbers)
        goal = f">= {CALLS_GOAL} {'ok' if calls >= CALLS_GOAL else 'missed'}" if "Python" in name else ""
        print(f"{name:<30}  {calls:7.0f}  {goal}".rstrip())


def bench(options):
    options.sizes = SIZES[:options.sizes]
    print(machine.state())
    with tempfile.TemporaryDirectory(prefix="opserve-python-") as folder:
        with ServerProcess(options.bin / "opserve-server", folder, ["--devices", "none"]) as server:
            compare_throughput(options, server)
            measure_small_calls(options, server)
    return server.exit_code == 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        sys.exit(measure(*sys.argv[2:]))
    sys.exit(bench_program.main(
        __doc__, bench, {"repeats": 1, "seconds": 0.1, "sizes": 1},
        repeats=(9, "turns"), seconds=(0.5, "time per measurement"),
        sizes=(len(SIZES), "how many of the sizes, the smallest first")))
