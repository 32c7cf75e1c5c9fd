"""Programs of Go that tests run: installed by their module paths, and kept."""

import os
import shutil
import subprocess
import sys

from required import skip_without

INSTALL_LIMIT_S = 600
NO_NETWORK = ("dial tcp", "no such host", "i/o timeout", "proxyconnect", "network is unreachable")


def install(name, module, folder):
    """Path of the program `name` of `module`, installed into `folder` unless it is there already.

    Ends the test as skipped where there is no Go, or no network to fetch modules from, and as failed
    where OPSERVE_REQUIRE has `name`.
    """
    program = folder / name
    if program.exists():
        return program
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        skip_without(name, f"Go is not installed, so {name} cannot be")
    print(f"installing {module}", flush=True)
    done = subprocess.run([go, "install", module], env={**os.environ, "GOBIN": str(folder)},
                          capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        if any(sign in done.stderr for sign in NO_NETWORK):
            skip_without(name, f"no network to install it from: {done.stderr.splitlines()[-1]}")
        sys.exit(f"go install failed:\n{done.stderr}")
    return program
