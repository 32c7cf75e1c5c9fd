#!/usr/bin/env python3
"""Calls to a full server, and without a valid token, of which only the headers are sent.

Exits with 0 if each was refused without its message, those refusals are no reason to end the
connection, however many there are, and the connection serves once there is room; with 1 if not.
"""

import base64
import struct
import time

import attack
import hpack
from http2_caller import framed
from operator_calls import field, uint8_desc
from raw_http2 import (DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, SETTINGS, call_headers,
                       frame, read_exactly)
from raw_http2 import field as header

SERVICE = b"/opserve.v1.OperatorService/"
WITH_PAYLOAD = (b"Execute", b"ExecuteSequence", b"CreateTensor", b"WriteTensor")
OK, RESOURCE_EXHAUSTED, UNAUTHENTICATED = 0, 8, 16
NO_ERROR = 0
INITIAL_WINDOW_SIZE = 4
# More than the calls of one client that may wait for their messages, and than one connection may
# have at a time.
REFUSED = 4500
AT_ONCE = 100
LIMIT_S = 60

MESSAGE = (field(1, b"ELEMENT_WISE_MODULUS_TRUNCATE") + field(5, uint8_desc(1)) * 2
           + field(16, b"\x05") + field(16, b"\x03"))


class Caller:
    """Calls on one connection, whose frames nothing sends but the test."""

    def __init__(self, connection):
        self._connection = connection
        self._decoder = hpack.Decoder()
        self._next = 1
        # By stream: the fields of the last headers, and with what code the server reset it.
        self.fields = {}
        self.resets = {}

    def close(self):
        self._connection.close()

    def take_no_answers(self):
        """From now on there is no room for the bytes of an answer."""
        self._connection.sendall(frame(SETTINGS, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 0)))

    def begin(self, method, fields=b""):
        """Sends the headers of a call; its stream."""
        stream, self._next = self._next, self._next + 2
        self._connection.sendall(
            frame(HEADERS, stream, call_headers(SERVICE + method) + fields, END_HEADERS))
        return stream

    def send(self, stream, message):
        """Sends the message of a call."""
        self._connection.sendall(frame(DATA, stream, framed(message), END_STREAM))

    def receive(self):
        """Takes a frame."""
        head = read_exactly(self._connection, 9)
        payload = read_exactly(self._connection, int.from_bytes(head[:3], "big"))
        stream = int.from_bytes(head[5:], "big")
        if head[3] == HEADERS:
            self.fields[stream] = dict(self._decoder.decode(payload))
        elif head[3] == RST_STREAM:
            self.resets[stream] = int.from_bytes(payload, "big")

    def wait_for_headers(self, stream):
        """Returns once an answer has begun."""
        while stream not in self.fields:
            self.receive()

    def status(self, stream):
        """Waits for the end of a call; its status."""
        while "grpc-status" not in self.fields.get(stream, ()):
            self.receive()
        return int(self.fields[stream]["grpc-status"])

    def refusal(self, stream):
        """Waits until the server has ended a call of which it has only the headers; its status."""
        while stream not in self.resets:
            self.receive()
        if self.resets[stream] != NO_ERROR:
            raise ConnectionError(f"the call was reset with {self.resets[stream]}")
        return self.status(stream)


def check_refusals(caller):
    """What is wrong with refusals by headers alone, or nothing."""
    wrong = []
    for method in WITH_PAYLOAD:
        stream = caller.begin(method)
        if caller.refusal(stream) != RESOURCE_EXHAUSTED:
            wrong.append(f"{method.decode()} ends with {caller.fields[stream]}")
        if caller.fields[stream].get("grpc-retry-pushback-ms") != "50":
            wrong.append(f"{method.decode()} does not tell when to come again")
        details = caller.fields[stream].get("grpc-status-details-bin", "")
        if b"TOO_MANY_REQUESTS" not in base64.b64decode(details + "=="):
            wrong.append(f"{method.decode()} does not tell why it is refused")
    stream = caller.begin(b"GetServerInfo", header(b"authorization", b"Bearer nonsense"))
    if caller.refusal(stream) != UNAUTHENTICATED:
        wrong.append(f"a token that nobody knows ends with {caller.fields[stream]}")
    return wrong


def refused_uploads(target):
    holder, caller = Caller(target.open()), Caller(target.open())
    holder.take_no_answers()
    held = holder.begin(b"Execute")
    holder.send(held, MESSAGE)
    # Its answer has begun and cannot go on, so the call has the only place.
    holder.wait_for_headers(held)
    wrong = check_refusals(caller)
    with attack.Bystander(target) as bystander:
        for _ in range(REFUSED // AT_ONCE):
            for stream in [caller.begin(b"Execute") for _ in range(AT_ONCE)]:
                if caller.refusal(stream) != RESOURCE_EXHAUSTED:
                    wrong.append(f"a call ends with {caller.fields[stream]}")
    holder.close()
    deadline = time.monotonic() + LIMIT_S
    status = RESOURCE_EXHAUSTED
    while status == RESOURCE_EXHAUSTED and time.monotonic() < deadline:
        stream = caller.begin(b"Execute")
        caller.send(stream, MESSAGE)
        status = caller.status(stream)
    if status != OK:
        wrong.append(f"the connection does not serve any more: {status}")
    return wrong[:5] + target.verdict() + bystander.verdict()


if __name__ == "__main__":
    attack.run([refused_uploads],
               options=("--max-concurrent-requests", "1",
                        "--max-concurrent-requests-per-client", "1"))
