#!/usr/bin/python3
"""Tells how much memory an idle connection costs opserve-server.

Starts a server, opens connections that say no more than HTTP/2 wants, and compares the server's RSS before
and after. The limit on open files must allow for them.
"""

import argparse
import resource
import socket
import subprocess
import tempfile
import time
from pathlib import Path

HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"  # preface, empty SETTINGS


def rss_kib(pid):
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("no VmRSS")


def connect(address):
    connection = socket.create_connection(address)
    connection.sendall(HELLO)
    return connection


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", type=Path, default=Path("build/release/bin/opserve-server"))
    parser.add_argument("--connections", type=int, default=10000)
    options = parser.parse_args()
    limit = options.connections + 100
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, max(limit, most)))
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready"
        server = subprocess.Popen([options.server, "--listen", "127.0.0.1:0", "--devices", "none",
                                   "--log-level", "error", "--ready-file", ready])
        try:
            while not ready.exists():
                time.sleep(0.01)
            host, port = ready.read_text(encoding="ascii").split()[0].rsplit(":", 1)
            before = rss_kib(server.pid)
            connections = [connect((host, int(port))) for _ in range(options.connections)]
            for connection in connections:
                connection.recv(1 << 16)  # the server's SETTINGS: it knows the connection
            after = rss_kib(server.pid)
        finally:
            server.terminate()
            server.wait()
    each = (after - before) / options.connections
    print(f"{options.connections} idle connections: RSS {before} KiB -> {after} KiB, "
          f"{each:.1f} KiB each")


if __name__ == "__main__":
    main()
