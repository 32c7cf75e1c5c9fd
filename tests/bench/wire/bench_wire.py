#!/usr/bin/env python3
"""Measures what opserve moves over the wire against what gRPC could move, side by side in one run.

Starts opserve-server and echo servers itself. Rows take turns within each repeat; numbers are medians
over the repeats, ratios the medians of ratios within a repeat. Goals are marked, never enforced.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[up] / folder)
                for up, folder in ((2, "testing"), (1, ""))]

import wire_report  # noqa: E402
from bench_program import answer_of  # noqa: E402
from machine import processor  # noqa: E402
from server_process import ServerProcess  # noqa: E402
from wire_rows import (  # noqa: E402
    GIB, MIB, OPSERVE, ROWS, SIZES, SMALL_OPSERVE, concurrencies, size_text)

# What a server needs beside its connections.
OTHER_FILES = 1024
BUSY_CONNECTIONS = 64


class Servers:
    """The servers that rows need, started when first asked for. A context manager."""

    def __init__(self, programs, folder):
        self._programs = programs
        self._folder = pathlib.Path(folder)
        self._stack = contextlib.ExitStack()
        self._running = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def find(self, server):
        """(process, path of its unix socket)"""
        if server not in self._running:
            folder = self._folder / str(len(self._running))
            folder.mkdir()
            path = folder / "socket"
            process = self._stack.enter_context(ServerProcess(
                self._programs / server.program, folder,
                ["--listen", f"unix:{path}", *server.arguments]))
            self._running[server] = (process, path)
        return self._running[server]


def measure(programs, servers, row, size, concurrency, seconds):
    """One run of wire_load; what it printed."""
    command = [programs / "wire_load", "--mode", row.mode, "--bytes", size, "--concurrency", concurrency,
               "--seconds", seconds, "--warm-up", seconds / 4]
    if row.server:
        process, path = servers.find(row.server)
        command += ["--target", f"unix:{path}" if row.unix else process.address,
                    "--server-pid", process.pid]
    command += row.tuning
    return answer_of(command, f"{row.name}, {size_text(size)}, {concurrency} at a time", seconds)


def show_progress(text):
    """On a terminal one line that is written over."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


def run(programs, servers, rows, options):
    """Measures every row; cell by cell, so that what is compared is measured within seconds."""
    results = wire_report.Results()
    cells = [(size, concurrency) for size in options.sizes for concurrency in concurrencies(size)
             if not options.concurrency or concurrency in options.concurrency]
    for number, (size, concurrency) in enumerate(cells, 1):
        seconds = options.seconds * (1 if size < MIB else 2.5)
        for repeat in range(1, options.repeats + 1):
            show_progress(f"[{number}/{len(cells)}] {size_text(size)}, {concurrency} at a time, "
                          f"repeat {repeat}/{options.repeats}")
            for row in rows:
                if size in row.sizes:
                    results.add(row.name, size, concurrency, measure(
                        programs, servers, row, size, concurrency, seconds))
    show_progress("")
    return results


