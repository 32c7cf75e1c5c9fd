#!/usr/bin/env python3
"""A program that announces large requests on streams and sends none of their bytes.

Exits with 0 if another client is served all the same, and the server takes no memory for what does
not come; with 1 if not.
"""


import attack
from http2_caller import framed
from operator_calls import OperatorCaller, field, varint

STREAMS = 5
ANNOUNCED_PER_STREAM = 3
FLOAT16 = 2
IS_INFINITY = b"ELEMENT_WISE_IS_INFINITY"


def request(values):
    """An ExecuteRequest about so many values of type FLOAT16, without its payload."""
    desc = field(2, FLOAT16) + field(3, varint(values))
    mode = field(1, b"InfinityMode") + field(3, 0)
    return field(1, IS_INFINITY) + field(4, mode) + field(5, desc)


def stream_hoard(target):
    with OperatorCaller(target.address, source=attack.ATTACKER) as attacker:
        for _ in range(STREAMS):
            stream = attacker.open("/opserve.v1.OperatorService/ExecuteStream")
            for number in range(ANNOUNCED_PER_STREAM):
                values = 80 * attack.MIB
                attacker.send(stream, framed(field(1, number) + field(2, request(values)) +
                                             field(3, varint(2 * values))))
        # With the first refusal the attacker has as much as it gets.
        while not attacker.answers:
            attacker.receive()
        with OperatorCaller(target.address) as bystander:
            values = 32 * attack.MIB
            status, answer = bystander.ask("Execute", request(values) + field(16, bytes(2 * values)))
        if status != 0 or len(answer) < values:
            return [f"another client is refused: {status}"]
    return target.verdict()


if __name__ == "__main__":
    attack.run([stream_hoard], ways=("tcp",))
