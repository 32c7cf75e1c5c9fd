#!/usr/bin/python3
"""Runs spread.py: tasks on a cluster of Ray's own kind for tests, with servers of deploy/ray on its nodes.

Skipped where Ray or what the Python package is built with is not in .venv (deploy/setup.sh peers python), or Ray
starts no node, unless OPSERVE_REQUIRE has ray.
"""

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "bin" / "python"
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from required import skip_without  # noqa: E402  pylint: disable=wrong-import-position

PROBE_LIMIT_S = 240


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="folder of the build")
    options, rest = parser.parse_known_args()
    build = options.build.resolve()
    probe = [PYTHON, "-c", "import nanobind, numpy, ray, scikit_build_core"]
    if not PYTHON.exists() or subprocess.run(probe, stderr=subprocess.DEVNULL, check=False,
                                             timeout=PROBE_LIMIT_S).returncode != 0:
        skip_without("ray", "Ray, or what the Python package is built with, is not in .venv; `deploy/setup.sh peers python` "
                            "installs them where PyPI can be reached")
    if not list((build / "wheel").glob("opserve-*.whl")):
        sys.exit("the wheel was not built; configure anew, and build the target python_wheel")
    environment = {
        **os.environ, "PATH": f"{build / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'deploy' / 'ray'}:{build / 'wheel' / 'site'}", "PYTHONDONTWRITEBYTECODE": "1",
        # Ray's nodes stay on the loopback interface, and tell nobody that they are used.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    os.execve(PYTHON, [PYTHON, ROOT / "tests" / "ray" / "spread.py", *rest], environment)


if __name__ == "__main__":
    main()
