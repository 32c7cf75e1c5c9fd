#!/usr/bin/env python3
"""An identity that takes all it can get, in every way at once, beside one that only makes calls.

It has more connections than it may, and on each of them urgent calls of large tensors, streams and
sequences. Exits with 0 if the modest one gets each answer, and each of them right, the greedy one
never has more than the policy gives it, and each of its refusals says when to try again; with 1 if
not. No time is compared: requests are held because their payloads do not come.
"""

import contextlib
import http.client
import math
import pathlib
import re
import struct
import tempfile
import threading

import attack
from background import Background
from http2_caller import framed
from operator_calls import OperatorCaller, field, fields, varint
from raw_http2 import connect, is_closed_within
from server_process import metrics_address

CONNECTIONS = 8
STREAMS = 4
REQUESTS = 6
BYTES = 16 * attack.MIB
POLICY = f"""
[[client]]
match = "address:{attack.ATTACKER}"
roles = ["execute"]
max_connections = {CONNECTIONS}
max_streams = {STREAMS}
max_concurrent_requests = {REQUESTS}
max_queued_bytes = "{BYTES // attack.MIB}MiB"

[[client]]
match = "address:127.0.0.1"
roles = ["execute", "observe"]
"""
OK, RESOURCE_EXHAUSTED = 0, 8
EXECUTE_STREAM = "/opserve.v1.OperatorService/ExecuteStream"
# Of FLOAT32: a tensor of 1 KiB, and one with which a few requests are too much.
SMALL = 256
LARGE = 3 * attack.MIB // 4
MODEST_CALLS = 100
# For what takes no time, on a machine that has more to do.
WAIT_LIMIT_S = 60
# In which ways the greedy identity is refused, and why.
EXPECTED = {("stream", "TOO_MANY_REQUESTS"),
            *((way, reason) for way in ("call", "sequence", "stream request")
              for reason in ("TOO_MANY_REQUESTS", "TOO_MANY_BYTES"))}


class Work:
    """So many values that are to be rounded, as each of the ways to ask for it; always urgent."""

    OPERATOR = field(1, b"ELEMENT_WISE_ROUND")
    TO_EVEN = field(1, b"RoundingMode") + field(2, b"HALVES_TO_NEAREST_EVEN")
    URGENT = field(8, 3)

    def __init__(self, count):
        values = [i % 1000 + 0.5 for i in range(count)]
        self.payload = struct.pack(f"<{count}f", *values)
        self.answer = struct.pack(f"<{count}f", *map(round, values))
        self._desc = field(2, 1) + field(3, varint(count))

    def announced(self):
        """ExecuteRequest without its payload."""
        return self.OPERATOR + field(4, self.TO_EVEN) + field(5, self._desc) + self.URGENT

    def call(self):
        """ExecuteRequest."""
        return self.announced() + field(16, self.payload)

    def sequence(self):
        """ExecuteSequenceRequest: rounded, and rounded again, which changes nothing."""
        steps = b"".join(field(5, self.OPERATOR + field(2, self.TO_EVEN) + field(3, place))
                         for place in (field(2, 0), field(3, 0)))
        return (field(3, self._desc) + steps + field(6, field(1, 1)) + self.URGENT
                + field(16, self.payload))


class Refusals:
    """What was refused, by (way, reason), and what went wrong. For all threads."""

    def __init__(self):
        self.kinds = set()
        self.wrong = []

    def add(self, way, details):
        """`details`: google.rpc.Status, where there is one."""
        reason = re.search(rb"TOO_MANY_REQUESTS|TOO_MANY_BYTES", details)
        if reason and b"google.rpc.RetryInfo" in details:
            self.kinds.add((way, reason[0].decode()))
        else:
            self.wrong.append(f"{way}: a refusal without a reason or a time: {details!r}")


