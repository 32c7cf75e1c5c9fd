"""Hosts of opserve, each in a network of its own, and a client's machine that reaches them all.

The script that uses it runs itself once more in fresh namespaces, as root or as any user who may make them: nothing
of this machine's network is seen or changed. Inside, host number i has the address 10.77.i.2, and all of them
together are farm.test.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import isolation  # noqa: E402

INSIDE = "OPSERVE_FARM_NAMESPACES"
PORT = 50051
METRICS_PORT = 9464
NAME = "farm.test"
# The first host, for which make_certificates.sh makes a certificate.
CERTIFIED = "server.test"
# Longest wait for anything; what takes it has failed.
LIMIT_S = 120


def enter_namespaces():
    """Runs this program again where networks can be made. Ends it as skipped where the machine does not allow that."""
    if INSIDE in os.environ:
        return
    words = isolation.unshare("namespaces")
    os.environ[INSIDE] = "1"
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


def run(*command):
    """Runs a program that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def wait_until(condition, what):
    """Waits until `condition` holds."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.02)


def answers(address):
    """Whether somebody takes connections there."""
    host, port = address.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port)), timeout=LIMIT_S):
            return True
    except ConnectionRefusedError:
        return False


class Host:
    """A server in a network of its own, which it keeps when it is started again."""

    def __init__(self, number, program, folder, arguments=()):
        self.number = number
        self.address = f"10.77.{number}.2"
        self.target = f"{self.address}:{PORT}"
        self._link = f"farm{number}"
        self._folder = pathlib.Path(folder) / f"host{number}"
        self._folder.mkdir()
        self._program = program
        self._arguments = arguments
        self._process = None
        # The network lives as long as this program.
        self._network = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"],
                                         stdout=subprocess.PIPE)
        self._network.stdout.readline()
        run("ip", "link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", str(self._network.pid))
        run("ip", "address", "add", f"10.77.{number}.1/30", "dev", self._link)
        run("ip", "link", "set", self._link, "up")
        self._inside("ip", "link", "set", "lo", "up")
        self._inside("ip", "address", "add", f"{self.address}/30", "dev", "eth0")
        self._inside("ip", "link", "set", "eth0", "up")
        # Without questions who is there, packets to a host that is cut off are lost without a word.
        hardware = re.search(r"link/ether (\S+)", self._inside("ip", "link", "show", "eth0")).group(1)
        run("ip", "neighbour", "replace", self.address, "lladdr", hardware, "dev", self._link, "nud", "permanent")

    def _inside(self, *command):
        return run("nsenter", "--net", f"--target={self._network.pid}", *command)

    def start(self, *arguments):
        """Starts the server, with more arguments if need be, and waits until it serves."""
        ready = self._folder / "ready"
        ready.unlink(missing_ok=True)
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                ["nsenter", "--net", f"--target={self._network.pid}", self._program, "--devices=none",
                 f"--listen={self.target}", f"--advertise={self.target}", "--insecure", "--allow-anonymous",
                 f"--metrics-listen={self.address}:{METRICS_PORT}", f"--ready-file={ready}", *self._arguments, *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        wait_until(lambda: ready.exists() or self._process.poll() is not None, f"host {self.number} serves")
        if self._process.poll() is not None:
            raise RuntimeError((self._folder / "log").read_text(encoding="utf-8"))

    def end(self, number=signal.SIGTERM):
        """Ends the server by a signal, and returns its exit code."""
        self.signal(number)
        return self.wait()

    def signal(self, number):
        """Sends the server a signal."""
        self._process.send_signal(number)

    def wait(self):
        """Waits until the server has ended, and returns its exit code."""
        return self._process.wait(LIMIT_S)

    def cut(self):
        """Loses all packets from and to the host."""
        self._inside("ip", "link", "set", "eth0", "down")

    def heal(self):
        """Takes back what `cut` did."""
        self._inside("ip", "link", "set", "eth0", "up")

    def slow(self, rate):
        """Lets the host send no more than `rate`, as `tc` reads it."""
        self._inside("tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "8k", "latency",
                     "10s")

    def answered(self):
        """How many requests the server has answered with success since it was started."""
        return self._sum(r'^opserve_requests_total\{[^}]*code="OK"\} (\d+)')

    def held(self):
        """How many requests the server has accepted and not yet answered."""
        return self._sum(r"^opserve_held_requests (\d+)")

    def _sum(self, metric):
        url = f"http://{self.address}:{METRICS_PORT}/metrics"
        with urllib.request.urlopen(url, timeout=LIMIT_S) as page:
            text = page.read().decode()
        return sum(int(count) for count in re.findall(metric, text, re.M))

    def close(self):
        """Ends what is left, and takes the network apart at once: the next test has one of the same name."""
        subprocess.run(["ip", "link", "delete", self._link], check=False, capture_output=True)
        for process in (self._process, self._network):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        self._network.stdout.close()


class Farm:
    """Three hosts that serve, for the time of a `with` block."""

    def __init__(self, program, folder, count=3, arguments=()):
        run("ip", "link", "set", "lo", "up")
        self.hosts = [Host(i + 1, program, folder, arguments) for i in range(count)]
        names = pathlib.Path(folder) / "hosts"
        lines = [f"{host.address} {NAME} host-{'abc'[i]} {CERTIFIED if i == 0 else ''}" for i, host in enumerate(self.hosts)]
        names.write_text("\n".join(["127.0.0.1 localhost", *lines, ""]), encoding="utf-8")
        run("mount", "--bind", str(names), "/etc/hosts")

    @property
    def targets(self):
        """A target that lists the hosts."""
        return ",".join(host.target for host in self.hosts)

    def answered(self):
        """What each host has answered."""
        return [host.answered() for host in self.hosts]

    def __enter__(self):
        for host in self.hosts:
            host.start()
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            host.close()
        subprocess.run(["umount", "/etc/hosts"], check=False)


class Load:
    """host_load, which calls a target without a pause for the time of a `with` block."""

    def __init__(self, program, target, *arguments):
        self._process = subprocess.Popen([program, f"--target={target}", *arguments], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)

    def _tell(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def outcomes(self):
        """What has come of the calls so far."""
        return self._tell("")

    def pause(self):
        """Begins no more calls; what has come of all so far."""
        return self._tell("pause")

    def go_on(self):
        """Ends a pause."""
        self._tell("go on")

    def await_calls(self, count):
        """Waits until so many more calls have got the right answer."""
        begun = self.outcomes()["right"]
        wait_until(lambda: self.outcomes()["right"] >= begun + count, f"{count} more calls: {self.outcomes()}")

    def finish(self):
        """Ends the calls; what has come of all."""
        self._process.stdin.close()
        outcomes = json.loads(self._process.stdout.readline())
        self._process.wait(LIMIT_S)
        return outcomes

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
