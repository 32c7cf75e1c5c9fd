#!/usr/bin/env python3
"""A few results of a Direct3D 12 adapter against the processor's, as `prove --adapter` compares them.

Of an operator with modes, and of one with attributes and open elements. Skipped where there is no adapter, unless
OPSERVE_REQUIRE has gpu.
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from required import skip_without  # pylint: disable=wrong-import-position

# What prove ends with where there is no adapter.
NO_HARDWARE = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder of the programs")
    options = parser.parse_args()
    command = [options.bin / "prove", "--adapter", "0", "--usual", "--stride", "30011",
               "ELEMENT_WISE_ROUND", "ACTIVATION_ELU"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == NO_HARDWARE:
        skip_without("gpu", done.stderr.strip())
    print(done.stdout + done.stderr, end="")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
