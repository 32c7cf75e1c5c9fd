"""Another client than the attacker, and how long the server keeps it waiting."""

import json
import pathlib
import subprocess
import sys
import threading
import time

from raw_http2 import is_healthy, trust_all

WAIT_LIMIT_S = 2
# Whoever is not answered within this is not answered at all, whatever else the machine has to do.
ANSWER_LIMIT_S = 60
PAUSE_S = 0.02


class Processors:
    """What the threads of some processes have had of the processors so far.

    Linux tells of each thread how long it ran, and how long it was ready to run and waited for a
    processor. Where it does not, both are 0.
    """

    def __init__(self, *pids):
        self._threads = {}
        for pid in pids:
            for file in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
                try:
                    ran, queued, _ = file.read_text(encoding="ascii").split()
                except OSError:
                    # It has ended.
                    continue
                self._threads[file.parent.name] = int(ran) / 1e9, int(queued) / 1e9

    def since(self, before):
        """Seconds that they ran, and that they waited for a processor, since `before`."""
        pairs = [(now, before._threads.get(name, (0, 0))) for name, now in self._threads.items()]
        return (sum(now[0] - then[0] for now, then in pairs),
                sum(now[1] - then[1] for now, then in pairs))


def stall_s(wait_s, ran_s, queued_s):
    """How much of a wait is the server's doing.

    `ran_s`: how long its threads ran meanwhile; `queued_s`: how long they, and the bystander's, were
    ready and found no processor. That part is the machine's doing, which has other work. But while
    one thread of the server keeps others from running, it works itself.
    """
    return min(wait_s, max(ran_s, wait_s - queued_s))


class Bystander:
    """Asks for health again and again, over TCP, for the time of a `with` block.

    It is a process of its own, so that nothing of the test keeps it waiting. `waits` and `stalls`
    are known after the block: how long each call took, and how much of that is the server's doing.
    """

    def __init__(self, target):
        self._command = [sys.executable, __file__, str(target.pid), target.process.address,
                         *(["tls"] if target.wrap else [])]
        self._process = None
        self.waits, self.stalls, self.failures = [], [], 0

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        # It has had its first answer.
        self._process.stdout.readline()
        return self

    def __exit__(self, *_):
        told, _ = self._process.communicate("")
        self.waits, self.stalls, self.failures = json.loads(told)

    def p99_ms(self):
        """The time that all but one in a hundred of its calls took less than."""
        return 1000 * sorted(self.waits)[len(self.waits) * 99 // 100]

    def verdict(self):
        """What is wrong, or nothing."""
        if self.failures:
            return [f"{self.failures} of {len(self.waits)} calls of another client failed"]
        if max(self.stalls) > WAIT_LIMIT_S:
            return [f"the server kept another client waiting for {max(self.stalls):.1f} s"]
        return []


def main(pid, address, wrap):
    """Asks until the standard input ends, then tells what became of it."""
    is_over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), is_over.set())).start()
    waits, stalls, failures = [], [], 0
    while not is_over.is_set():
        before, begun = Processors(pid, "self"), time.monotonic()
        failures += not is_healthy(address, wrap, ANSWER_LIMIT_S)
        waits.append(time.monotonic() - begun)
        stalls.append(stall_s(waits[-1], *Processors(pid, "self").since(before)))
        if len(waits) == 1:
            print(flush=True)
        is_over.wait(PAUSE_S)
    print(json.dumps([waits, stalls, failures]), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], trust_all() if sys.argv[3:] == ["tls"] else None)
