#!/usr/bin/python3
"""Calls per second of opserve-server.exe under Wine against those of opserve-server.

  tests/windows/bench_wine.py --linux FOLDER --windows FOLDER --prefix FOLDER [--rounds N] [--seconds S]

Both servers compute on the processor, and the same command, that of Linux, calls them in messages: first where they may
run on any processor, then where each of them, and Wine's own server, has the last one alone. Each case is measured in
turns; what is printed are medians. A call that fails ends it.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import wine_server
from wine_server import ServerProcess, WineServer

CASES = (
    ("64x64 FLOAT32 on a stream, 16 at a time", ("--shape", "64x64", "--concurrency", "16", "--stream")),
    ("64x64 FLOAT32, 1 at a time", ("--shape", "64x64", "--concurrency", "1")),
    ("2048x2048 FLOAT32, 1 at a time", ("--shape", "2048x2048", "--concurrency", "1")),
)


def calls_per_second(command, server, options, seconds):
    """What one run of `opserve bench` counts."""
    done = subprocess.run([command, "bench", *options, "--messages", "--duration", f"{seconds}s", "--json",
                           "--address", server.address], check=True, capture_output=True, text=True)
    counted = json.loads(done.stdout)
    if counted["errors"]:
        raise RuntimeError(f"{counted['errors']} calls failed: {counted.get('first_error')}")
    return counted["calls_per_s"]


def measure(options, prefix, runner):
    """Prints the rows of two servers that `runner` starts."""
    wine_server.use_prefix(prefix)
    try:
        with tempfile.TemporaryDirectory() as linux, tempfile.TemporaryDirectory() as windows:
            with ServerProcess(options.linux / "opserve-server", linux, ["--devices=none"], runner=runner) as ours, \
                 WineServer(options.windows / "opserve-server.exe", windows, ["--devices=none"],
                            runner=runner) as theirs:
                for name, load in CASES:
                    counts = [[calls_per_second(options.linux / "opserve", server, load, options.seconds)
                               for server in (ours, theirs)] for _ in range(options.rounds)]
                    native, wine = (statistics.median(column) for column in zip(*counts))
                    print(f"  {name:38} {native:8.0f} {wine:8.0f} {wine / native:10.2f}", flush=True)
    finally:
        wine_server.end_wine()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--linux", required=True, type=pathlib.Path, help="programs of Linux")
    parser.add_argument("--windows", required=True, type=pathlib.Path, help="programs of Windows")
    parser.add_argument("--prefix", required=True, type=pathlib.Path, help="files of Wine")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3, help="of each measurement")
    options = parser.parse_args()
    last = max(os.sched_getaffinity(0))
    print(f"{'calls per second':40} {'Linux':>8} {'Wine':>8} {'Wine/Linux':>10}")
    print("servers on any processor:")
    measure(options, options.prefix / "any", ())
    print(f"servers on processor {last} alone:")
    # Wine's server, which is one for each prefix, is where the first program of it is.
    measure(options, options.prefix / "one", ("taskset", "--cpu-list", str(last)))


if __name__ == "__main__":
    main()
