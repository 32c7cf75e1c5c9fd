#!/usr/bin/python3
"""The same small calls again and again, of each kind; the server must not grow with their number.

A library that is preloaded into the server counts its heap to the byte. Calls of a kind are made in
rounds; after each, all clients are gone, and what the server then holds is compared from round to
round: growth.py says what is too much. With --expect-leak BYTES the server leaks so much at the end
of each call, which must be found in every kind.

Exits with 0 if all was as it should be, with 1 if not.
"""

import argparse
import mmap
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testing"))
import growth  # noqa: E402  (the path is set above)
from gpu_probe import has_gpu  # noqa: E402
from required import is_required  # noqa: E402
from server_process import ServerProcess  # noqa: E402

# What is called: its name, what steady_client is to do, over which listener, and turns per round.
KINDS = [
    ("plain over TCP", "plain", "tcp", 1000),
    ("plain over a unix socket", "plain", "unix", 1000),
    ("stream", "stream", "tcp", 300),
    ("shared memory", "region", "unix", 300),
    ("resident tensors", "resident", "unix", 300),
    ("sequence", "sequence", "tcp", 1000),
    ("refused", "refused", "tcp", 1000),
    ("late", "late", "tcp", 500),
    ("gpu", "gpu", "tcp", 300),
]
# Clients that are killed while they do everything but use a GPU.
KILLED = "killed clients"
KILLED_CLIENTS = 24
# Lines of steady_client after which one is killed, at most.
KILLED_LINES = 3
# Tensors of killed clients are there for a second more.
LEASES_END_S = 1.5
ROUND_LIMIT_S = 120
# Connections are closed, and what was theirs is freed, a little later.
QUIET_LIMIT_S = 20
QUIET_INTERVAL_S = 0.05


