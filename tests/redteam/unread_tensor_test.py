#!/usr/bin/env python3
"""A client that asks for its tensor, takes not one byte of the answer, and writes one byte; again.

Every answer pins what the tensor held, and every write needs a copy beside it. Exits with 0 if the
server refuses as soon as the client's quota is full, and takes writes again when the answers are
let go; with 1 if not.
"""

import time

import attack
from operator_calls import OperatorCaller, field, fields, uint8_desc
from process_memory import rss

MIB = 1 << 20
TENSOR_BYTES = 32 * MIB
QUOTA_BYTES = 80 * MIB
PAIRS = 12
OK = 0
RESOURCE_EXHAUSTED = 8


def unread_tensor(target):
    writer = OperatorCaller(target.address)
    reader = OperatorCaller(target.address, window=0)
    status, answer = writer.ask("CreateTensor", field(1, uint8_desc(TENSOR_BYTES)))
    if status != OK:
        return [f"CreateTensor failed with {status}"]
    tensor = field(1, fields(answer)[1])
    write_one = tensor + field(2, 5) + field(16, b"x")
    if writer.ask("WriteTensor", write_one)[0] != OK:
        return ["the first write failed"]
    before = rss(target.pid)
    codes = []
    for _ in range(PAIRS):
        reader.wait_for_answer(reader.begin("ReadTensor", tensor))
        codes.append(writer.ask("WriteTensor", write_one)[0])
    grown = rss(target.pid) - before
    print(f"codes of the writes: {codes}; {grown // MIB} MiB more")
    if codes[0] != OK or set(codes[1:]) != {RESOURCE_EXHAUSTED}:
        return ["the quota has room for one copy, and the others are to be refused"]
    if grown > QUOTA_BYTES:
        return [f"the client made the server hold {grown // MIB} MiB more"]
    reader.close()
    deadline = time.monotonic() + OperatorCaller.LIMIT_S
    while writer.ask("WriteTensor", write_one)[0] != OK:
        if time.monotonic() > deadline:
            return ["answers that were let go still count"]
    return []


if __name__ == "__main__":
    attack.run([unread_tensor], ways=("tcp",),
               options=("--max-resident-bytes-per-client", f"{QUOTA_BYTES // MIB}MiB"))
