#!/usr/bin/env python3
"""Programs that send descriptors whose closing takes long, over each of the server's socket files.

Such is a TCP connection with bytes that its other end never takes: its last owner waits in close(). Exits with 0 if
others are answered meanwhile and the server ends in time, or if the system does not let the descriptors pass; with 1 if
not.
"""

import os
import socket
import struct
import sys
import tempfile

import attack
from raw_http2 import is_healthy
from region_client import RegionClient

# Nobody waits for as long as this in the test.
LINGER_S = 3600
# More than there are threads that could wait.
CONNECTIONS = 2 * os.cpu_count() + 2
LIMIT_S = 30
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EMPTY_SETTINGS = bytes(3) + b"\x04" + bytes(5)


class SlowDescriptor:
    """A connection that takes an hour to be closed by its last owner."""

    def __init__(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._sender = socket.create_connection(listener.getsockname())
            self._reader, _ = listener.accept()
        self._sender.setblocking(False)
        try:
            while True:
                self._sender.send(bytes(1 << 16))
        except BlockingIOError:
            pass
        self._linger(LINGER_S)

    def _linger(self, seconds):
        self._sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                struct.pack("ii", seconds > 0, seconds))

    def leave(self, connection, data, flags=0):
        """Sends it with some bytes and keeps nothing of it. Whether that was possible."""
        try:
            socket.send_fds(connection, [data], [self._sender.fileno()], flags)
        except OSError:
            # EPERM: the system refuses it. EPIPE: the server has hung up.
            self._linger(0)
            return False
        finally:
            self._sender.close()
        return True


class Attacker:
    """Programs that leave descriptors at the server's sockets, and keep their connections."""

    def __init__(self):
        self._kept = []
        self.passed = 0

    def connect(self, path, kind=socket.SOCK_STREAM, said=b""):
        """A connection, and what is sent first."""
        connection = socket.socket(socket.AF_UNIX, kind)
        connection.settimeout(LIMIT_S)
        connection.connect(path)
        if said:
            connection.sendall(said)
        self._kept.append(connection)
        return connection

    def leave(self, connection, *pieces, flags=0):
        """Sends each of the pieces with a descriptor."""
        for piece in pieces:
            slow = SlowDescriptor()
            self._kept.append(slow)
            self.passed += slow.leave(connection, piece, flags)

    def leave_out_of_band(self, connection):
        """Sends a descriptor out of band, and a byte behind it, which ends the urgency of that."""
        self.leave(connection, b"x", flags=socket.MSG_OOB)
        try:
            connection.sendall(b"y")
        except OSError:
            # The server has hung up.
            pass


def over_calls(attacker, path):
    # With the first bytes, after them, and behind some for which gRPC ends the connection.
    attacker.leave(attacker.connect(path), PREFACE, EMPTY_SETTINGS)
    attacker.leave(attacker.connect(path, said=PREFACE + EMPTY_SETTINGS), EMPTY_SETTINGS)
    attacker.leave(attacker.connect(path, said=b"GET / HTTP/1.1\r\n\r\n"), b"x", b"x")
    attacker.leave_out_of_band(attacker.connect(path, said=PREFACE))


def over_regions(attacker, path):
    # The second ends the connection, so that the third is not received.
    attacker.leave(attacker.connect(path, socket.SOCK_SEQPACKET), b"x", b"", b"x")


def over_metrics(attacker, path):
    attacker.leave(attacker.connect(path), b"GET / HTTP/1.1\r\n", b"x")
    attacker.leave(attacker.connect(path, said=b"GET /metrics HTTP/1.1\r\n\r\n"), b"x", b"x")
    attacker.leave_out_of_band(attacker.connect(path, said=b"GET / HTTP/1.1\r\n"))
    # As much as is read at once, so that the descriptor is not received before the answer.
    line = b"GET /metrics HTTP/1.1\r\nx: "
    connection = attacker.connect(path, said=line + b"x" * (2048 - len(line) - 4) + b"\r\n\r\n")
    attacker.leave(connection, b"x")
    connection.close()


def scrape(path):
    """Whether the metrics come."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LIMIT_S)
        connection.connect(path)
        connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        try:
            return connection.recv(15).startswith(b"HTTP/1.1 200")
        except TimeoutError:
            return False


def shares_memory(path):
    """Whether a program can share memory with the server."""
    try:
        return RegionClient(path).register(4096) is not None
    except TimeoutError:
        return False


def lingering_descriptors(metrics):
    """The attack on a server with its metrics at that socket file."""
    def lingering(target):
        path = target.address.removeprefix("unix:")
        attacker = Attacker()
        with attack.Bystander(target) as bystander:
            for _ in range(CONNECTIONS):
                over_calls(attacker, path)
            over_regions(attacker, path + ".regions")
            over_metrics(attacker, metrics)
            wrong = [] if is_healthy(target.address, timeout=LIMIT_S) else ["calls are not answered"]
            wrong += [] if shares_memory(path + ".regions") else ["memory cannot be shared"]
            wrong += [] if scrape(metrics) else ["the metrics do not come"]
        print(f"{attacker.passed} descriptors were sent", flush=True)
        return wrong + bystander.verdict()
    lingering.__name__ = "lingering_descriptors"
    return lingering


def main():
    with tempfile.TemporaryDirectory() as folder:
        metrics = f"{folder}/metrics"
        attack.run([lingering_descriptors(metrics)], ways=("unix",),
                   options=("--metrics-listen", f"unix:{metrics}"))


if __name__ == "__main__":
    sys.exit(main())
