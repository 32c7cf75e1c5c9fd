#!/usr/bin/python3
"""Packs the Debian packages, and installs, uses and removes them on a copy of this machine.

The copy is this machine's own files with a layer above them that takes what is written: packages find
what they depend on, maintainer scripts run as they would, and nothing stays. Skipped where this process
may not make such a layer, unless OPSERVE_REQUIRE has overlay.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from gpu_probe import has_gpu  # pylint: disable=wrong-import-position
from isolation import unshare  # pylint: disable=wrong-import-position
from server_process import ServerProcess  # pylint: disable=wrong-import-position

LIMIT_S = 240
NAMES = ("libopserve-dev", "opserve", "opserve-server")
UNIT = "/lib/systemd/system/opserve.service"
SETTINGS = "/etc/opserve/opserve-server.toml"
# Where each package must have something.
HAS = {
    "libopserve-dev": ["/usr/include/opserve/client.h", "/usr/lib/cmake/opserve/opserve-config.cmake",
                       "/usr/lib/pkgconfig/opserve.pc", "/usr/lib/libopserve_client.a",
                       "/usr/share/opserve/proto/opserve/v1/operator_service.proto"],
    "opserve": ["/usr/bin/opserve", "/usr/share/man/man1/opserve.1",
                "/usr/share/bash-completion/completions/opserve", "/usr/share/zsh/site-functions/_opserve"],
    "opserve-server": ["/usr/bin/opserve-server", UNIT, SETTINGS],
}
# What all of Debian's tools leave behind, and where this test puts its own.
NOT_OURS = re.compile(r"^/(tmp|run|var/(lib/(dpkg|apt|systemd)|log|cache))(/|$)")


def run(*command):
    """What a command writes, which must end well."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(is_so, what):
    if not is_so:
        sys.exit(f"not so: {what}")


class Machine:
    """This machine's files, with a layer above them in `folder` that takes what is written."""

    def __init__(self, folder):
        self._upper = folder / "upper"
        self.root = folder / "root"
        for name in ("upper", "work", "root"):
            (folder / name).mkdir()
        run("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir=/,upperdir={self._upper},workdir={folder / 'work'}", self.root)
        for name in ("dev", "proc"):
            run("mount", "--rbind", f"/{name}", self.root / name)
        (self.root / "tmp").mkdir(exist_ok=True)

    def command(self, *arguments):
        return ["chroot", self.root, *arguments]

    def run(self, *arguments):
        return run(*self.command(*arguments))

    def has(self, path):
        return (self.root / path.lstrip("/")).exists()

    def written(self):
        """The files of the layer that Debian's own tools do not keep."""
        files = ("/" + str(path.relative_to(self._upper)) for path in self._upper.rglob("*")
                 if path.is_file())
        return sorted(path for path in files if not NOT_OURS.match(path))


class InstalledServer(ServerProcess):
    """The server as its unit starts it, but at a free port."""

    def __init__(self, machine):
        super().__init__("opserve-server", machine.root / "tmp", environment={"XDG_CACHE_HOME": "/tmp"})
        unit = (machine.root / UNIT.lstrip("/")).read_text(encoding="utf-8")
        start = re.search(r"^ExecStart=(.*)$", unit, re.M).group(1).split()
        expect(start == ["/usr/bin/opserve-server", "--config", SETTINGS], f"the unit starts {start}")
        self._command = machine.command(*start, "--allow-software-adapters", "--listen", "127.0.0.1:0",
                                        "--ready-file", "/tmp/ready")


def pack(build, folder):
    """The packages, by name."""
    run("cpack", "--config", build / "CPackConfig.cmake", "-B", folder)
    packages = {run("dpkg-deb", "-f", file, "Package").strip(): file for file in folder.glob("*.deb")}
    expect(sorted(packages) == sorted(NAMES), f"the packages are {sorted(packages)}")
    return packages


