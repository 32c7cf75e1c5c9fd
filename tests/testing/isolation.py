#!/usr/bin/env python3
"""What a machine lets tests have of their own: a root, networks, a layer above its files, a systemd.

As a program it prints the names of those that this one lets them have, one per line, as OPSERVE_REQUIRE takes them.
"""

import functools
import os
import subprocess

import required

# By name: the options of `unshare`, what must succeed with them, and what cannot be done otherwise.
KINDS = {
    "chroot": (["--root=/"], "true", "cannot run programs in another root"),
    "namespaces": (["--net", "--mount"],
                   "ip link add probe0 type veth peer name probe1 && mount --bind /etc/hosts /etc/hosts",
                   "cannot make networks"),
    # The layer must be of another file system than what lies below it.
    "overlay": (["--mount"],
                "mount -t tmpfs tmpfs /mnt && mkdir /mnt/upper /mnt/work /mnt/root && "
                "mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root",
                "cannot lay files over this machine's"),
    # Control groups as its first process has them, on which systemd insists.
    "systemd": (["--cgroup", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--uts", "--ipc"],
                "test -x /lib/systemd/systemd && grep -qE '^[^ ]+ /sys/fs/cgroup[^ ]* cgroup2? ' /proc/mounts && "
                "mount -t tmpfs tmpfs /mnt && mkdir /mnt/groups && mount -t cgroup2 cgroup2 /mnt/groups && "
                "mkdir /mnt/groups/probe && rmdir /mnt/groups/probe",
                "cannot be ruled by a systemd of their own"),
}
LIMIT_S = 60


@functools.cache
def find(kind):
    """(words, ""): what `unshare` begins with here, as root or as any user; or (None, why it cannot be had)."""
    options, probe, _ = KINDS[kind]
    ways = [["unshare"], ["unshare", "--user", "--map-root-user"]]
    if os.geteuid() != 0:
        ways.reverse()
    whys = []
    for way in ways:
        done = subprocess.run([*way, *options, "sh", "-c", probe], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_S)
        if done.returncode == 0:
            return way, ""
        whys.append(done.stderr.strip() or f"exit code {done.returncode}")
    return None, "; ".join(whys)


def unshare(kind, *options):
    """The words before a command that make it run with something of its own: `options` in place of those of KINDS.

    Ends the program as skipped where this machine does not let tests have that.
    """
    way, why = find(kind)
    if way is None:
        required.skip_without(kind, f"{KINDS[kind][2]}: {why}")
    return [*way, *(options or KINDS[kind][0])]


if __name__ == "__main__":
    for name in KINDS:
        if find(name)[0] is not None:
            print(name)
