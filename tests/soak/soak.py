#!/usr/bin/env python3
"""Clients come, work, and are killed at random; the server must stay right and not grow.

They make unary calls, streams, sequences, calls in shared memory and on resident tensors, wrong and late
ones, and calls on a GPU where there is one, over TCP and a unix socket, and check every answer. Between
them connections are reset amid a call, and the server is told to read its files again (SIGHUP).

Prints what happened. Exits with 0 if every answer was right and none was lost, if the server's memory
stayed flat in the second half (growth.py says what that is), if no descriptors were left over, and if it
drained in the end; with 1 if not.
"""

import argparse
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / folder)
                for folder in ("testing", "redteam")]
import growth  # noqa: E402  (the path is set above)
from gpu_probe import has_gpu  # noqa: E402
from raw_http2 import DATA, END_HEADERS, EXECUTE, HEADERS, call_headers, frame, open_http2  # noqa: E402
from required import is_required  # noqa: E402
from server_process import ServerProcess  # noqa: E402

# In the first half more clients work than in the second: the server then has all the idle buffers
# and heaps that it keeps for later, and needs no more of them.
WARM_UP_SHARE = 0.5
# So many times the clients.
WARM_UP_CLIENTS = 3
# Mean seconds between two resets of connections, and between two reloads of the server's files.
RESET_INTERVAL_S = 0.5
RELOAD_INTERVAL_S = 5
# What the programs say of an answer that is there, and is not what it must be.
WRONG_WORDS = ("a wrong result", "was not refused", "which nobody sent", "ran on")


class Kinds:
    """The command lines of clients, one of which is drawn for each."""

    def __init__(self, programs, server, socket_path, with_gpu):
        tcp, unix = server.address, f"unix:{socket_path}"
        turns = str(1 << 30)
        steady = programs / "steady_client"
        self._commands = [lambda rng: [programs / "soak_client", tcp, str(rng.randrange(1 << 31))],
                          lambda _: [steady, tcp, "mixed", turns],
                          lambda _: [steady, unix, "mixed", turns]]
        if with_gpu:
            self._commands.append(lambda _: [steady, unix, "gpu", turns])

    def draw(self, rng):
        """The command of the next client."""
        return rng.choice(self._commands)(rng)

    def each(self, rng):
        """One command of every kind."""
        return [command(rng) for command in self._commands]


class Client:
    """A client process; lives for a random time unless it finds something wrong."""

    def __init__(self, command, rng):
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         text=True)
        self._end = time.monotonic() + rng.uniform(0.1, 4)
        self.answers = 0
        self.error = ""
        self._readers = [threading.Thread(target=self._count), threading.Thread(target=self._listen)]
        for reader in self._readers:
            reader.start()

    def _count(self):
        for line in self._process.stdout:
            # A client that is killed may not finish its last line.
            if line.endswith("\n"):
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


