#!/usr/bin/python3
"""The Python package's tests by Python for Windows, under Wine, against opserve-server.exe and opserve-server.

What needs a server of its own is skipped there; so is what only Linux has.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import programs_test
import wine_server  # puts tests/ on the path
from testing.required import skip_without
from wine_server import LIMIT_S, WINE, ServerProcess, WineServer

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_tests(build, server):
    """Runs pytest, which says what it skips and why, against `server`."""
    packages = ";".join(f"Z:{folder}" for folder in (build / "wheel" / "site", build / "python" / "site"))
    # Under Wine Python does not start where there is no standard input.
    done = subprocess.run(
        [WINE, build / "python" / "python" / "python.exe", "-m", "pytest", "-q", "-rs", "--color=no",
         "-p", "no:cacheprovider", ROOT / "tests" / "python", "--address", server.address],
        stdin=subprocess.DEVNULL, check=False, timeout=LIMIT_S,
        env={**os.environ, "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode != 0:
        sys.exit(f"pytest exits with {done.returncode}:\n{server.log()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path, help="folder of the build for Windows")
    parser.add_argument("--linux", required=True, type=pathlib.Path, help="programs of Linux")
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "wheel" / "site").exists() or not (build / "python" / "complete").exists():
        skip_without("windows-wheel", "there is no wheel for Windows; make windows-wheel builds it, and fetches "
                                      "Python for Windows")
    module, = (build / "wheel" / "site").glob("opserve/_core.*.pyd")
    if programs_test.imports(module) - programs_test.SYSTEM != {"python311"}:
        sys.exit(f"{module.name} needs {programs_test.imports(module)}")
    licences, = (build / "wheel" / "site").glob("opserve-*.dist-info/licenses")
    linked = [line.split()[0] for line in (licences / "packages.txt").read_text(encoding="ascii").splitlines()]
    lacking = {name for name in ["grpc", "nanobind", "openssl", *linked] if not (licences / f"{name}.txt").is_file()}
    if lacking:
        sys.exit(f"the wheel has no licences of {', '.join(sorted(lacking))}")
    wine_server.use_prefix(build / "wine-windows_wheel_test")
    try:
        for program, kind in (("opserve-server.exe", WineServer), ("opserve-server", ServerProcess)):
            folder = build / "bin" if kind is WineServer else options.linux
            with tempfile.TemporaryDirectory() as files, kind(folder / program, files, ["--devices=none"]) as server:
                print(f"{program}:", flush=True)
                run_tests(build, server)
            if server.exit_code != 0:
                sys.exit(f"{program} exits with {server.exit_code}")
    finally:
        wine_server.end_wine()


if __name__ == "__main__":
    main()
