#!/usr/bin/python3
"""Clients that hold connections to the metrics port, and send next to nothing, keep no scrape waiting."""

import socket
import sys
import threading
import time

import attack
from server_process import metrics_address

CONNECTIONS = 300
# Opened anew at a time: fewer than the server holds, which would else be a flood of connections.
ANEW = 40
SCRAPES = 20
SCRAPE_LIMIT_S = 2
# What a connection may take, and a second for a machine that has more to do.
TIME_LIMIT_S = 5 + 1


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), 10)


def scrape(address, opening):
    """The seconds until a whole page is there; None where something else came.

    The lock `opening` keeps the attacker from opening connections before the request is sent: the
    server closes the one that has been silent for longest, and this machine may be slow.
    """
    with opening:
        begun = time.monotonic()
        connection = connect(address)
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    with connection:
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    is_whole = answer.startswith(b"HTTP/1.1 200 ") and b"process_start_time_seconds" in answer
    return time.monotonic() - begun if is_whole else None


def drip(address, opening, is_full, is_over):
    """Holds many connections, sends a byte on each now and then, and opens those anew that are gone."""
    held = []
    while not is_over.is_set():
        with opening:
            for _ in range(min(CONNECTIONS - len(held), ANEW if is_full.is_set() else CONNECTIONS)):
                held.append(connect(address))
                held[-1].setblocking(False)
        is_full.set()
        for connection in list(held):
            try:
                connection.send(b"G")
                if connection.recv(1) == b"":
                    held.remove(connection)
            except BlockingIOError:
                pass
            except OSError:
                held.remove(connection)
        is_over.wait(0.05)
    for connection in held:
        connection.close()


def hold_connections(target):
    address = metrics_address(target.process)
    opening, is_full, is_over = threading.Lock(), threading.Event(), threading.Event()
    attacker = threading.Thread(target=drip, args=(address, opening, is_full, is_over))
    attacker.start()
    try:
        if not is_full.wait(60):
            return ["the attack did not begin"]
        waits = [scrape(address, opening) for _ in range(SCRAPES)]
    finally:
        is_over.set()
        attacker.join()
    if None in waits:
        return [f"{waits.count(None)} of {SCRAPES} scrapes got no page"] + target.verdict()
    slow = [f"a scrape took {max(waits):.1f} s"] if max(waits) > SCRAPE_LIMIT_S else []
    return slow + target.verdict()


def say_nothing(target):
    with connect(metrics_address(target.process)) as connection:
        begun = time.monotonic()
        connection.settimeout(60)
        got = connection.recv(1)
        took = time.monotonic() - begun
    if got or took > TIME_LIMIT_S:
        return [f"a silent connection was ended after {took:.1f} s with {got}"]
    return []


def send_without_end(target):
    with connect(metrics_address(target.process)) as connection:
        answer = b""
        try:
            for _ in range(64):
                connection.sendall(b"GET / HTTP/1.1\r\n" + b"x" * 65536)
            while piece := connection.recv(65536):
                answer += piece
        except OSError:
            pass
    wrong = [f"answered {answer[:40]}"] if answer and b" 431 " not in answer[:20] else []
    return wrong + target.verdict()


if __name__ == "__main__":
    sys.exit(attack.run([hold_connections, say_nothing, send_without_end], ways=("tcp",),
                        options=["--metrics-listen", "127.0.0.1:0"]))
