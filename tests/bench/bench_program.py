"""What the scripts of benchmarks share: the flags --bin and --smoke, how they end, and how they ask programs."""

import argparse
import json
import pathlib
import subprocess
import sys

# Beside the time that a program is told to measure for.
LIMIT_S = 300


def answer_of(command, what, seconds=0):
    """What a program prints as JSON. `what`: what it measures, and `seconds`: for how long; where it fails, its own
    words come after `what`."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=seconds + LIMIT_S,
                          check=False)
    if done.returncode != 0:
        said = done.stderr.strip() or f"{command[0]} exits with {done.returncode}"
        raise RuntimeError(f"{what}: {said}")
    return json.loads(done.stdout)


def main(doc, bench, smoke, **flags):
    """Runs a benchmark, and returns the exit code.

    `doc`: of the script, whose first paragraph --help shows. `bench`: gets the options, with `bin` as an
    absolute path, and tells whether all is well; a failure to start or run programs is not. `smoke`:
    options that --smoke sets. `flags`: numbers by their names, each with its default and what it is.
    """
    parser = argparse.ArgumentParser(description=" ".join(doc.split("\n\n", maxsplit=1)[0].split()))
    parser.add_argument("--bin", default="build/release/bin", type=pathlib.Path,
                        help="folder of the programs (default: %(default)s)")
    for name, (default, text) in flags.items():
        parser.add_argument(f"--{name}", type=type(default), default=default,
                            help=f"{text} (default: %(default)s)")
    parser.add_argument("--smoke", action="store_true", help="once and briefly: does it run?")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    if options.smoke:
        vars(options).update(smoke)
    try:
        return 0 if bench(options) else 1
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"{pathlib.Path(sys.argv[0]).stem}: {error}", file=sys.stderr)
        return 1
