#!/usr/bin/env python3
"""50,000 calls that never send their message, over several connections."""

import attack
from raw_http2 import END_HEADERS, HEADERS, call_headers, frame, is_closed_within

CONNECTIONS = 32
CALLS = 50000
WAIT_S = 0.5


def calls(count):
    """Yields the beginnings of so many calls."""
    headers = call_headers()
    for first in range(0, count, 100):
        yield b"".join(frame(HEADERS, 2 * call + 1, headers, END_HEADERS)
                       for call in range(first, first + 100))


def half_open_calls(target):
    attackers = [target.open() for _ in range(CONNECTIONS)]
    wrong = []
    with attack.Bystander(target) as bystander:
        for attacker in attackers:
            try:
                for piece in calls(CALLS // CONNECTIONS):
                    attacker.sendall(piece)
            except OSError:
                # That is what should become of it.
                continue
        closed = sum(is_closed_within(attacker, WAIT_S) for attacker in attackers)
    if closed == 0:
        wrong.append(f"{CALLS} calls were taken")
    return wrong + target.verdict() + bystander.verdict()


if __name__ == "__main__":
    attack.run([half_open_calls])
