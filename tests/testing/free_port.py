"""A port for programs that must be told theirs, or that choose badly.

chromedriver takes one that is free on ::1, and ends where somebody has it on 127.0.0.1.
"""

import pathlib
import random
import socket

RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
UNPRIVILEGED = 1024
TRIES = 100


def free_port():
    """A port on which nobody listens, and which the kernel gives to nobody who does not ask for it by number.

    That it was free a moment ago is not enough: the kernel gives such a port to the next program
    that connects. Where there is no ::1, only 127.0.0.1 counts.
    """
    first_given = int(RANGE.read_text(encoding="ascii").split()[0])
    for _ in range(TRIES):
        port = random.randrange(UNPRIVILEGED, first_given)
        if _can_bind(socket.AF_INET, "127.0.0.1", port) and (
                _can_bind(socket.AF_INET6, "::1", port) or not _can_bind(socket.AF_INET6, "::1", 0)):
            return port
    raise OSError(f"{TRIES} ports from {UNPRIVILEGED} to {first_given} are all in use")


def _can_bind(family, address, port):
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except OSError:
        return False
    return True
