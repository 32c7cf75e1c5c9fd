"""What the red-team tests share: a server, a bystander who wants answers, and a verdict."""

import argparse
import pathlib
import sys
import tempfile
import time

from bystander import Bystander
from process_memory import rss
from raw_http2 import Flood, open_http2, trust_all

# For those as well that import this module.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testing"))
from server_process import ServerProcess  # noqa: E402  (the path is set above)

MIB = 1 << 20
TLS_FILES = pathlib.Path(__file__).resolve().parent.parent / "data" / "tls"
# Far below what a server takes that lets the attack through, far above what it needs.
RSS_LIMIT = 256 * MIB
ATTACKER = "127.0.0.2"
MEASURED_S = 5


class Target:
    """A running server under attack, over one way to reach it."""

    def __init__(self, process, folder, way, programs):
        self.pid = process.pid
        self.process = process
        # The folder of what was built.
        self.programs = programs
        self.wrap = trust_all() if way == "tls" else None
        self.address = f"unix:{folder}/socket" if way == "unix" else process.address
        self._before = rss(self.pid)

    def open(self):
        """The attacker's connection, from an address of its own."""
        return open_http2(self.address, self.wrap, source=ATTACKER)

    def growth(self):
        """Bytes by which the server has grown."""
        return rss(self.pid) - self._before

    def verdict(self):
        """What is wrong with its size, or nothing."""
        grown = self.growth()
        return [f"the server grew by {grown // MIB} MiB"] if grown > RSS_LIMIT else []


def flood(target, pieces, seconds):
    """Sends `pieces` for so long; wrong is whatever keeps the connection, memory, or others waiting."""
    with Bystander(target) as bystander:
        done = Flood(target.open(), pieces, seconds)
    wrong = [] if done.is_closed else [f"{done.sent_bytes >> 20} MiB were taken"]
    return wrong + target.verdict() + bystander.verdict()


def limited(program, folder, descriptors):
    """A program that runs `program` with at most so many descriptors."""
    script = pathlib.Path(folder) / "limited"
    script.write_text(f'#!/bin/sh\nulimit -n {descriptors}\nexec "{program}" "$@"\n',
                      encoding="ascii")
    script.chmod(0o700)
    return script


def measured(attack):
    """An attack that prints how long others wait while it is tried again and again."""
    def measure(target):
        with Bystander(target) as alone:
            time.sleep(MEASURED_S)
        end = time.monotonic() + MEASURED_S
        with Bystander(target) as beside:
            while time.monotonic() < end:
                try:
                    attack(target)
                except OSError:
                    # It is not let in any more, or thrown out.
                    time.sleep(0.01)
        before, during = alone.p99_ms(), beside.p99_ms()
        print(f"{attack.__name__}: p99 of others {before:.1f} ms alone, {during:.1f} ms beside the "
              f"attack, {during / before:.1f} times (goal: at most 5)", flush=True)
        return beside.verdict()
    measure.__name__ = attack.__name__
    return measure


def run(attacks, ways=("tcp", "unix", "tls"), options=(), descriptors=None):
    """Runs each attack, a function from a Target to what is wrong, over each way, and exits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="folder of opserve-server")
    parser.add_argument("--measure", action="store_true",
                        help="print how long others wait while the attacks go on")
    arguments = parser.parse_args()
    program = (pathlib.Path(arguments.bin) / "opserve-server").resolve()
    failures = 0
    for attack in attacks:
        for way in ways:
            tried = measured(attack) if arguments.measure else attack
            wrong = run_one(program, tried, way, options, descriptors)
            print(f"{attack.__name__} over {way}: {'; '.join(wrong) or 'passed'}", flush=True)
            failures += bool(wrong)
    sys.exit(1 if failures else 0)


def run_one(program, attack, way, options, descriptors):
    """Attacks a server of its own; returns what is wrong."""
    programs = program.parent
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--listen", f"unix:{folder}/socket", "--devices", "none", *options]
        if way == "tls":
            arguments += ["--tls-certificate", TLS_FILES / "certificate.pem",
                          "--tls-key", TLS_FILES / "key.pem"]
        if descriptors:
            program = limited(program, folder, descriptors)
        server = ServerProcess(program, folder, arguments)
        with server:
            try:
                wrong = attack(Target(server, folder, way, programs))
            except OSError as error:
                wrong = [f"the connection broke: {error}"]
        if server.exit_code != 0:
            wrong = [*wrong, f"the server ended with {server.exit_code}"]
        return [*wrong, server.log()] if wrong else []
