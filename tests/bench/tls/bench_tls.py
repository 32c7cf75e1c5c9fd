#!/usr/bin/env python3
"""Measures mutual TLS against plain text: calls and bytes per second, and new connections.

Starts one opserve-server of each kind, with certificates that openssl makes for the run. Both take
turns within each round; numbers are medians over the rounds, ratios the medians of ratios within a
round.
"""

import contextlib
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / "testing"), str(ROOT / "tests" / "bench")]

import bench_program  # noqa: E402
import machine  # noqa: E402
from server_process import ServerProcess  # noqa: E402

MIB = 1 << 20
# Name, bytes each way, calls at a time.
LOADS = (("64 B, 32 at a time", 64, 32), ("1 MiB, 4 at a time", MIB, 4))
CONNECTING_THREADS = 4


def make_certificates(folder):
    """An authority, and certificates of a server and a client, as PEM files in `folder`."""
    done = subprocess.run([ROOT / "tests/testing/make_certificates.sh", folder],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"openssl made no certificates:\n{done.stderr}")


def start_servers(stack, programs, folder):
    """{"plain": what a client of it needs, "mTLS": the same}"""
    make_certificates(folder)
    server_tls = ["--tls-certificate", folder / "server.pem", "--tls-key", folder / "server.key",
                  "--tls-client-ca", folder / "ca.pem", "--tls-client-auth", "required"]
    client_tls = ["--tls-ca", folder / "ca.pem", "--tls-certificate", folder / "client.pem",
                  "--tls-key", folder / "client.key", "--tls-server-name", "server.test"]
    kinds = {}
    for kind, of_server, of_client in (("plain", [], []), ("mTLS", server_tls, client_tls)):
        place = folder / kind
        place.mkdir()
        server = stack.enter_context(ServerProcess(
            programs / "opserve-server", place,
            ["--devices", "none", "--log-level", "error", *of_server]))
        kinds[kind] = ["--target", server.address, *of_client]
    return kinds


def measure_load(programs, client, size, concurrency, seconds):
    command = [programs / "wire_load", "--mode", "execute", "--bytes", size, "--concurrency", concurrency,
               "--seconds", seconds, "--warm-up", seconds / 4, "--cubic", "--keep-pages", *client]
    return bench_program.answer_of(command, f"{size} B", seconds)["calls_per_s"]


def measure_connections(programs, client, seconds):
    command = [programs / "tls_connect", "--threads", CONNECTING_THREADS, "--seconds", seconds,
               "--warm-up", seconds / 4, *client]
    return bench_program.answer_of(command, "connections", seconds)["connections_per_s"]


def rounds_of(kinds, measure, count):
    """One pair of rates per round: (plain, mTLS); which one is first changes from round to round."""
    pairs = []
    for number in range(count):
        rates = {kind: measure(kinds[kind]) for kind in sorted(kinds, reverse=number % 2 == 0)}
        pairs.append((rates["plain"], rates["mTLS"]))
    return pairs


def line(name, pairs, size=0):
    """A row of the table."""
    plain, tls = (statistics.median(column) for column in zip(*pairs))
    ratios = sorted(tls / plain for plain, tls in pairs)
    mib = f"{plain * size / MIB:>10,.1f}{tls * size / MIB:>10,.1f}" if size else " " * 20
    return (f"{name:<34}{plain:>10,.0f}{tls:>10,.0f}{mib}{statistics.median(ratios):>8.2f}"
            f"  ({ratios[0]:.2f} to {ratios[-1]:.2f})")


def bench(options):
    print(f"{machine.state()}; medians of {options.rounds} interleaved rounds of "
          f"{options.seconds:g} s")
    print(f"{'per second':<34}{'plain':>10}{'mTLS':>10}{'MiB/s':>10}{'mTLS':>10}{'ratio':>8}  (range)",
          flush=True)
    with tempfile.TemporaryDirectory(prefix="opserve-tls-") as folder, \
            contextlib.ExitStack() as stack:
        kinds = start_servers(stack, options.bin, pathlib.Path(folder))
        for name, size, concurrency in LOADS:
            pairs = rounds_of(kinds, lambda client, s=size, c=concurrency: measure_load(
                options.bin, client, s, c, options.seconds), options.rounds)
            print(line(f"calls, {name}", pairs, size), flush=True)
        pairs = rounds_of(kinds, lambda client: measure_connections(
            options.bin, client, options.seconds), options.rounds)
        print(line(f"connections, {CONNECTING_THREADS} at a time", pairs), flush=True)
    return True


if __name__ == "__main__":
    sys.exit(bench_program.main(__doc__, bench, {"rounds": 1, "seconds": 0.05},
                                rounds=(7, "rounds"), seconds=(1.0, "time per measurement")))
