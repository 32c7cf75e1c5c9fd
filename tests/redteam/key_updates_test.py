#!/usr/bin/env python3
"""Clients that change their keys of TLS again and again, on which OpenSSL works before anybody sees a byte."""

import subprocess

import attack
from bystander import Bystander
from server_process import metrics_address

SOURCES = ("127.0.0.2", "127.0.0.3")
MANY = 200_000
# Which the time limit of the metrics port would not end.
MANY_OF_METRICS = 2000
# As of gigabytes that are sent at once.
FEW = 30
LIMIT_S = 120


def outcomes(target, address, count, protocol, version):
    """What became of two connections that change their keys so often at the same time."""
    host, port = address.rsplit(":", 1)
    clients = [subprocess.Popen([target.programs / "key_updates_client", host, port, source, str(count), protocol,
                                 version],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for source in SOURCES]
    for client in clients:
        client.stdout.readline()
    for client in clients:
        client.stdin.write("\n")
        client.stdin.flush()
    return [client.communicate(timeout=LIMIT_S)[0].strip() for client in clients]


def many_of(target, version):
    with Bystander(target) as bystander:
        ends = outcomes(target, target.process.address, MANY, "http2", version)
    wrong = [] if ends == ["ended"] * 2 else [f"{MANY} key updates: {ends}"]
    if "too many frames without messages" not in target.process.log():
        wrong.append("the log does not tell why")
    return wrong + target.verdict() + bystander.verdict()


def many(target):
    return many_of(target, "tls1.3")


def many_renegotiations(target):
    return many_of(target, "tls1.2")


def few(target):
    wrong = []
    for version in ("tls1.3", "tls1.2"):
        ends = outcomes(target, target.process.address, FEW, "http2", version)
        wrong += [] if ends == ["answered"] * 2 else [f"{FEW} key updates of {version}: {ends}"]
    return wrong


def metrics_port(target):
    address = metrics_address(target.process)
    wrong = []
    for version, count, end in (("tls1.3", 0, "answered"), ("tls1.3", MANY_OF_METRICS, "ended"),
                                ("tls1.2", 0, "answered"), ("tls1.2", MANY_OF_METRICS, "ended")):
        ends = outcomes(target, address, count, "http1", version)
        if ends != [end] * 2:
            wrong.append(f"{count} key updates of {version} to the metrics port: {ends}")
    return wrong + target.verdict()


if __name__ == "__main__":
    attack.run([many, many_renegotiations, few, metrics_port], ways=("tls",), options=["--metrics-listen", "127.0.0.1:0"])