class GreedyConnection:
    """A connection of the greedy identity, with a stream or none; for one thread at a time."""

    def __init__(self, target, refusals):
        self._caller = OperatorCaller(target.process.address, source=attack.ATTACKER)
        self._refusals = refusals
        self._stream = None
        # Number of the stream's latest request, and how many bytes of its answers were looked at.
        self._id = 0
        self._seen = 0

    def close(self):
        self._caller.close()

    def ask(self, *works):
        """A unary call and a sequence for each of them, all at the same time."""
        begun = []
        for work in works:
            begun.append((work, "call", self._caller.begin("Execute", work.call())))
            begun.append((work, "sequence", self._caller.begin("ExecuteSequence", work.sequence())))
        for work, way, stream in begun:
            status = self._caller.wait(stream)
            answer = self._caller.answers.pop(stream, b"")[5:]
            if status == RESOURCE_EXHAUSTED:
                self._refusals.add(way, self._caller.details.pop(stream, b""))
            elif status != OK or fields(answer).get(16) != work.answer:
                self._refusals.wrong.append(f"{way}: a wrong answer, or status {status}")

    def open_stream(self):
        """Opens the stream."""
        self._stream = self._caller.open(EXECUTE_STREAM)

    def try_stream(self):
        """Opens one more stream than there may be."""
        stream = self._caller.open(EXECUTE_STREAM)
        status = self._caller.wait(stream)
        if status == RESOURCE_EXHAUSTED:
            self._refusals.add("stream", self._caller.details.pop(stream, b""))
        else:
            self._refusals.wrong.append(f"a stream too many: status {status}")

    def ask_on_stream(self, work):
        """A request on the stream; whether it was refused."""
        self._send(field(2, work.announced()) + field(16, work.payload))
        return self._take_answer(work)

    def announce(self, work, count):
        """So many requests on the stream whose payloads do not come, the last of them too many."""
        for _ in range(count):
            self._send(field(2, work.announced()) + field(3, varint(len(work.payload))))
        if not self._take_answer(work):
            self._refusals.wrong.append("a request too many is not refused")

    def cancel_all(self, held):
        """Cancels what was announced, and waits until the `held` ones of it are gone."""
        for number in range(1, self._id + 1):
            self._caller.send(self._stream, framed(field(1, number) + field(4, 1)))
        for _ in range(held):
            self._next_answer()

    def _send(self, message):
        self._id += 1
        self._caller.send(self._stream, framed(field(1, self._id) + message))

    def _take_answer(self, work):
        """Judges the answer to the latest request; whether that was refused."""
        answer = self._next_answer()
        if answer.get(1) != self._id:
            self._refusals.wrong.append(f"request {answer.get(1)} is answered, not {self._id}")
        payload = answer.get(16, b"")
        # A large one comes in pieces.
        while len(payload) < answer.get(4, 0):
            payload += self._next_answer()[16]
        if 3 in answer:
            self._refusals.add("stream request", answer[3])
        elif payload != work.answer:
            self._refusals.wrong.append("stream request: a wrong answer")
        return 3 in answer

    def _next_answer(self):
        """The fields of the stream's next answer."""
        while True:
            data = self._caller.answers.get(self._stream, b"")[self._seen:]
            size = 5 + int.from_bytes(data[1:5], "big")
            if len(data) >= size:
                self._seen += size
                return fields(data[5:size])
            if self._stream in self._caller.statuses or self._caller.is_closed:
                raise ConnectionError("a stream that was taken has ended")
            self._caller.receive()


class Modest(Background):
    """The other identity: one call after the other, for the time of a `with` block."""

    def __init__(self, target):
        self._target = target
        super().__init__()
        self.calls = 0
        self.wrong = []

    def _run(self):
        work = Work(SMALL)
        try:
            with OperatorCaller(self._target.process.address) as caller:
                while not self._is_over.is_set():
                    status, answer = caller.ask("Execute", work.call())
                    if status != OK or fields(answer).get(16) != work.answer:
                        self.wrong.append(f"the modest one gets a wrong answer, or status {status}")
                    self.calls += 1
        except OSError as error:
            self.wrong.append(f"the modest one's connection broke: {error}")
            # Nobody is to wait for more of them.
            self.calls = math.inf


