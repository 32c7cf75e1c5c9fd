#!/usr/bin/env python3
"""Messages above every limit, many at once of those that are allowed, and one that is hardly sent.

Exits with 0 if the server never holds them, tells why it refuses them, and goes on with the other
calls of the connections; with 1 if not.
"""

import base64
import re
import struct
import time

import attack
from http2_caller import framed
from operator_calls import OperatorCaller
from raw_http2 import DATA, END_STREAM, frame
from refused_uploads_test import Caller, MESSAGE

MIB = 1 << 20
LARGEST = 8 * MIB
OF_CLIENT = 32 * MIB
HUGE = 1 << 30
UPLOAD = 128 * MIB
CALLS = 8
OK, INVALID_ARGUMENT, RESOURCE_EXHAUSTED = 0, 3, 8
# HTTP/2's first window: what may be sent before the server makes room.
WINDOW = 65535
FRAME = 16384
GROWTH = 48 * MIB
# What comes beside a byte of a message that is hardly sent, and at most in all.
BESIDE = 60_000
MOST_SENT = 160 * MIB
LIMIT_S = 60


class Uploader(Caller):
    """Calls whose messages are sent by and by."""

    def announce(self, stream, count, cut=None):
        """Sends the prefix of a message and what the first window has room for.

        `cut`: after so many bytes of it the server is left to read.
        """
        data = struct.pack(">BI", 0, count) + bytes(min(count, WINDOW - 5))
        if cut is None:
            self._connection.sendall(b"".join(frame(DATA, stream, data[at:at + FRAME])
                                              for at in range(0, len(data), FRAME)))
            return
        first = frame(DATA, stream, data[:FRAME])
        self._connection.sendall(first[:9 + cut])
        # Should the server not have read by then, nothing is cut, and the call ends with its text.
        time.sleep(0.05)
        self._connection.sendall(first[9 + cut:] + frame(DATA, stream, data[FRAME:2 * FRAME]))

    def send_frames(self, frames):
        """Sends them at once."""
        self._connection.sendall(b"".join(frames))

    def end(self, stream):
        """Waits until the server has ended a call of which it has not all; how: its fields."""
        while stream not in self.resets:
            self.receive()
        return self.fields.get(stream, {})


def serves(caller):
    """Whether a call on the connection has its result."""
    stream = caller.begin(b"Execute")
    caller.send(stream, MESSAGE)
    return caller.status(stream) == OK


def huge_messages(target):
    """What gRPC would wait for: messages of a GiB, several at once on several connections."""
    wrong = []
    before = target.growth()
    callers = [Uploader(target.open()) for _ in range(4)]
    with attack.Bystander(target) as bystander:
        for caller in callers:
            streams = [caller.begin(method) for method in (b"Execute", b"ExecuteStream") * CALLS]
            for stream in streams:
                caller.announce(stream, HUGE)
            for stream in streams:
                fields = caller.end(stream)
                text = fields.get("grpc-message", "")
                if (fields.get("grpc-status") != str(RESOURCE_EXHAUSTED)
                        or not re.search(f"{HUGE} bytes.*at most {LARGEST}", text)):
                    wrong.append(f"a message of a GiB ends with {fields}")
            if not serves(caller):
                wrong.append("the connection does not serve any more")
    grown = target.growth() - before
    print(f"{len(callers) * 2 * CALLS} messages of a GiB: the server grew by {grown // MIB} MiB",
          flush=True)
    if grown > GROWTH:
        wrong.append("the server grew by too much")
    return wrong[:5] + bystander.verdict()


def upload(target):
    """A message of many times the limit, sent as fast as the server makes room for it."""
    if target.address != target.process.address or target.wrap:
        # The caller speaks nothing else.
        return []
    with OperatorCaller(target.address, source=attack.ATTACKER) as caller:
        status, _ = caller.ask("Execute", bytes(UPLOAD))
        grown = target.growth()
    print(f"a message of {UPLOAD // MIB} MiB: the server grew by {grown // MIB} MiB", flush=True)
    wrong = [] if status == RESOURCE_EXHAUSTED else [f"the message ends with {status}"]
    return wrong + (["the server grew by too much"] if grown > GROWTH else [])