def reset_connection(address):
    """Begins a call and resets its connection: RST instead of FIN."""
    connection = open_http2(address)
    connection.sendall(frame(HEADERS, 1, call_headers(EXECUTE), END_HEADERS) + frame(DATA, 1, b"\0"))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Soak:
    """What goes on, and what came of it so far."""

    def __init__(self, arguments, server, kinds, access_log, begun):
        self._arguments = arguments
        self._access_log = access_log
        self._server = server
        self._kinds = kinds
        self._begun = begun
        self._rng = random.Random(arguments.seed)
        self._clients = []
        self._answers_of_ended = 0
        self.killed = self.resets = self.reloads = 0
        self.complaints = []
        self.samples = []

    def answers(self):
        """Right answers of all clients."""
        return self._answers_of_ended + sum(client.answers for client in self._clients)

    def progress(self):
        """How much of the run is over, from 0 to 1."""
        if self._arguments.requests:
            return self.answers() / self._arguments.requests
        return (time.monotonic() - self._begun) / self._arguments.seconds

    def warm_up(self):
        """One client of every kind; what the first ones make stays. The descriptors after them."""
        for command in self._kinds.each(self._rng):
            client = Client(command, self._rng)
            while not client.answers and not client.is_over():
                time.sleep(0.05)
            client.kill()
            self._note(client)
        time.sleep(1)
        return Sample(self._server.pid, self._begun).files

    def run(self):
        """Until the run is over, or something is wrong."""
        next_report = self._begun
        while self.progress() < 1 and not self.complaints:
            self._replace_clients()
            self._disturb()
            sample = Sample(self._server.pid, self._begun)
            self.samples.append((self.progress(), sample))
            if sys.stderr.isatty():
                print(f"\r\033[K{self.progress():6.1%}  {self}", end="", file=sys.stderr, flush=True)
            if sample.time + self._begun >= next_report:
                print(f"{sample.time:6.0f} s  {sample}, {self}", flush=True)
                next_report += max(5, sample.time / 20)
            time.sleep(0.1)
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        for client in self._clients:
            client.kill()
            self._note(client)
        self._clients = []

    def __str__(self):
        return (f"{self.answers()} right answers, {self.killed} clients killed, {self.resets} "
                f"connections reset, {self.reloads} reloads")

    def _replace_clients(self):
        count = self._arguments.clients * (1 if self.progress() > WARM_UP_SHARE else WARM_UP_CLIENTS)
        while len(self._clients) < count:
            self._clients.append(Client(self._kinds.draw(self._rng), self._rng))
        for client in [c for c in self._clients if c.is_over()]:
            self._clients.remove(client)
            self.killed += client.kill()
            self._note(client)

    def _disturb(self):
        if self._rng.random() < 0.1 / RESET_INTERVAL_S:
            reset_connection(self._server.address)
            self.resets += 1
        if self._rng.random() < 0.1 / RELOAD_INTERVAL_S:
            self._reload()

    def _reload(self):
        """As who rotates logs does it: the file has another name, and the server makes a new one."""
        log = pathlib.Path(self._access_log)
        # After two reloads at once there may be no new one yet.
        if log.exists():
            log.replace(log.with_suffix(".old"))
        self._server.signal(signal.SIGHUP)
        self.reloads += 1

    def _note(self, client):
        self._answers_of_ended += client.answers
        if client.error:
            self.complaints.append(client.error.strip())


def soak(arguments, server, kinds, access_log, begun):
    """Runs clients as long as is asked for; returns what went wrong."""
    run = Soak(arguments, server, kinds, access_log, begun)
    files = run.warm_up()
    run.run()
    wrong = list(run.complaints)
    program = pathlib.Path(arguments.bin) / "soak_client"
    if subprocess.run([program, server.address, "empty"], check=False).returncode != 0:
        wrong.append("resident tensors of killed clients are still there")
    last = wait_for_descriptors(server.pid, begun, files)
    print(f"   end    {last}, {run}", flush=True)
    if last.files > files:
        wrong.append(f"{last.files} descriptors are open, {files} were before")
    if run.answers() == 0:
        wrong.append("no client got an answer")
    bad = sum(any(word in text for word in WRONG_WORDS) for text in run.complaints)
    print(f"soak: {bad} wrong, {len(run.complaints) - bad} lost, {run.answers()} right answers in "
          f"{last.time:.0f} s ({run.answers() / last.time:.0f} per second)")
    found, is_too_much = growth.second_half(
        [(progress, sample.rss) for progress, sample in run.samples], run.answers())
    print(f"soak: {found}")
    return wrong + ([found] if is_too_much else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="folder of opserve-server and soak_client")
    parser.add_argument("--seconds", type=float, default=60, help="default: %(default)s")
    parser.add_argument("--requests", type=int, default=0,
                        help="stop after so many right answers instead")
    parser.add_argument("--clients", type=int, default=4,
                        help="at a time, more in the first half; default: %(default)s")
    parser.add_argument("--seed", type=int, default=None, help="default: another one each time")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = random.randrange(1 << 31)
    extent = (f"{arguments.requests} requests" if arguments.requests else f"{arguments.seconds:g} s")
    print(f"soak: {extent}, {arguments.clients} clients, seed {arguments.seed}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    programs = pathlib.Path(arguments.bin)
    with tempfile.TemporaryDirectory() as folder:
        path, access_log = (pathlib.Path(folder) / name for name in ("socket", "access.log"))
        server = ServerProcess(
            programs / "opserve-server", folder,
            ("--listen", f"unix:{path}", "--devices", "auto", "--allow-software-adapters",
             "--placement", "cpu", "--access-log", access_log, "--log-level", "error"))
        with server:
            with_gpu = has_gpu(programs / "opserve", server.address)
            if not with_gpu:
                print("gpu: skipped, this machine has no Direct3D 12 device")
            kinds = Kinds(programs, server, path, with_gpu)
            wrong = soak(arguments, server, kinds, access_log, time.monotonic())
            if not with_gpu and is_required("gpu"):
                wrong.append("OPSERVE_REQUIRE names gpu, and there is none")
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
