#!/usr/bin/python3
"""Runs the real ghz against a real server: the smoke profile, three ways.

Installs ghz by its module path, so it needs Go; skipped where there is none, or no network to fetch
modules from, unless OPSERVE_REQUIRE has ghz. Passes if every call of every run is answered with OK.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
import go_tool  # pylint: disable=wrong-import-position
from server_process import ServerProcess  # pylint: disable=wrong-import-position

MODULE = "github.com/bojand/ghz/cmd/ghz@v0.120.0"
METHOD = "opserve.v1.OperatorService.Execute"
RUN_LIMIT_S = 120


def run_ghz(ghz, folder, title, arguments):
    """Runs ghz and checks its report. Returns what is wrong, or nothing."""
    report_path = folder / "report.json"
    command = [ghz, "--format", "json", "--output", report_path, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S,
                          check=False, stdin=subprocess.DEVNULL, cwd=ROOT)
    if done.returncode != 0:
        return f"{title}: ghz exits with {done.returncode}: {done.stderr}{done.stdout}"
    report = json.loads(report_path.read_text(encoding="utf-8"))
    count, codes = report["count"], report.get("statusCodeDistribution") or {}
    errors = report.get("errorDistribution") or {}
    print(f"{title}: {count} calls, {codes}, {report['rps']:.0f} calls/s", flush=True)
    if count == 0 or codes != {"OK": count} or errors:
        return f"{title}: {count} calls answered {codes}, errors {errors}"
    return ""


def pack_request(opserve, folder):
    """Writes the bytes of a request, made from a .npy file by the CLI."""
    tensor, request = folder / "x.npy", folder / "request.bin"
    np.save(tensor, np.linspace(-8, 8, 1000, dtype=np.float32).reshape(10, 100))
    subprocess.run([opserve, "pack", "ELEMENT_WISE_ROUND", "--attr",
                    "RoundingMode=TOWARD_INFINITY", "--input", tensor, "--output", request],
                   timeout=RUN_LIMIT_S, check=True, stdin=subprocess.DEVNULL)
    return request


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True,
                        help="folder of opserve-server and opserve")
    parser.add_argument("--tools", type=pathlib.Path, required=True,
                        help="folder that ghz is installed into, and kept in")
    arguments = parser.parse_args()
    arguments.tools.mkdir(parents=True, exist_ok=True)
    ghz = go_tool.install("ghz", MODULE, arguments.tools.resolve())
    programs = arguments.bin.resolve()

    profile = ["--config", "deploy/ghz/smoke.json"]
    from_proto = ["--proto", "proto/opserve/v1/operator_service.proto", "--import-paths", "proto"]
    faults = []
    with tempfile.TemporaryDirectory(prefix="opserve-ghz-") as name:
        folder = pathlib.Path(name)
        with ServerProcess(programs / "opserve-server", folder) as server:
            binary = ["--binary-file", pack_request(programs / "opserve", folder)]
            runs = {
                "smoke profile, reflection": [*profile, server.address],
                "smoke profile, .proto": [*profile, *from_proto, server.address],
                "binary request, reflection": ["--insecure", "--call", METHOD, "--total", "200",
                                               "--concurrency", "4", *binary, server.address],
            }
            faults = [run_ghz(ghz, folder, title, extra) for title, extra in runs.items()]
        if server.exit_code != 0:
            faults.append(f"the server ended with exit code {server.exit_code}:\n{server.log()}")
    faults = [fault for fault in faults if fault]
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