def cut_prefixes(target):
    """The same where the server reads in the middle of what tells the length."""
    wrong = []
    for cut in range(1, 6):
        caller = Uploader(target.open())
        stream = caller.begin(b"Execute")
        caller.announce(stream, HUGE, cut)
        fields = caller.end(stream)
        # Behind the first byte of the length the server cannot tell why, only that.
        if cut in (1, 5) and fields.get("grpc-status") != str(RESOURCE_EXHAUSTED):
            wrong.append(f"a message cut after {cut} bytes ends with {fields}")
        if not serves(caller):
            wrong.append("the connection does not serve any more")
        caller.close()
    return wrong


def is_let_in(caller):
    """Whether one more of the largest messages may come, which does not."""
    stream = caller.begin(b"Execute")
    caller.announce(stream, LARGEST)
    # What is answered behind it was read behind it.
    return serves(caller) and stream not in caller.resets


def many_messages(target):
    """More of the largest messages than one client may send at a time."""
    wrong = []
    holder, others = Uploader(target.open()), [Uploader(target.open()) for _ in range(3)]
    with attack.Bystander(target) as bystander:
        let_in = sum(is_let_in(holder) for _ in range(OF_CLIENT // LARGEST))
        if let_in != OF_CLIENT // LARGEST:
            wrong.append(f"{let_in} messages were let in")
        for caller in others:
            stream = caller.begin(b"Execute")
            caller.announce(stream, LARGEST)
            fields = caller.end(stream)
            details = base64.b64decode(fields.get("grpc-status-details-bin", "") + "==")
            if (fields.get("grpc-status") != str(RESOURCE_EXHAUSTED)
                    or b"TOO_MANY_BYTES" not in details
                    or fields.get("grpc-retry-pushback-ms") != "50"):
                wrong.append(f"one message too many ends with {fields}")
            if not serves(caller):
                wrong.append("the connection does not serve any more")
        holder.close()
        deadline = time.monotonic() + LIMIT_S
        while not is_let_in(others[0]):
            if time.monotonic() > deadline:
                wrong.append("messages count whose connection has ended")
                break
    return wrong[:5] + bystander.verdict()


def hardly_sent(target):
    """A byte of one message now and then, for which gRPC keeps all that it read with it."""
    wrong = []
    caller = Uploader(target.open())
    slow = caller.begin(b"Execute")
    caller.announce(slow, LARGEST)
    # No message, so that the answers need no room of the client's.
    filler = framed(b"\xff" * BESIDE)
    parts = [filler[at:at + FRAME] for at in range(0, len(filler), FRAME)]
    sent = bytes_of_slow = 0
    with attack.Bystander(target) as bystander:
        while slow not in caller.resets and sent < MOST_SENT:
            streams = [caller.begin(b"Execute") for _ in range(CALLS)]
            for stream in streams:
                caller.send_frames([frame(DATA, slow, b"x") + frame(DATA, stream, part)
                                    for part in parts] + [frame(DATA, stream, flags=END_STREAM)])
            for stream in streams:
                if caller.status(stream) != INVALID_ARGUMENT:
                    wrong.append(f"a call ends with {caller.fields[stream]}")
            sent += CALLS * len(filler)
            bytes_of_slow += CALLS * len(parts)
        grown = target.growth()
    print(f"{bytes_of_slow} bytes among {sent // MIB} MiB: the server grew by {grown // MIB} MiB",
          flush=True)
    if slow not in caller.resets:
        wrong.append("the message may come for ever")
    if grown > GROWTH:
        wrong.append("the server grew by too much")
    if not is_let_in(caller):
        wrong.append("the message counts although it has ended")
    return wrong[:5] + bystander.verdict()


if __name__ == "__main__":
    attack.run([huge_messages, upload, cut_prefixes, many_messages, hardly_sent],
               options=("--max-message-bytes", f"{LARGEST // MIB}MiB",
                        "--max-transport-bytes-per-client", f"{OF_CLIENT // MIB}MiB"))
