#!/usr/bin/python3
"""Builds the image without a container engine, and runs it: `make check-image`.

    deploy/check-image.py [OPTION]... [Dockerfile]

Each stage of the Dockerfile begins as what debootstrap makes of Debian's packages, and each of its
instructions is carried out there as a container engine would, in a root of its own. Then the program of
the image is started as its user, asked by its own health check until that is content, called by the
command in the image, and stopped by the image's signal, after which it must end with 0.

Needs root, debootstrap, and the package lists of Debian 12; takes as long as a build from nothing.
What this is not: a container engine. Layers, the registry's base image and the engine's own restrictions
are not tried.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUITES = {"debian:bookworm": "bookworm", "debian:bookworm-slim": "bookworm"}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ADDRESS = "127.0.0.1:50051"


def say(text):
    print(f"check-image: {text}", flush=True)


def run(command, **more):
    done = subprocess.run([str(part) for part in command], check=False, stdin=subprocess.DEVNULL, **more)
    if done.returncode != 0:
        sys.exit(f"check-image: exit code {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout


def instructions(text):
    """(name, rest) of each instruction; continued lines are joined, comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name.upper(), " ".join(rest.split())


class Stage:
    """A stage of the Dockerfile: its root, and what its instructions set."""

    def __init__(self, root, base):
        self.root = root
        self.folder = "/"
        self.user = "root"
        self.environment = {"PATH": PATH}
        self.entry = []
        self.arguments = []
        self.health = []
        self.stop_signal = "SIGTERM"
        run(["cp", "-a", base, root])
        # As on this machine: where packages come from, and how names are looked up.
        shutil.rmtree(root / "etc/apt")
        run(["cp", "-a", "/etc/apt", root / "etc"])
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        for name in ("dev", "proc"):
            run(["mount", "--rbind", "--make-rslave", f"/{name}", root / name])

    def command(self, words):
        """A command line that runs in this root as the stage's user."""
        return ["chroot", f"--userspec={self.user}", f"--groups={self._groups()}", str(self.root), "/usr/bin/env",
                "-i", f"--chdir={self.folder}", *(f"{k}={v}" for k, v in self.environment.items()), *words]

    def _groups(self):
        """The numbers of the groups that the user is in."""
        lines = (self.root / "etc/group").read_text(encoding="utf-8").splitlines()
        groups = [line.split(":") for line in lines]
        return ",".join(group[2] for group in groups if self.user in group[3].split(",") or group[0] == self.user)

    def path(self, name):
        return self.root / os.path.join(self.folder, name).lstrip("/")


class Image:
    """Carries out a Dockerfile."""

    def __init__(self, folder, base, context, ccache):
        self._folder = folder
        self._base = base
        self._ccache = ccache
        self._context = context
        self._names = {}
        self.stage = None

    def carry_out(self, name, rest):
        say(f"{name} {rest[:100]}")
        getattr(self, f"_{name.lower()}", self._unknown(name))(rest)

    @staticmethod
    def _unknown(name):
        def fail(_):
            sys.exit(f"check-image: cannot carry out {name}")
        return fail

    def _from(self, rest):
        base, _, name = rest.partition(" AS ")
        if base not in SUITES:
            sys.exit(f"check-image: no base like {base}")
        self.stage = Stage(self._folder / f"stage-{len(self._names)}", self._base)
        self._names[name or str(len(self._names))] = self.stage
        if self._ccache is not None:
            cache = self.stage.root / "root/.cache/ccache"
            cache.mkdir(parents=True)
            run(["mount", "--bind", self._ccache, cache])

    def _workdir(self, rest):
        self.stage.folder = rest
        self.stage.path("").mkdir(parents=True, exist_ok=True)

    def _copy(self, rest):
        words = rest.split()
        source = self._context
        if words[0].startswith("--from="):
            source = self._names[words.pop(0).partition("=")[2]].root
        *names, to = words
        target = self.stage.path(to)
        if to.endswith("/") or len(names) > 1:
            target.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        for name in names:
            path = source / name.lstrip("/")
            # A folder's contents are copied, not itself.
            run(["cp", "-aT" if path.is_dir() else "-a", path, target])

    def _run(self, rest):
        run(self.stage.command(["/bin/sh", "-c", rest]))

    def _user(self, rest):
        self.stage.user = rest

    def _env(self, rest):
        self.stage.environment.update(word.split("=", 1) for word in shlex.split(rest))

    def _expose(self, rest):
        if rest != ADDRESS.rpartition(":")[2]:
            sys.exit(f"check-image: exposes {rest}, and not the port of {ADDRESS}")

    def _stopsignal(self, rest):
        self.stage.stop_signal = rest

    def _healthcheck(self, rest):
        self.stage.health = json.loads(rest.partition("CMD ")[2])

    def _entrypoint(self, rest):
        self.stage.entry = json.loads(rest)

    def _cmd(self, rest):
        self.stage.arguments = json.loads(rest)


