"""Calls of the operator service by clients that behave as no gRPC library does."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testing"))
from http2_caller import Http2Caller, framed  # noqa: E402  (the path is set above)


def varint(value):
    """A number as protobuf writes it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, data):
    """A length-delimited field of a protobuf message, or a number."""
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(message):
    """The length-delimited fields and the numbers of a message, by field number; the last counts."""
    found = {}
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            value |= (message[at] & 0x7F) << shift
            shift += 7
            at += 1
            if message[at - 1] < 0x80:
                return value

    while at < len(message):
        key = number()
        value = number()
        if key & 7 == 2:
            value, at = message[at:at + value], at + value
        found[key >> 3] = value
    return found


class OperatorCaller(Http2Caller):
    """A connection to the operator service."""

    def begin(self, method, message, client="attacker"):
        """Sends a request; its stream."""
        return self.call(f"/opserve.v1.OperatorService/{method}", framed(message),
                         [("opserve-client", client)])

    def ask(self, method, message, client="attacker"):
        """The status of a call, and the message that answers it."""
        stream = self.begin(method, message, client)
        return self.wait(stream), self.answers.get(stream, b"")[5:]


def uint8_desc(count):
    """TensorDesc of `count` values of type UINT8."""
    return field(2, 5) + field(3, varint(count))
