#!/usr/bin/env python3
"""More connections than the server may have descriptors, and connections that say nothing."""

import os
import pathlib
import resource
import time

import attack
from raw_http2 import PREFACE, SETTINGS, connect, frame, is_closed_within, is_healthy

DESCRIPTORS = 1024
CONNECTIONS = 1300
# Within this, connections are answered again: long enough for a machine that has more to do, and
# well before the limit on handshakes would free anything.
ANSWER_LIMIT_S = 5
HANDSHAKE_LIMIT_S = 10


def idle_connections(target, count):
    """So many connections as can be made."""
    connections = []
    for _ in range(count):
        try:
            connections.append(connect(target.address, 2))
        except OSError:
            pass
    return connections


def is_answered(target):
    """Whether a new connection is answered soon, now that there are descriptors."""
    deadline = time.monotonic() + ANSWER_LIMIT_S
    while not is_healthy(target.address, target.wrap):
        if time.monotonic() > deadline:
            return False
    return time.monotonic() <= deadline


def more_than_descriptors(target):
    connections = idle_connections(target, CONNECTIONS)
    # Those that are too many are closed at once.
    if not is_closed_within(connections[-1], ANSWER_LIMIT_S):
        return ["a connection beyond all limits was kept"]
    for connection in connections:
        connection.close()
    if not is_answered(target):
        return ["new connections are not answered once the others are gone"]
    refusals = target.process.log().count("connection refused")
    return [] if 1 <= refusals <= 30 else [f"{refusals} lines about refused connections"]


def cpu_seconds(pid):
    """CPU time that the process has taken."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def no_descriptors_left(target):
    limits = resource.prlimit(target.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(target.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    waiting = connect(target.address)
    before = cpu_seconds(target.pid)
    waiting.settimeout(1)
    try:
        if target.wrap is None:
            waiting.sendall(PREFACE + frame(SETTINGS, 0))
        if waiting.recv(1):
            return ["a connection was taken without descriptors"]
    except TimeoutError:
        pass
    # Whoever asks without a pause takes the whole second.
    if cpu_seconds(target.pid) - before > 0.3:
        return ["the server is busy with a connection that it cannot take"]
    resource.prlimit(target.pid, resource.RLIMIT_NOFILE, limits)
    if not is_answered(target):
        return ["connections are not answered once there are descriptors again"]
    return []


def no_handshake(target):
    connections = idle_connections(target, 20)
    begun = time.monotonic()
    with attack.Bystander(target) as bystander:
        kept = sum(not is_closed_within(c, max(0.1, begun + HANDSHAKE_LIMIT_S + 5 - time.monotonic()))
                   for c in connections)
    wrong = [f"{kept} connections that say nothing were kept"] if kept else []
    return wrong + bystander.verdict()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    attack.run([more_than_descriptors, no_descriptors_left, no_handshake], descriptors=DESCRIPTORS)