def copy_context(folder):
    """The checkout's files, but for those that .dockerignore names."""
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    files = run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                stdout=subprocess.PIPE, text=True)
    for name in filter(None, files.split("\0")):
        parts = [name, *map(str, pathlib.Path(name).parents)]
        if (ROOT / name).exists() and not any(fnmatch.fnmatch(part, glob.removeprefix("**/")) for part in parts
                                              for glob in ignored):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def use(stage):
    """Starts the image's program, asks for its health, calls it, and stops it."""
    say(f"starting {' '.join([*stage.entry, *stage.arguments])} as {stage.user}")
    with subprocess.Popen(stage.command([*stage.entry, *stage.arguments]), stdin=subprocess.DEVNULL) as program:
        for _ in range(100):
            health = subprocess.run(stage.command(stage.health), check=False, stdin=subprocess.DEVNULL,
                                    capture_output=True, text=True)
            if health.returncode == 0 or program.poll() is not None:
                break
            time.sleep(0.2)
        say(f"health: exit code {health.returncode}, {health.stdout.strip() or health.stderr.strip()}")
        called = subprocess.run(stage.command(["opserve", "bench", "--address", ADDRESS, "--duration", "1s"]),
                                check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        say(f"calls for a second: exit code {called.returncode}")
        owner = pathlib.Path(f"/proc/{program.pid}/status").read_text(encoding="utf-8")
        program.send_signal(getattr(signal, stage.stop_signal))
        code = program.wait(60)
        say(f"stopped by {stage.stop_signal}: exit code {code}")
    if re.search(r"^Uid:\s+0\s", owner, re.M):
        sys.exit("check-image: the program runs as root")
    if (health.returncode, called.returncode, code) != (0, 0, 0):
        sys.exit(f"check-image: failed\n{called.stdout}{called.stderr}")


def build_and_use(options, folder):
    (folder / "context").mkdir()
    copy_context(folder / "context")
    base = options.base or folder / "base"
    if options.base is None:
        say("debootstrap")
        mirror = run([ROOT / "deploy/debian-mirror.sh"], stdout=subprocess.PIPE, text=True).strip()
        run(["debootstrap", "--variant=minbase", "bookworm", base, mirror], stdout=subprocess.DEVNULL)
    image = Image(folder, base, folder / "context", options.ccache)
    for name, rest in instructions(options.dockerfile.read_text(encoding="utf-8")):
        image.carry_out(name, rest)
    use(image.stage)
    # The cache is mounted there, and not the image's.
    size = run(["du", "-sxm", "--exclude=ccache", image.stage.root], stdout=subprocess.PIPE, text=True).split()[0]
    say(f"the image is built, serves and stops; its files take {size} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, help="where the roots are made, which may have 3 GiB "
                        "[a temporary folder]")
    parser.add_argument("--keep", action="store_true", help="leave them there")
    parser.add_argument("--base", type=pathlib.Path, help="what debootstrap has made before [made anew]")
    parser.add_argument("--ccache", type=pathlib.Path, help="cache of compiled files to use [none]")
    parser.add_argument("dockerfile", type=pathlib.Path, nargs="?", default=ROOT / "Dockerfile")
    parser.add_argument("--mounted", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        sys.exit("check-image: needs root and debootstrap")
    if options.mounted:
        build_and_use(options, options.folder)
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="opserve-image-", dir=options.folder))
    # What is mounted there is of this process alone, and gone with it.
    more = [f"--{name}={path.resolve()}" for name, path in
            (("folder", folder), ("base", options.base), ("ccache", options.ccache)) if path is not None]
    done = subprocess.run(["unshare", "--mount", sys.executable, __file__, "--mounted", *more, options.dockerfile],
                          check=False, stdin=subprocess.DEVNULL)
    if not options.keep:
        shutil.rmtree(folder)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
