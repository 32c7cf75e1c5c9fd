#!/usr/bin/env python3
"""More connections than the server may have descriptors, and connections that say nothing."""

import resource
import time

import attack
from raw_http2 import connect, is_closed_within, is_healthy

DESCRIPTORS = 1024
CONNECTIONS = 1300
ANSWER_LIMIT_S = 1
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


def more_than_descriptors(target):
    connections = idle_connections(target, CONNECTIONS)
    # Those that are too many are closed at once.
    if not is_closed_within(connections[-1], ANSWER_LIMIT_S):
        return ["a connection beyond all limits was kept"]
    for connection in connections:
        connection.close()
    begun = time.monotonic()
    while not is_healthy(target.address, target.wrap):
        if time.monotonic() - begun > ANSWER_LIMIT_S:
            return ["new connections are not answered once the others are gone"]
    refusals = target.process.log().count("connection refused")
    return [] if 1 <= refusals <= 30 else [f"{refusals} lines about refused connections"]


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
    attack.run([more_than_descriptors, no_handshake], descriptors=DESCRIPTORS)
