"""Runs opserve-server for the scripts under tests/."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time


class ServerProcess:
    """opserve-server on a free loopback port, for the time of a `with` block.

    `folder` takes the ready file and the log; `environment` is added to this process's own; `listen` are other
    addresses to listen at, or none where `arguments` name them; `runner` is a command that runs the program in its own
    place. `address` is the first where the server listens; `exit_code` is known after the block, which stops the server
    as an operator would: SIGTERM, then wait.
    """

    START_LIMIT_S = 60
    STOP_LIMIT_S = 60

    def __init__(self, program, folder, arguments=(), environment=None, listen=("127.0.0.1:0",),
                 runner=()):
        self._ready_file = pathlib.Path(folder) / "ready"
        self._log_path = pathlib.Path(folder) / "server.log"
        self._command = [*runner, program, *(f"--listen={address}" for address in listen),
                         "--ready-file", self._ready_file, *arguments]
        self._environment = {**os.environ, **(environment or {})}
        self._process = None
        self.address = None
        self.exit_code = None

    def log(self):
        """What the server wrote so far."""
        return self._log_path.read_text(encoding="utf-8", errors="replace")

    @property
    def pid(self):
        """The process's number."""
        return self._process.pid

    def signal(self, number):
        """Sends the server a signal."""
        self._process.send_signal(number)

    @contextlib.contextmanager
    def stopped(self):
        """For the time of a `with` block, the server runs nothing. Not on Windows."""
        self.signal(signal.SIGSTOP)
        try:
            # The others of its threads run on until the one that gets the signal has a processor.
            os.waitid(os.P_PID, self.pid, os.WSTOPPED)
            yield
        finally:
            self.signal(signal.SIGCONT)

    def wait(self):
        """Waits until the server has ended without another signal; its exit code."""
        self.exit_code = self._process.wait(self.STOP_LIMIT_S)
        return self.exit_code

    def __enter__(self):
        with open(self._log_path, "wb") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=subprocess.STDOUT, env=self._environment)
        deadline = time.monotonic() + self.START_LIMIT_S
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._stop()
                raise RuntimeError(f"the server did not start:\n{self.log()}")
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self._stop()

    def _ready(self):
        if self._ready_file.exists():
            text = self._ready_file.read_text(encoding="utf-8")
            self.address = text.split()[0] if text.endswith("\n") else None
        return self.address is not None

    def _stop(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self.exit_code = self._process.wait(self.STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self.exit_code = self._process.wait()


def metrics_address(server):
    """Where a ServerProcess with --metrics-listen offers its metrics."""
    return re.search(r"\bmetrics=(\S+)", server.log()).group(1)