class HeapMeter:
    """What heap_meter.cc counts."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self._memory = mmap.mmap(file.fileno(), 16, prot=mmap.PROT_READ)

    def bytes(self):
        """Bytes on the heap."""
        return struct.unpack_from("q", self._memory)[0]


class Server:
    """The server that is looked at, and the client program that calls it."""

    def __init__(self, process, folder, programs):
        self._meter = HeapMeter(folder / "heap")
        self._proc = pathlib.Path(f"/proc/{process.pid}")
        self._client = programs / "steady_client"
        self.targets = {"tcp": process.address, "unix": f"unix:{folder / 'socket'}"}

    def start_client(self, target, kind, turns):
        return subprocess.Popen([self._client, self.targets[target], kind, str(turns)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def sample(self):
        """What it holds now: bytes of its heap, and what else a call could leave behind."""
        status = (self._proc / "status").read_text(encoding="ascii")
        return {
            "bytes": self._meter.bytes(),
            "mappings": (self._proc / "maps").read_bytes().count(b"\n"),
            "descriptors": len(list((self._proc / "fd").iterdir())),
            "threads": int(status.split("Threads:")[1].split()[0]),
        }

    def wait_until_quiet(self):
        """The sample once four in a row are the same, which they are when no call is under way."""
        deadline = time.monotonic() + QUIET_LIMIT_S
        same, last = 1, self.sample()
        while same < 4 and time.monotonic() < deadline:
            time.sleep(QUIET_INTERVAL_S)
            sample = self.sample()
            same = same + 1 if sample == last else 1
            last = sample
        return last


def calling_round(server, kind, target, turns):
    """A client that takes so many turns; how many it took. Raises where an answer was wrong."""
    client = server.start_client(target, kind, turns)
    _, errors = client.communicate(timeout=ROUND_LIMIT_S)
    if client.returncode != 0:
        raise RuntimeError(f"steady_client ended with {client.returncode}: {errors.strip()}")
    return turns


def kill_after(client, lines):
    """Kills a client once it has written so many lines; its turns. Raises where one was wrong."""
    with client:
        output = "".join(client.stdout.readline() for _ in range(lines))
        client.kill()
        output += client.stdout.read()
        errors = client.stderr.read()
    if errors:
        raise RuntimeError(errors.strip())
    # The last line may be cut off.
    return int(output[:output.rfind("\n")].split()[-1])


def killing_round(server, rng):
    """Clients that are killed amid their turns, two at a time; their turns."""
    turns = 0
    for _ in range(KILLED_CLIENTS // 2):
        clients = [server.start_client(target, "mixed", 1 << 30) for target in server.targets]
        turns += sum(kill_after(client, rng.randint(1, KILLED_LINES)) for client in clients)
    time.sleep(LEASES_END_S)
    return turns


def measure(server, run_round, rounds):
    """Samples after each round: (turns so far, sample)."""
    turns, samples = 0, []
    # The first two fill what is kept for later.
    for number in range(rounds + 2):
        done = run_round()
        if number < 2:
            server.wait_until_quiet()
            continue
        turns += done
        samples.append((turns, server.wait_until_quiet()))
    return samples


def rounds_of(server, arguments, with_gpu):
    """Yields the name of each kind and the function that runs one round of it."""
    rng = random.Random(arguments.seed)
    for name, kind, target, turns in KINDS:
        if kind != "gpu" or with_gpu:
            yield name, lambda k=kind, t=target, n=turns: calling_round(server, k, t, n)
    yield KILLED, lambda: killing_round(server, rng)


def look_at(server, arguments, with_gpu):
    """Measures every kind; returns what is wrong."""
    wrong = []
    for name, run_round in rounds_of(server, arguments, with_gpu):
        samples = measure(server, run_round, arguments.rounds)
        text, is_too_much = growth.verdict_per_turn(samples)
        print(f"{name:<26} {text}", flush=True)
        if is_too_much != (arguments.expect_leak > 0):
            wrong.append(f"{name}: {text}" + ("" if is_too_much else ", but it leaks"))
    return wrong


def preload(arguments, folder):
    """The server's environment."""
    libraries = [arguments.bin / "libheap_meter.so"]
    if arguments.expect_leak > 0:
        libraries.append(arguments.bin / "libsoak_leak.so")
    return {"LD_PRELOAD": ":".join(map(str, libraries)),
            "OPSERVE_HEAP_METER": str(folder / "heap"),
            "OPSERVE_SOAK_LEAK": str(arguments.expect_leak)}


def run(arguments, folder):
    """Starts a server and looks at it; returns what is wrong."""
    process = ServerProcess(
        arguments.bin / "opserve-server", folder,
        ("--listen", f"unix:{folder / 'socket'}", "--devices", "auto", "--allow-software-adapters",
         "--placement", "cpu", "--log-level", "error"), preload(arguments, folder))
    wrong = []
    with process:
        with_gpu = has_gpu(arguments.bin / "opserve", process.address)
        if not with_gpu:
            print("gpu: skipped, this machine has no Direct3D 12 device")
            wrong += ["OPSERVE_REQUIRE names gpu, and there is none"] if is_required("gpu") else []
        wrong += look_at(Server(process, folder, arguments.bin), arguments, with_gpu)
    if process.exit_code != 0:
        wrong.append(f"the server ended with {process.exit_code}:\n{process.log()}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True,
                        help="folder of opserve-server, steady_client and what is preloaded")
    parser.add_argument("--rounds", type=int, default=4,
                        help="of each kind that are compared; default: %(default)s")
    parser.add_argument("--expect-leak", type=int, default=0, metavar="BYTES",
                        help="leak so much per call, and find it")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    arguments = parser.parse_args()
    arguments.bin = arguments.bin.resolve()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="opserve-steady-") as folder:
        wrong = run(arguments, pathlib.Path(folder))
    for problem in wrong:
        print(f"steady: {problem}", file=sys.stderr)
    print("steady: passed" if not wrong else "steady: failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
