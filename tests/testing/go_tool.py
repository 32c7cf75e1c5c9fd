"""Programs of Go that tests run, at the versions of deploy/go-tools: installed, and kept.

    go_tool.py FOLDER    installs all of them; exit code 1 where that cannot be
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from required import skip_without  # pylint: disable=wrong-import-position

LIST = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "go-tools"
INSTALL_LIMIT_S = 600
NO_NETWORK = ("dial tcp", "no such host", "i/o timeout", "proxyconnect", "network is unreachable")


class NotInstalled(Exception):
    """Why there is no such program, where nobody is to blame: no Go, or no network."""


def pinned():
    """By name: module and version."""
    rows = [line.split() for line in LIST.read_text(encoding="utf-8").splitlines()
            if line and not line.startswith("#")]
    return {name: (module, version) for name, module, version in rows}


def try_install(name, folder):
    """Path of the program `name`, installed into `folder` unless it is there in that version already."""
    module, version = pinned()[name]
    program = pathlib.Path(folder).resolve() / f"{name}-{version}" / name
    if program.exists():
        return program
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        raise NotInstalled(f"Go is not installed, so {name} cannot be")
    print(f"installing {module}@{version}", flush=True)
    program.parent.mkdir(parents=True, exist_ok=True)
    # Whoever looks at the same time finds all of the program, or none.
    with tempfile.TemporaryDirectory(dir=program.parent) as fresh:
        done = subprocess.run([go, "install", f"{module}@{version}"], env={**os.environ, "GOBIN": fresh},
                              capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            if any(sign in done.stderr for sign in NO_NETWORK):
                raise NotInstalled(f"no network to install it from: {done.stderr.splitlines()[-1]}")
            sys.exit(f"go install failed:\n{done.stderr}")
        os.replace(pathlib.Path(fresh) / name, program)
    return program


def install(name, folder):
    """The same, for tests: skipped where there can be no such program, failed where OPSERVE_REQUIRE has it."""
    try:
        return try_install(name, folder)
    except NotInstalled as reason:
        return skip_without(name, reason)


def main():
    try:
        for name in pinned():
            try_install(name, sys.argv[1])
    except NotInstalled as reason:
        sys.exit(f"go_tool: {reason}")


if __name__ == "__main__":
    main()