def check_fields(packages):
    for name, file in packages.items():
        needs = {need.split()[0] for need in run("dpkg-deb", "-f", file, "Depends").split(", ")}
        expect("libgrpc++1.51" in needs or name == "libopserve-dev" and "libgrpc++-dev" in needs,
               f"{name} needs {needs}")
        listed = run("dpkg-deb", "-c", file)
        for path in HAS[name]:
            expect(f" .{path}\n" in listed, f"{name} has {path}")
    expect(run("dpkg-deb", "--info", packages["opserve-server"], "conffiles").split() == [SETTINGS],
           "the settings are kept when they have been changed")


def use(machine, gpu):
    """Calls the installed server by the installed command, and by a program that is built against the library."""
    words = machine.run("pkg-config", "--cflags", "--libs", "opserve").split()
    machine.run("g++", ROOT / "client" / "example" / "main.cc", "-o", "/tmp/example", *words)
    with InstalledServer(machine) as server:
        at = ("--address", server.address)
        printed = machine.run("/tmp/example", server.address)
        expect(printed.startswith("rounded: -2 -0 0 2 2 4\n"), f"the example prints {printed}")
        expect("SERVING" in machine.run("opserve", "health", *at), "the server is healthy")
        if gpu:
            expect(has_gpu(machine.root / "usr/bin/opserve", server.address), "the GPU joins")
            numpy.save(machine.root / "tmp" / "x.npy", numpy.array([-1.5, 2.5], numpy.float32))
            machine.run("opserve", "run", "ELEMENT_WISE_ROUND", "--device", "gpu", "--input", "/tmp/x.npy",
                        "--attr", "RoundingMode=TOWARD_ZERO", "--output", "/tmp/y.npy", *at)
            rounded = numpy.load(machine.root / "tmp" / "y.npy").tolist()
            expect(rounded == [-1, 2], f"the GPU rounds to {rounded}")
    expect(server.exit_code == 0, f"the server ends with {server.exit_code}: {server.log()}")


def check_settings_stay(machine, package):
    """An administrator's settings survive an update and a removal, but no purge."""
    settings = machine.root / SETTINGS.lstrip("/")
    changed = settings.read_text(encoding="utf-8") + "# changed\n"
    settings.write_text(changed, encoding="utf-8")
    machine.run("dpkg", "--install", package)
    expect(settings.read_text(encoding="utf-8") == changed, "an update keeps the settings")
    machine.run("dpkg", "--remove", "opserve-server")
    expect(not machine.has("/usr/bin/opserve-server"), "removing removes the program")
    expect(settings.read_text(encoding="utf-8") == changed, "removing keeps the settings")


def test(options, folder):
    packages = pack(options.build, folder / "packages")
    check_fields(packages)
    machine = Machine(folder)
    before = machine.written()
    for file in packages.values():
        (machine.root / "tmp" / file.name).write_bytes(file.read_bytes())
    at_machine = {name: f"/tmp/{file.name}" for name, file in packages.items()}
    machine.run("dpkg", "--install", *at_machine.values())
    machine.run("dpkg", "--verify", *NAMES)
    for name in NAMES:
        for path in HAS[name]:
            expect(machine.has(path), f"{path} is installed")
    enabled = "/etc/systemd/system/multi-user.target.wants/opserve.service"
    expect(os.path.lexists(machine.root / enabled.lstrip("/")), "the service starts with the machine")
    use(machine, options.gpu)
    check_settings_stay(machine, at_machine["opserve-server"])
    machine.run("dpkg", "--purge", *NAMES)
    expect(machine.written() == before, f"nothing stays; {machine.written()} does")
    print(f"{len(NAMES)} packages installed, used and removed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="folder of the build")
    parser.add_argument("--gpu", action="store_true", help="there must be a GPU")
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder is not None:
        # The layer must be of another file system than what lies below it.
        run("mount", "-t", "tmpfs", "tmpfs", options.folder)
        test(options, options.folder)
        return
    alone = unshare("overlay")
    with tempfile.TemporaryDirectory(prefix="opserve-debian-") as folder:
        sys.exit(subprocess.run([*alone, sys.executable, __file__, *sys.argv[1:], "--folder", folder],
                                check=False, stdin=subprocess.DEVNULL).returncode)


if __name__ == "__main__":
    main()