class Usage(Background):
    """What the metrics tell of the greedy identity, again and again; `wrong` where it is too much."""

    # Of the modest one.
    OTHER_CONNECTIONS = 1
    METRICS = {
        "requests": (f'opserve_client_held_requests{{client="{attack.ATTACKER}"}}', REQUESTS),
        "bytes": (f'opserve_client_held_bytes{{client="{attack.ATTACKER}"}}', BYTES),
        "connections": ("opserve_connections", CONNECTIONS + OTHER_CONNECTIONS),
    }

    def __init__(self, target):
        self._address = metrics_address(target.process)
        super().__init__()
        self.samples = 0
        self.wrong = []

    def sample(self):
        """What is held, by name; remembers what is too much."""
        connection = http.client.HTTPConnection(self._address, timeout=WAIT_LIMIT_S)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics")
            page = connection.getresponse().read().decode()
        values = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
        # A client that holds nothing is not there.
        held = {name: float(values.get(key, 0)) for name, (key, _) in self.METRICS.items()}
        self.wrong += [f"{held[name]:.0f} {name}, {most} are allowed"
                       for name, (_, most) in self.METRICS.items() if held[name] > most]
        self.samples += 1
        return held

    def _run(self):
        try:
            while not self._is_over.is_set():
                self.sample()
        except OSError as error:
            self.wrong.append(f"no metrics: {error}")


def connect_too_often(target, wrong):
    """Connections beyond those that the greedy identity may have are closed at once."""
    for _ in range(CONNECTIONS):
        with connect(target.process.address, source=attack.ATTACKER) as connection:
            if not is_closed_within(connection, WAIT_LIMIT_S):
                wrong.append("a connection too many is kept")
                return


def exceed_each_limit(connections, refusals, usage):
    """Takes all that there is of each kind, and then one more in each way."""
    small, large = Work(SMALL), Work(LARGE)
    for connection in connections[:STREAMS]:
        connection.open_stream()
        # It is there once a request on it is answered.
        connection.ask_on_stream(small)
    connections[-1].try_stream()
    holder = connections[0]
    # Payload and result of each count.
    large_held = BYTES // (2 * len(large.payload))
    holder.announce(large, large_held + 1)
    connections[-1].ask(large)
    holder.announce(small, REQUESTS - large_held + 1)
    connections[-1].ask(small)
    held = usage.sample()
    if held["requests"] != REQUESTS or held["bytes"] < large_held * 2 * len(large.payload):
        refusals.wrong.append(f"what is held is told as {held}")
    holder.cancel_all(REQUESTS)


def flood(connection, has_stream, refusals, modest):
    """Takes whatever it can get until the modest identity has made its calls."""
    small, large = Work(SMALL), Work(LARGE)
    most = modest.calls + MODEST_CALLS
    try:
        while modest.calls < most:
            connection.try_stream()
            connection.ask(large, small)
            if has_stream:
                connection.ask_on_stream(large)
    except OSError as error:
        refusals.wrong.append(f"a connection of the greedy one broke: {error}")


def greedy_identity(target):
    refusals = Refusals()
    with contextlib.ExitStack() as stack:
        modest = stack.enter_context(Modest(target))
        connections = [stack.enter_context(contextlib.closing(GreedyConnection(target, refusals)))
                       for _ in range(CONNECTIONS)]
        usage = Usage(target)
        exceed_each_limit(connections, refusals, usage)
        connect_too_often(target, refusals.wrong)
        stack.enter_context(usage)
        threads = [threading.Thread(target=flood,
                                    args=(connection, i < STREAMS, refusals, modest))
                   for i, connection in enumerate(connections)]
        threads.append(threading.Thread(target=connect_too_often, args=(target, refusals.wrong)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f"{modest.calls} calls of the modest one, {usage.samples} samples")
    missing = EXPECTED - refusals.kinds
    wrong = [f"never refused: {sorted(missing)}"] if missing else []
    # The same mistake may have been made a thousand times.
    return wrong + sorted(set(refusals.wrong + modest.wrong + usage.wrong)) + target.verdict()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        policy = pathlib.Path(folder) / "policy.toml"
        policy.write_text(POLICY, encoding="ascii")
        attack.run([greedy_identity], ways=("tcp",),
                   options=("--policy", policy, "--metrics-listen", "127.0.0.1:0"))
