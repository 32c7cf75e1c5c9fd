"""What the scripts of benchmarks share: the flags --bin and --smoke, and how they end."""

import argparse
import pathlib
import subprocess
import sys


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
