#!/usr/bin/env python3
"""Clients come, work, and are killed at random; the server must stay right and not grow.

Prints what happened. Exits with 0 if every answer was right, if the server's memory stayed flat after
a warm-up (growth.py says what that is), if no descriptors were left over, and if it drained in the
end; with 1 if not.
"""

import argparse
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testing"))
import growth  # noqa: E402  (the path is set above)
from server_process import ServerProcess  # noqa: E402

# In the first half more clients work than in the second: the server then has all the idle buffers
# and heaps that it keeps for later, and needs no more of them.
WARM_UP_SHARE = 0.5
# So many times the clients.
WARM_UP_CLIENTS = 3


class Client:
    """A client process; lives for a random time unless it finds something wrong."""

    def __init__(self, program, address, rng):
        self._process = subprocess.Popen([program, address, str(rng.randrange(1 << 31))],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._end = time.monotonic() + rng.uniform(0.1, 4)
        self.answers = 0
        self.error = ""
        self._readers = [threading.Thread(target=self._count), threading.Thread(target=self._listen)]
        for reader in self._readers:
            reader.start()

    def _count(self):
        for line in self._process.stdout:
            self.answers = int(line)

    def _listen(self):
        self.error = self._process.stderr.read()

    def is_over(self):
        """Whether its time is up, or it has ended by itself."""
        return time.monotonic() > self._end or self._process.poll() is not None

    def kill(self):
        """kill -9; returns whether it was still at work."""
        was_running = self._process.poll() is None
        self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join()
        return was_running


class Sample:
    """What the server takes at one moment."""

    def __init__(self, pid, begun):
        status = dict(line.split(":", 1) for line in
                      pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines())
        self.time = time.monotonic() - begun
        self.rss = int(status["VmRSS"].split()[0]) << 10
        self.threads = int(status["Threads"])
        self.files = len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))

    def __str__(self):
        return f"RSS {self.rss / 2**20:7.1f} MiB, {self.threads} threads, {self.files} descriptors"


def wait_for_descriptors(pid, begun, files):
    """Waits until connections of dead clients are closed; the last sample."""
    deadline = time.monotonic() + 20
    while True:
        sample = Sample(pid, begun)
        if sample.files <= files or time.monotonic() > deadline:
            return sample
        time.sleep(0.1)


def soak(arguments, server, begun):
    """Runs clients for the time given; returns what went wrong."""
    rng = random.Random(arguments.seed)
    program = pathlib.Path(arguments.bin) / "soak_client"
    # The first connection makes descriptors that stay.
    warm_up = Client(program, server.address, rng)
    time.sleep(0.5)
    warm_up.kill()
    files = wait_for_descriptors(server.pid, begun, 0 if arguments.seconds < 1 else 1 << 30).files
    clients, samples, wrong = [], [], []
    killed = answers = 0
    next_report = begun
    while time.monotonic() - begun < arguments.seconds and not wrong:
        is_warm = time.monotonic() - begun > arguments.seconds * WARM_UP_SHARE
        while len(clients) < arguments.clients * (1 if is_warm else WARM_UP_CLIENTS):
            clients.append(Client(program, server.address, rng))
        for client in [c for c in clients if c.is_over()]:
            clients.remove(client)
            killed += client.kill()
            answers += client.answers
            if client.error:
                wrong.append(client.error.strip())
        samples.append(Sample(server.pid, begun))
        if time.monotonic() >= next_report:
            print(f"{samples[-1].time:6.0f} s  {samples[-1]}, {answers} right answers, "
                  f"{killed} clients killed", flush=True)
            next_report += max(5, arguments.seconds / 20)
        time.sleep(0.1)
    for client in clients:
        client.kill()
        answers += client.answers
        if client.error:
            wrong.append(client.error.strip())
    if subprocess.run([program, server.address, "empty"], check=False).returncode != 0:
        wrong.append("resident tensors of killed clients are still there")
    last = wait_for_descriptors(server.pid, begun, files)
    print(f"   end    {last}, {answers} right answers, {killed} clients killed", flush=True)
    if last.files > files:
        wrong.append(f"{last.files} descriptors are open, {files} were before")
    if answers == 0:
        wrong.append("no client got an answer")
    found, is_too_much = growth.verdict(
        [(s.time, s.rss) for s in samples if s.time > arguments.seconds * WARM_UP_SHARE])
    print(f"soak: {found}")
    return wrong + ([found] if is_too_much else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="folder of opserve-server and soak_client")
    parser.add_argument("--seconds", type=float, default=60, help="default: %(default)s")
    parser.add_argument("--clients", type=int, default=4,
                        help="at a time, more in the first half; default: %(default)s")
    parser.add_argument("--seed", type=int, default=None, help="default: another one each time")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = random.randrange(1 << 31)
    print(f"soak: {arguments.seconds:g} s, {arguments.clients} clients, seed {arguments.seed}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(pathlib.Path(arguments.bin) / "opserve-server", folder,
                               ("--devices", "none", "--log-level", "error"))
        with server:
            wrong = soak(arguments, server, time.monotonic())
        if server.exit_code != 0:
            wrong.append(f"the server ended with {server.exit_code}")
        if server.log().strip():
            wrong.append(f"the server complained:\n{server.log().strip()}")
    for problem in wrong:
        print(f"soak: {problem}", file=sys.stderr)
    print("soak: passed" if not wrong else "soak: failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
