#!/usr/bin/python3
"""Runs one group of the Python package's tests, or says why it cannot.

  client          tests/python/test_*.py by pytest, with the package of the wheel
  fresh_install   installs the wheel into a fresh environment, beside Debian's NumPy, and runs a call there
  types           mypy accepts the package and typed_program.py, and finds each mistake of mistyped_program.py
  operators       opserve/_operators.py is what the catalogue of this server gives
  benchmark       `make bench-python` in its smallest form
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
VENV_PYTHON = ROOT / ".venv" / "bin" / "python"
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from required import skip_without  # noqa: E402  pylint: disable=wrong-import-position
from server_process import ServerProcess  # noqa: E402  pylint: disable=wrong-import-position

STEP_LIMIT_S = 240
FRESH_PROGRAM = """
import sys
import numpy, opserve
assert opserve.__file__.startswith(sys.prefix), opserve.__file__
with opserve.connect(sys.argv[1]) as client:
    print(client.round(numpy.float32([-1.5, 0.5, 2.5]), rounding_mode="TOWARD_ZERO"))
"""


def run(*command, **options):
    """Runs a step to its end, and returns its output, which is shown where it fails."""
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=STEP_LIMIT_S, **options)
    if done.returncode != 0:
        sys.exit(f"{pathlib.Path(command[0]).name} exits with {done.returncode}:\n{done.stdout}")
    return done.stdout


def has_packages():
    """Whether .venv has what deploy/setup.sh installs there, if it can."""
    return VENV_PYTHON.exists() and subprocess.run(
        [VENV_PYTHON, "-c", "import mypy, nanobind, numpy, pytest, scikit_build_core"], stderr=subprocess.DEVNULL,
        check=False, timeout=STEP_LIMIT_S).returncode == 0


def wheel_of(build):
    """The wheel of a build folder, and where it is unpacked. Ends as skipped where none can be built."""
    if not has_packages():
        skip_without("nanobind", "nanobind, scikit-build-core, pytest or mypy are not in .venv; "
                                 "`deploy/setup.sh python` installs them where PyPI can be reached")
    wheels = list((build / "wheel").glob("opserve-*.whl"))
    if not wheels:
        sys.exit("the wheel was not built; configure anew, and build the target python_wheel")
    return wheels[0], build / "wheel" / "site"


def test_client(build, _, site):
    done = subprocess.run(
        [VENV_PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE, "--bin", build / "bin"],
        stdin=subprocess.DEVNULL, check=False, timeout=STEP_LIMIT_S,
        env={**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"})
    sys.exit(done.returncode)


def test_fresh_install(build, wheel, _):
    with tempfile.TemporaryDirectory(prefix="opserve-wheel-") as name:
        folder = pathlib.Path(name)
        run("/usr/bin/python3", "-m", "venv", "--system-site-packages", folder / "venv")
        python = folder / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", wheel)
        if not list(folder.glob("venv/lib/*/site-packages/opserve-*.dist-info/licenses/nanobind.txt")):
            sys.exit("the wheel has nanobind in it, and not its licence")
        with ServerProcess(build / "bin" / "opserve-server", folder, ["--devices", "none"]) as server:
            printed = run(python, "-c", FRESH_PROGRAM, server.address, cwd=folder)
    if printed.split() != ["[-1.", "0.", "2.]"]:
        sys.exit(f"the program should print [-1. 0. 2.], not {printed}")


def test_types(_build, _wheel, site):
    def mypy(*files):
        return subprocess.run(
            [VENV_PYTHON, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", site.parent / "mypy", *files],
            capture_output=True, text=True, check=False, timeout=STEP_LIMIT_S, cwd=HERE,
            env={**os.environ, "MYPYPATH": str(site)})

    accepted = mypy("-p", "opserve")
    if accepted.returncode != 0:
        sys.exit(f"mypy finds faults in the package:\n{accepted.stdout}{accepted.stderr}")
    accepted = mypy("typed_program.py")
    if accepted.returncode != 0:
        sys.exit(f"mypy finds faults where there are none:\n{accepted.stdout}{accepted.stderr}")
    refused = mypy("mistyped_program.py")
    found = {int(line) for line in re.findall(r"^mistyped_program\.py:(\d+): error", refused.stdout, re.M)}
    text = (HERE / "mistyped_program.py").read_text(encoding="utf-8")
    wrong = {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# wrong")}
    if not wrong or found != wrong:
        sys.exit(f"mypy finds lines {sorted(found)}, wrong are {sorted(wrong)}:\n{refused.stdout}")


def test_operators(build, *_):
    run("/usr/bin/python3", ROOT / "client" / "python" / "generate_operators.py", "--bin", build / "bin", "--check")


def test_benchmark(build, _, site):
    print(run(VENV_PYTHON, ROOT / "tests" / "bench" / "python" / "bench_python.py", "--bin", build / "bin", "--smoke",
              env={**os.environ, "PYTHONPATH": str(site)}))


TESTS = {"client": test_client, "fresh_install": test_fresh_install, "types": test_types,
         "operators": test_operators, "benchmark": test_benchmark}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("test", choices=TESTS)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="folder of the build")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    # What the catalogue gives can be told without the wheel.
    found = (None, None) if arguments.test == "operators" else wheel_of(build)
    TESTS[arguments.test](build, *found)


if __name__ == "__main__":
    main()
