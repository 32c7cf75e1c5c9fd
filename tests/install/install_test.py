#!/usr/bin/python3
"""Installs opserve into an empty folder, builds the example project against it, and runs that.

The example sees nothing of the source tree or the build folder but the installed package. It runs
against the installed server. Passes if it prints the right numbers and every violation.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from server_process import ServerProcess  # pylint: disable=wrong-import-position

STEP_LIMIT_S = 240
PUBLIC_INCLUDES = ('#include "absl/', '#include "opserve/')
EXPECTED = [
    "rounded: -2 -0 0 2 2 4",
    "ran on cpu/",
    "from a handle: -2 -0 0 2 2 4",
    "from a callback: -2 -0 0 2 2 4",
    "from a stream: -2 -0 0 2 2 4",
    "from a stream: -2 -0 0 2 2 4",
    "at the server: -2 -0 0 2 2 4",
    "attributes[0].value: ",
    "attributes[1].name: ",
]


def run(*command):
    """Runs a step to its end; its output is shown only if it fails."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=STEP_LIMIT_S, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{command[0]} exits with {done.returncode}:\n{done.stdout}")
    return done.stdout


def check_headers(prefix):
    """The public headers need each other and Abseil only, and are all in one folder."""
    headers = sorted((prefix / "include").rglob("*.h"))
    if not headers:
        sys.exit("no header was installed")
    for header in headers:
        if header.parent != prefix / "include" / "opserve":
            sys.exit(f"{header} is no public header")
        for line in header.read_text(encoding="utf-8").splitlines():
            if line.startswith('#include "') and not line.startswith(PUBLIC_INCLUDES):
                sys.exit(f"{header.name} needs more than Abseil: {line}")


def check_shell_files(prefix):
    """What the command wrote about itself at build time lies where shells and man look for it."""
    for file, words in (("bash-completion/completions/opserve", "complete -F _opserve opserve"),
                        ("zsh/site-functions/_opserve", "#compdef opserve"),
                        ("man/man1/opserve.1", ".TH OPSERVE 1")):
        if words not in (prefix / "share" / file).read_text(encoding="utf-8"):
            sys.exit(f"share/{file} was installed without '{words}'")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="folder of the build")
    parser.add_argument("--compiler", required=True, help="C++ compiler of the build")
    parser.add_argument("--flags", default="", help="flags of the compiler")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="opserve-install-") as name:
        folder = pathlib.Path(name)
        prefix = folder / "prefix"
        run("cmake", "--install", arguments.build, "--prefix", prefix)
        check_headers(prefix)
        check_shell_files(prefix)
        run("cmake", "-S", ROOT / "client" / "example", "-B", folder / "build", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={arguments.compiler}",
            f"-DCMAKE_CXX_FLAGS={arguments.flags}")
        run("cmake", "--build", folder / "build")
        version = run(prefix / "bin" / "opserve", "--version")
        with ServerProcess(prefix / "bin" / "opserve-server", folder,
                           ["--devices", "none"]) as server:
            printed = run(folder / "build" / "example", server.address)
    print(version, printed, sep="", end="")
    lines = printed.splitlines()
    if len(lines) != len(EXPECTED) or not all(map(str.startswith, lines, EXPECTED)):
        sys.exit(f"the example should print lines that start with {EXPECTED}")
    if server.exit_code != 0:
        sys.exit(f"the server ended with exit code {server.exit_code}")


if __name__ == "__main__":
    main()
