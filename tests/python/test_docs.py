"""The pages' Python runs, and prints what they say; their commands are those that are tested."""

import contextlib
import io
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import opserve

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRINT = re.compile(r"^ *print\(.*\)  # (.*)$", re.M)


def blocks(page, language):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_python_runs_and_prints_what_it_says(server, page):
    found = blocks(page, "python")
    assert found
    text = "\n".join(found)
    for address, instead in (("127.0.0.1:50051", server.address), ("gpu-host:50051", server.address),
                             ("unix:/run/opserve/socket", server.socket)):
        text = text.replace(f'connect("{address}")', f'connect("{instead}")')
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), np.printoptions(legacy="1.25"):
        exec(compile(text, page, "exec"), {"__name__": page})  # pylint: disable=exec-used
    assert printed.getvalue().splitlines() == PRINT.findall(text)


@pytest.mark.skipif(sys.platform == "win32", reason="the page installs Debian's packages")
def test_the_wheel_needs_what_the_page_installs():
    """gRPC's package, and what that depends on, own every library that the module needs."""
    install, = re.findall(r"^apt-get install (.*)$", (ROOT / "docs/python.md").read_text(encoding="utf-8"), re.M)
    packages = install.split()[:1]
    for package in packages:
        depends = subprocess.run(["dpkg-query", "-W", "-f", "${Depends}", package], capture_output=True, text=True,
                                 check=True).stdout
        packages += [name for name in re.findall(r"([a-z][a-z0-9.+-]+)(?: \([^)]*\))?(?:,|$| \|)", depends)
                     if name not in packages and name.startswith("lib")]
    module = opserve._core.__file__
    needed = re.findall(r"NEEDED +(\S+)", subprocess.run(["objdump", "-p", module], capture_output=True, text=True,
                                                         check=True).stdout)
    assert any(name.startswith("libgrpc++") for name in needed)
    owned = subprocess.run(["dpkg-query", "-L", *packages], capture_output=True, text=True, check=True).stdout
    names = {pathlib.Path(path).name for path in owned.splitlines()}
    assert [name for name in needed if name not in names] == []