def measure_idle(programs, folder, connections):
    """Idle connections to a fresh server, per kind of socket: what wire_idle printed."""
    # The servers inherit the limit.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # The server needs two for each connection, and has some that are not idle.
    connections = min(connections, (most - OTHER_FILES) // 2 - BUSY_CONNECTIONS)
    idle = {}
    for name, unix in (("TCP", False), ("unix socket", True)):
        show_progress(f"{connections} idle connections, {name}")
        with Servers(programs, tempfile.mkdtemp(dir=folder)) as servers:
            process, path = servers.find(OPSERVE)
            idle[name] = answer_of(
                [programs / "wire_idle", "--connections", connections,
                 "--target", f"unix:{path}" if unix else process.address, "--server-pid", process.pid],
                f"idle connections, {name}")
    show_progress("")
    return idle


def memory_of(path, field):
    """Bytes that a file of /proc tells in KiB."""
    for line in pathlib.Path(path).read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{path} has no {field}")


def measure_large(programs, folder, size):
    """One tensor of `size` bytes through a fresh server that takes less: what it took, and memory. The
    client holds the result."""
    wanted = size + GIB
    available = memory_of("/proc/meminfo", "MemAvailable")
    if available < wanted:
        return {"bytes": size, "skipped": f"{available / GIB:.1f} GiB of memory are available, and "
                                          f"{wanted / GIB:.1f} GiB needed"}
    show_progress(f"a tensor of {size_text(size)}")
    with Servers(programs, tempfile.mkdtemp(dir=folder)) as servers:
        process, _ = servers.find(SMALL_OPSERVE)
        status = f"/proc/{process.pid}/status"

        def load(mode, count):
            return answer_of(
                [programs / "wire_load", "--mode", mode, "--bytes", count, "--seconds", 0, "--warm-up", 0,
                 "--target", process.address, "--server-pid", process.pid],
                f"a tensor of {size_text(count)}")

        # The first call makes what every one needs.
        load("pipelined", 64)
        idle = memory_of(status, "VmRSS")
        measured = load("large", size)
        measured |= {"server_idle_rss_bytes": idle,
                     "server_peak_rss_bytes": memory_of(status, "VmHWM")}
    show_progress("")
    return measured


def parse_size(text):
    for suffix, unit in (("GiB", GIB), ("MiB", MIB), ("KiB", 1 << 10)):
        if text.endswith(suffix):
            return int(text[:-len(suffix)]) * unit
    return int(text)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     epilog="rows: " + ", ".join(row.name for row in ROWS))
    parser.add_argument("--bin", default="build/release/bin", type=pathlib.Path,
                        help="folder of the programs (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="turns (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.4,
                        help="time per measurement; 2.5 times as long from 1 MiB on "
                             "(default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="at most 2 repeats, and a quarter of the time")
    parser.add_argument("--sizes", type=parse_size, nargs="+", default=SIZES,
                        help="payloads, such as 64 4KiB 1MiB (default: 64 bytes to 64 MiB)")
    parser.add_argument("--concurrency", type=int, nargs="+",
                        help="only these numbers of calls at a time")
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=[row.name for row in ROWS],
                        help="only these rows")
    parser.add_argument("--style", action="store_true",
                        help="also gRPC's callback and synchronous styles, of echoes and of opserve")
    parser.add_argument("--transport", action="store_true",
                        help="also raw echoes with other settings of the transport, one at a time")
    parser.add_argument("--idle", type=int, default=10000, metavar="N",
                        help="idle connections to open in the end; 0: none (default: %(default)s)")
    parser.add_argument("--large", type=parse_size, default=4 * GIB, metavar="SIZE",
                        help="tensor to send through a server that takes less; 0: none (default: 4GiB)")
    parser.add_argument("--json", type=pathlib.Path, help="also write everything to this file")
    parser.add_argument("--plot", type=pathlib.Path, help="also draw this PNG")
    options = parser.parse_args()
    if options.quick:
        options.repeats = min(options.repeats, 2)
        options.seconds /= 4
    return options


def write_json(path, machine, options, results, judged, judged_times, idle, large):
    path.write_text(json.dumps({
        "machine": machine, "repeats": options.repeats, "seconds": options.seconds,
        "cells": results.as_json(), "idle": idle, "large": large,
        "targets": [{"row": target.row, "base": target.base, "bytes": size,
                     "concurrency": concurrency, "goal": target.ratio, "ratio": ratio}
                    for target, size, concurrency, ratio in judged],
        "time_targets": [{"row": target.row, "bytes": size, "concurrency": concurrency,
                          "goal_us": target.p50_us, "p50_us": p50_us}
                         for target, size, concurrency, p50_us in judged_times]}, indent=1) + "\n",
        encoding="utf-8")


def main():
    options = parse_arguments()
    programs = options.bin.resolve()
    rows = [row for row in ROWS
            if (row.name in options.only if options.only
                else not row.group or getattr(options, row.group))]
    with tempfile.TemporaryDirectory(prefix="opserve-wire-") as folder:
        try:
            with Servers(programs, folder) as servers:
                results = run(programs, servers, rows, options)
            large = measure_large(programs, folder, options.large) if options.large else {}
            idle = measure_idle(programs, folder, options.idle) if options.idle else {}
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"\nbench_wire: {error}", file=sys.stderr)
            return 1
    judged = wire_report.judge(results)
    judged_times = wire_report.judge_times(results)
    machine = {"processor": processor(), "processors": len(os.sched_getaffinity(0)),
               "kernel": platform.release()}
    print(f"{machine['processor']}, {machine['processors']} processors; client and server on "
          f"loopback; medians of {options.repeats} interleaved repeats")
    print("\n".join(wire_report.table(results, rows) + wire_report.target_lines(judged)
                    + wire_report.time_target_lines(judged_times) + wire_report.large_lines(large)
                    + wire_report.idle_lines(idle)))
    if options.json:
        write_json(options.json, machine, options, results, judged, judged_times, idle, large)
    if options.plot:
        wire_report.plot(results, rows, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
