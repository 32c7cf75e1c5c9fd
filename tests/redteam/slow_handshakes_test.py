#!/usr/bin/env python3
"""Clients that connect to every listener of the server and send a byte now and then.

Exits with 0 if each connection is ended within the time of its listener, others are served
meanwhile, and the server holds nothing of them afterwards; with 1 if not.
"""

import os
import socket
import ssl
import time

import attack
from raw_http2 import PREFACE, SETTINGS, connect, frame, trust_all
from server_process import metrics_address

CONNECTIONS = 10
# Of connections to gRPC, to the socket of regions as it is set here, and to the metrics port.
HANDSHAKE_LIMIT_S, REGION_LIMIT_S, METRICS_LIMIT_S = 10, 2, 5
# What a loaded machine may take longer.
GRACE_S = 5
PAUSE_S = 0.4


def client_hello():
    """What a TLS client sends first."""
    sent = ssl.MemoryBIO()
    client = trust_all().__self__.wrap_bio(ssl.MemoryBIO(), sent)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return sent.read()


def descriptors(target):
    """Files and sockets that the server has open."""
    return len(os.listdir(f"/proc/{target.pid}/fd"))


def is_unix(target):
    """Whether it is reached by its socket file."""
    return target.address.startswith("unix:")


def to_regions(target):
    """A connection to the socket where memory is registered."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(target.address[5:] + ".regions")
    return connection


def is_ended(connection):
    """Whether the server has ended it; what it sent is dropped."""
    connection.setblocking(False)
    try:
        return connection.recv(1 << 16) == b""
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True


def drip(target, make, data, limit_s):
    """Sends `data` byte by byte on many connections; what is wrong with how they end."""
    before = descriptors(target)
    with attack.Bystander(target) as bystander:
        begun = time.monotonic()
        connections = [make() for _ in range(CONNECTIONS)]
        sent = 0
        while connections and time.monotonic() < begun + limit_s + GRACE_S:
            for connection in list(connections):
                try:
                    if is_ended(connection):
                        raise ConnectionError
                    connection.send(data[sent % len(data):][:1])
                except BlockingIOError:
                    pass
                except OSError:
                    connection.close()
                    connections.remove(connection)
            sent += 1
            time.sleep(PAUSE_S)
        kept = len(connections)
        for connection in connections:
            connection.close()
    wrong = [f"{kept} connections were kept for more than {limit_s + GRACE_S} s"] if kept else []
    deadline = time.monotonic() + GRACE_S
    while descriptors(target) > before and time.monotonic() < deadline:
        time.sleep(0.05)
    left = descriptors(target) - before
    return (wrong + ([f"{left} descriptors are left"] if left > 0 else [])
            + target.verdict() + bystander.verdict())


def slow_handshakes(target):
    data = client_hello() if target.wrap else PREFACE + frame(SETTINGS, 0)
    return drip(target, lambda: connect(target.address), data, HANDSHAKE_LIMIT_S)


def slow_regions(target):
    return drip(target, lambda: to_regions(target), b"x", REGION_LIMIT_S)


def slow_scrapes(target):
    host, port = metrics_address(target.process).rsplit(":", 1)
    return drip(target, lambda: socket.create_connection((host, int(port))),
                b"GET /metrics HTTP/1.1\r\nHost: " + b"x" * 100, METRICS_LIMIT_S)


def slow(target):
    """Over TCP and TLS the handshakes alone; beside the socket file, all other listeners."""
    wrong = slow_handshakes(target)
    return wrong + slow_regions(target) + slow_scrapes(target) if is_unix(target) else wrong


if __name__ == "__main__":
    attack.run([slow], options=("--metrics-listen", "127.0.0.1:0",
                                "--region-idle-limit", str(REGION_LIMIT_S)))
