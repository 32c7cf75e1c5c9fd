#!/usr/bin/env python3
"""Runs bench_wire.py in its smallest form, and sees that wire_load notices wrong answers in every mode."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "testing"))

from server_process import ServerProcess  # noqa: E402
from wire_rows import OPSERVE, ROWS  # noqa: E402


def check_bench(programs, folder):
    output = folder / "wire.json"
    done = subprocess.run(
        [sys.executable, HERE / "bench_wire.py", "--bin", programs, "--repeats", "1",
         "--seconds", "0.02", "--sizes", "64", "1MiB", "--style", "--transport",
         "--idle", "50", "--large", "64MiB", "--json", output],
        stdout=subprocess.PIPE, text=True, timeout=240, check=True)
    report = json.loads(output.read_text(encoding="utf-8"))
    for idle in report["idle"].values():
        assert idle["connections"] == 50 and idle["closed_by_server"] == 0, idle
    large = report["large"]
    assert large["calls"] == 1 and large["bytes"] == 64 << 20, large
    assert 0 < large["server_idle_rss_bytes"] < large["server_peak_rss_bytes"], large
    assert "64 MiB over a stream" in done.stdout, done.stdout
    cells = report["cells"]
    servers = {row.name: row.server for row in ROWS}
    assert {cell["row"] for cell in cells} == {row.name for row in ROWS}, cells
    for cell in cells:
        median = cell["median"]
        assert median["calls"] >= 1, cell
        has_server = servers[cell["row"]] is not None
        assert (median["server_peak_rss_bytes"] > 0) == has_server, cell
        assert 0 < median["p50_us"] <= median["p99_us"] <= median["p999_us"], cell
    for row in ROWS:
        assert row.label in done.stdout, row.label


def check_refuses(programs, mode, arguments):
    """wire_load must end with 1, and say why."""
    done = subprocess.run([programs / "wire_load", "--mode", mode, *arguments],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "wrong" in done.stderr, (mode, arguments, done)


def check_wrong_echoes_are_found(programs, folder):
    for style, mode in (("raw-cq", "echo"), ("raw-callback", "echo"), ("raw-sync", "echo"),
                        ("raw-chunked", "chunked-echo")):
        with ServerProcess(programs / "wire_peer", folder,
                           ["--style", style, "--spoil"]) as peer:
            check_refuses(programs, mode, ["--target", peer.address])
        assert peer.exit_code == 0, peer.log()


def check_wrong_results_are_found(programs, folder):
    path = folder / "socket"
    with ServerProcess(programs / "opserve-server", folder,
                       ["--listen", f"unix:{path}", *OPSERVE.arguments]) as server:
        for mode in sorted({row.mode for row in ROWS if row.server in (OPSERVE, None)}):
            check_refuses(programs, mode, ["--target", f"unix:{path}", "--bytes", "4096",
                                           "--seconds", "0.02", "--spoil"])
        check_refuses(programs, "large", ["--target", f"unix:{path}", "--bytes", str(32 << 20), "--spoil"])
    assert server.exit_code == 0, server.log()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    programs = parser.parse_args().bin.resolve()
    with tempfile.TemporaryDirectory(prefix="opserve-wire-") as folder:
        check_bench(programs, pathlib.Path(folder))
        check_wrong_echoes_are_found(programs, pathlib.Path(folder))
        check_wrong_results_are_found(programs, pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
