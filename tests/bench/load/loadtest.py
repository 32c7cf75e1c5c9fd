#!/usr/bin/python3
"""Load tests by the real ghz: a saturation curve, overload, large tensors and a soak, and a report with plots.

Starts servers of the build on this machine, which ghz shares with them, and writes report.html, a PNG per plot and
results.json. docs/loadtest.md tells how to read them. Needs Go to install ghz, or ghz already in --tools.
"""

import argparse
import dataclasses
import json
import pathlib
import sys
import tempfile

import load_page
import load_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / "tests" / "testing"), str(ROOT / "tests" / "bench")]
import go_tool  # noqa: E402  pylint: disable=wrong-import-position
import machine  # noqa: E402  pylint: disable=wrong-import-position
from server_process import ServerProcess  # noqa: E402  pylint: disable=wrong-import-position

SMALL = 16            # FLOAT32: 64 B
MIB = 1 << 18         # FLOAT32
OVERLOAD = 1 << 14    # FLOAT32: 64 KiB
LARGE_MIB = (1, 4, 16, 64)
# So few that a laptop's ghz overloads the server.
OVERLOAD_ROOM = 8
OVERLOAD_CONCURRENCY = 64
SOAK_WINDOWS = 30


def curve(options, load, request):
    """The saturation curve, and the step that answers the question."""
    closed, paced = load_runs.saturation(load, request, options.seconds, options.most_concurrency)
    best = load_runs.sustained(closed + paced, options.within_ms)
    return {"closed": closed, "paced": paced, "best": best}


def overload(options, load_of, programs, folder, request):
    """What a server that takes few requests at a time makes of many callers, against one that has room."""
    steps = {}
    for title, arguments in (("room for all", []),
                             ("overloaded", ["--max-concurrent-requests", str(OVERLOAD_ROOM)])):
        with ServerProcess(programs / "opserve-server", folder, arguments) as server:
            steps[title] = load_of(server).step(title, request, options.seconds, OVERLOAD_CONCURRENCY)[0]
    return steps


def large(options, load, opserve, folder):
    """One step per size of tensor, by its MiB."""
    return {mib: load.step(f"{mib} MiB", load_runs.write_request(opserve, folder, mib * MIB), options.seconds, 4)[0]
            for mib in LARGE_MIB if mib <= options.largest_mib}


def soak(options, load, server, request, rate):
    """A long step at a rate that the server has room for; latency and memory over time."""
    with load_runs.MemoryWatch(server.pid, options.soak_seconds / SOAK_WINDOWS) as watch:
        step, calls = load.step("soak", request, options.soak_seconds, 16, rate)
    begin = watch.samples[0][0]
    return {"step": step, "windows": load_runs.windows(calls, SOAK_WINDOWS),
            "memory": [(at - begin, mib) for at, mib in watch.samples]}


def sentence(options, results):
    """What this host takes, in a sentence."""
    best = results["curve"]["best"]
    call = f"ELEMENT_WISE_ROUND of {SMALL * 4} B"
    if best is None:
        return f"This host answers 99% of calls of {call} within {options.within_ms:g} ms at no rate that was tried."
    return (f"This host takes {best.calls_per_s:,.0f} calls/s of {call}, 99% of them within {best.p99_ms:.2g} ms "
            f"(wanted: {options.within_ms:g} ms), with ghz on the same processors.")


def measure(options, ghz, programs, folder):
    opserve = programs / "opserve"
    small = load_runs.write_request(opserve, folder, SMALL)

    def load_of(server):
        return load_runs.Load(ghz, server.address, folder)

    results = {"machine": machine.state()}
    with ServerProcess(programs / "opserve-server", folder) as server:
        load = load_of(server)
        load.step("warm-up", small, min(1, options.seconds), 8)
        print("loadtest: saturation curve", flush=True)
        results["curve"] = curve(options, load, small)
        print("loadtest: soak", flush=True)
        peak = max(step.calls_per_s for step in results["curve"]["closed"])
        results["soak"] = soak(options, load, server, small, max(1, peak / 2))
        print("loadtest: large tensors", flush=True)
        results["large"] = large(options, load, opserve, folder)
    print("loadtest: overload", flush=True)
    results["overload"] = overload(options, load_of, programs, folder,
                                   load_runs.write_request(opserve, folder, OVERLOAD))
    results["sentence"] = sentence(options, results)
    return results


def as_json(value):
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of opserve-server and opserve")
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="folder that ghz is installed into")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder of the report")
    parser.add_argument("--seconds", type=float, default=5, help="of each step [5]")
    parser.add_argument("--soak-seconds", type=float, default=60, help="[60]")
    parser.add_argument("--within-ms", type=float, default=10, help="what 99%% of the calls may take [10]")
    parser.add_argument("--most-concurrency", type=int, default=128, help="largest closed loop [128]")
    parser.add_argument("--largest-mib", type=int, default=64, help="largest tensor [64]")
    options = parser.parse_args()
    ghz = go_tool.install("ghz", options.tools)
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="opserve-load-") as folder:
        results = measure(options, ghz, options.bin.resolve(), pathlib.Path(folder))
    (options.output / "results.json").write_text(json.dumps(results, default=as_json, indent=1), encoding="utf-8")
    load_page.write(results, options.within_ms, options.output)
    print(load_page.table(results))
    print(f"\n{results['sentence']}\nloadtest: {options.output / 'report.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
