#!/usr/bin/python3
"""The unit under a systemd of its own: it starts, finds its GPU, is reloaded, watched, and stopped.

systemd 252 or later runs as the first process of new namespaces, over a copy of this machine's files (a layer takes what
is written) and below control groups of its own, with the unit and what that needs alone. Skipped where the machine does
not let it, unless OPSERVE_REQUIRE has systemd.

    systemd_boot_test.py --build FOLDER [--gpu]
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from isolation import unshare  # pylint: disable=wrong-import-position

INIT = "/lib/systemd/systemd"
UNIT = ROOT / "deploy" / "systemd" / "opserve.service"
# Where the unit has its programs.
PREFIX = pathlib.Path("/usr/local")
COMMAND = PREFIX / "bin" / "opserve"
SOCKET = "unix:/run/opserve/socket"
LOG = "/run/opserve.log"
LIMIT_S = 60
# Longer than a busy machine keeps the server from telling that it lives, and all that the test waits for.
WATCHDOG_S = 4
# All of a machine's units but those that only order others.
NEEDED_UNITS = re.compile(r"\.(target|slice)$|^-\.mount$")
# A group of the unit's, which it may so give its socket files to.
GROUP = "render"
SETTINGS = (f'listen = ["{SOCKET}"]\nallow-software-adapters = true\n'
            f'socket-mode = "0660"\nsocket-group = "{GROUP}"\n')
DROP_IN = f"[Service]\nStandardOutput=append:{LOG}\nStandardError=append:{LOG}\nWatchdogSec={WATCHDOG_S}\nRestartSec=0\n"
TARGET = "[Unit]\nRequires=basic.target opserve.service\nAfter=basic.target\n"


def run(*command, check=True):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=LIMIT_S,
                          stdin=subprocess.DEVNULL, check=False)
    if check and done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def expect(is_so, what):
    if not is_so:
        sys.exit(f"not so: {what}")


def hierarchies():
    """Where control groups are mounted: (path, type, options that make the same mount)."""
    found = []
    for line in pathlib.Path("/proc/mounts").read_text(encoding="ascii").splitlines():
        _, path, kind, options, *_ = line.split()
        if kind in ("cgroup", "cgroup2") and path.startswith("/sys/fs/cgroup"):
            own = [option for option in options.split(",") if option not in ("rw", "relatime", "nosuid", "nodev", "noexec")]
            # Where tasks need settings before they may enter.
            if "cpuset" not in own:
                found.append((pathlib.Path(path), kind, ",".join(["none", *own] if "name=systemd" in own else own)))
    return found


@contextlib.contextmanager
def own_groups(name):
    """Groups of this name in every hierarchy, and the words that make a shell enter them."""
    groups = [path / name for path, _, _ in hierarchies()]
    try:
        for group in groups:
            group.mkdir()
        yield "; ".join(f"echo $$ > {group}/cgroup.procs" for group in groups)
    finally:
        for group in groups:
            for folder, _, _ in os.walk(group, topdown=False):
                deadline = time.monotonic() + LIMIT_S
                # Until the last process is gone.
                while os.path.isdir(folder) and time.monotonic() < deadline:
                    with contextlib.suppress(OSError):
                        os.rmdir(folder)


def install(build, prefix):
    """The programs and modules of `build`, which may be where units see nothing, such as /tmp or a home."""
    for part in ("bin/opserve-server", "bin/opserve", "lib/opserve"):
        place = prefix / part
        place.parent.mkdir(parents=True, exist_ok=True)
        if (build / part).is_dir():
            shutil.copytree(build / part, place, dirs_exist_ok=True)
        else:
            shutil.copy2(build / part, place)


def become_init(folder, build):
    """Makes the machine of the first process in `folder`, and becomes systemd."""
    root = folder / "root"
    run("mount", "-t", "tmpfs", "tmpfs", folder)
    for name in ("upper", "work", "root"):
        (folder / name).mkdir()
    run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={folder / 'upper'},workdir={folder / 'work'}", root)
    install(build, root / PREFIX.relative_to("/"))
    run("mount", "-t", "proc", "proc", root / "proc")
    run("mount", "--bind", "/sys", root / "sys")
    for path, mode in (("sys/fs/cgroup", 755), ("run", 755), ("tmp", 1777), ("dev", 755)):
        run("mount", "-t", "tmpfs", "-o", f"mode={mode}", "tmpfs", root / path)
    for path, kind, options in hierarchies():
        place = root / path.relative_to("/")
        place.mkdir(exist_ok=True)
        run("mount", "-t", kind, *(["-o", options] if options else []), kind, place)
    for device in ("null", "zero", "full", "random", "urandom"):
        (root / "dev" / device).touch()
        run("mount", "--bind", f"/dev/{device}", root / "dev" / device)
    (root / "dev" / "shm").mkdir(mode=0o1777)
    # udev's package makes the group where there is real hardware.
    if run("chroot", root, "getent", "group", GROUP, check=False).returncode != 0:
        run("chroot", root, "groupadd", "--system", GROUP)
    units = root / "etc/systemd/system"
    shutil.rmtree(units, ignore_errors=True)
    units.mkdir(parents=True)
    for file in pathlib.Path("/lib/systemd/system").iterdir():
        if not NEEDED_UNITS.search(file.name) and not file.is_dir():
            (units / file.name).symlink_to("/dev/null")
    for path, content in (("opserve.service", UNIT.read_text(encoding="utf-8")), ("opserve.service.d/test.conf", DROP_IN), ("test.target", TARGET)):
        (units / path).parent.mkdir(exist_ok=True)
        (units / path).write_text(content, encoding="utf-8")
    (root / "etc/opserve").mkdir(exist_ok=True)
    (root / "etc/opserve/opserve-server.toml").write_text(SETTINGS, encoding="utf-8")
    os.chroot(root)
    os.chdir("/")
    os.execve(INIT, [INIT, "--system", "--unit=test.target", "--log-target=console", "--show-status=0"],
              {"container": "other", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})


class Machine:
    """The machine whose first process is a child of `parent`."""

    def __init__(self, parent):
        self._parent = parent

    def run(self, *command, check=False):
        return run("nsenter", "--target", self._init(), "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--root", "--wd",
                   *command, check=check)

    def _init(self):
        """The number of its first process, out here."""
        children = pathlib.Path(f"/proc/{self._parent.pid}/task/{self._parent.pid}/children")
        deadline = time.monotonic() + LIMIT_S
        while not (init := children.read_text(encoding="ascii").split()):
            expect(self._parent.poll() is None and time.monotonic() < deadline, "systemd runs")
            time.sleep(0.01)
        return init[0]

    def state(self, name):
        return self.run("systemctl", "show", "--value", "--property", name, "opserve").stdout.strip()

    def log(self):
        return self.run("cat", LOG).stdout

    def wait(self, is_so, what):
        deadline = time.monotonic() + LIMIT_S
        while not is_so():
            expect(time.monotonic() < deadline, f"{what}\n{self.run('systemctl', 'status', 'opserve').stdout}{self.log()}")
            time.sleep(0.05)


def use(machine, arguments):
    machine.wait(lambda: machine.state("ActiveState") == "active", "the unit becomes active")
    expect(machine.run(COMMAND, "health", "--address", SOCKET).returncode == 0, "the server serves")
    for name in ("socket", "socket.regions"):
        shown = machine.run("stat", "--format=%a %G", f"/run/opserve/{name}").stdout.strip()
        expect(shown == f"660 {GROUP}", f"{name} is for its group: {shown}")
    if arguments.gpu:
        machine.wait(lambda: re.search(r"GPU \(software\) .*READY", machine.run(COMMAND, "devices", "--address", SOCKET).stdout),
                     "the server finds its GPU in its sandbox")
    status = machine.run("cat", f"/proc/{machine.state('MainPID')}/status", check=True).stdout
    for line in (r"CapEff:\t0+$", r"NoNewPrivs:\t1$", r"Seccomp:\t2$"):
        expect(re.search(line, status, re.M), f"{line} of the server\n{status}")
    expect(not re.search(r"^Uid:\t0\b", status, re.M), "the server has a user of its own")

    machine.run("systemctl", "reload", "opserve", check=True)
    expect(machine.state("ActiveState") == "active", "the server lives after a reload")

    expect(machine.state("NRestarts") == "0", f"the server was not started anew yet\n{machine.log()}")
    machine.run("systemctl", "kill", "--signal=STOP", "opserve", check=True)
    machine.wait(lambda: machine.state("NRestarts") != "0" and machine.state("ActiveState") == "active",
                 "a server that does not move is ended and started anew")

    machine.run("systemctl", "stop", "opserve", check=True)
    expect(machine.state("Result") == "success" and machine.state("ExecMainStatus") == "0",
           f"the server ends well: {machine.state('Result')}, {machine.state('ExecMainStatus')}\n{machine.log()}")
    expect(not machine.run("ls", "/run/opserve/socket").stdout, "the socket file is gone")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path, metavar="FOLDER", help="it has bin/ and lib/")
    parser.add_argument("--gpu", action="store_true", help="it must find a GPU")
    parser.add_argument("--become-init", type=pathlib.Path, metavar="FOLDER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.become_init:
        become_init(arguments.become_init, arguments.build)
    words = unshare("systemd")
    with tempfile.TemporaryDirectory(prefix="opserve-systemd-") as folder, \
            own_groups(pathlib.Path(folder).name) as enter, tempfile.TemporaryFile() as console:
        init = ["exec", *words, sys.executable, __file__, "--build", str(arguments.build), "--become-init", folder]
        with subprocess.Popen(["sh", "-c", f"{enter}; {' '.join(init)}"], stdin=subprocess.DEVNULL, stdout=console,
                              stderr=subprocess.STDOUT) as parent:
            try:
                machine = Machine(parent)
                machine.wait(lambda: machine.run("systemctl", "show").returncode == 0, "systemd answers")
                use(machine, arguments)
            except SystemExit:
                console.seek(0)
                sys.stderr.write(console.read().decode(errors="replace"))
                raise
            finally:
                parent.send_signal(signal.SIGKILL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
