#!/usr/bin/env python3
"""Clients that begin messages and end none, or take no answers, against a real server.

Speaks HTTP/2 by itself, because no gRPC client behaves like that. Exits with 0 if the server stayed
within its limits and served others meanwhile, with 1 if not.
"""

import argparse
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import time

import h2.config
import h2.connection
import h2.events

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testing"))
from server_process import ServerProcess  # noqa: E402  (the path is set above)

LIMIT_S = 60
MIB = 1 << 20


def field(number, data):
    """A length-delimited field of a protobuf message."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value):
    """A number as protobuf writes it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def round_request(elements):
    """ExecuteRequest: ELEMENT_WISE_ROUND of zeros, FLOAT32."""
    attribute = field(1, b"RoundingMode") + field(2, b"TOWARD_ZERO")
    desc = b"\x10\x01" + field(3, varint(elements))
    return (field(1, b"ELEMENT_WISE_ROUND") + field(4, attribute) + field(5, desc)
            + field(16, bytes(4 * elements)))


class Http2Client:
    """A connection that sends as much as the server allows, and reads only when it is told to."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)))
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self._http.initiate_connection()
        self._address = address
        self.ended = set()
        self.is_closed = False
        self._flush()
        self.receive(1)

    def _flush(self):
        self._socket.settimeout(10)
        self._socket.sendall(self._http.data_to_send())

    def open(self):
        """A new call of Execute; its stream."""
        stream = self._http.get_next_available_stream_id()
        self._http.send_headers(stream, [
            (":method", "POST"), (":scheme", "http"), (":authority", self._address),
            (":path", "/opserve.v1.OperatorService/Execute"), ("te", "trailers"),
            ("content-type", "application/grpc")])
        self._flush()
        return stream

    def send(self, stream, data, is_end=False):
        """Sends what fits now; returns the rest."""
        while data and stream not in self.ended:
            room = min(self._http.local_flow_control_window(stream),
                       self._http.max_outbound_frame_size)
            if room <= 0:
                break
            piece, data = data[:room], data[room:]
            self._http.send_data(stream, piece, end_stream=is_end and not data)
        self._flush()
        return data

    def receive(self, seconds):
        """Waits for something for so long at most, and takes it. False where nothing came."""
        self._socket.settimeout(seconds)
        try:
            data = self._socket.recv(1 << 16)
        except (TimeoutError, BlockingIOError):
            return False
        self.is_closed = self.is_closed or not data
        for event in self._http.receive_data(data) if data else []:
            if isinstance(event, (h2.events.StreamReset, h2.events.StreamEnded)):
                self.ended.add(event.stream_id)
        self._flush()
        return bool(data)


def rss(pid):
    """Bytes of memory that the process holds."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) << 10
    raise RuntimeError("no VmRSS")


def still_serves(arguments, address):
    """Whether another client gets its answers."""
    done = subprocess.run([pathlib.Path(arguments.bin) / "opserve", "bench", "--address", address,
                           "--attr", "RoundingMode=TOWARD_ZERO", "--shape", "64x64",
                           "--duration", "200ms"],
                          capture_output=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        print(done.stderr.decode(), file=sys.stderr)
    return done.returncode == 0


def check_half_messages(arguments, server):
    """Many messages of which most has come take no more memory than is allowed."""
    client = Http2Client(server.address)
    before = rss(server.pid)
    streams = [client.open() for _ in range(24)]
    head = struct.pack(">BI", 0, 100 * MIB)
    rest = {stream: client.send(stream, head) or bytes(40 * MIB) for stream in streams}
    most = 0
    deadline = time.monotonic() + LIMIT_S
    while any(rest.values()) and not client.is_closed and time.monotonic() < deadline:
        for stream in streams:
            rest[stream] = b"" if stream in client.ended else client.send(stream, rest[stream])
        most = max(most, rss(server.pid) - before)
        if not client.receive(0.5) and client.ended:
            break
    if not client.ended and not client.is_closed:
        return "none of the calls was refused"
    if most > 400 * MIB:
        return f"they took {most // MIB} MiB"
    return "" if still_serves(arguments, server.address) else "others were not served"


def check_answers_not_taken(arguments, server):
    """A client that takes no answer loses its call."""
    client = Http2Client(server.address)
    stream = client.open()
    message = round_request(MIB)
    rest = struct.pack(">BI", 0, len(message)) + message
    while rest:
        rest = client.send(stream, rest, is_end=True)
        client.receive(1)
    if not still_serves(arguments, server.address):
        return "others were not served"
    # Not a byte of the answer is acknowledged, so the window stays shut. One tick is 1/4 s, and the
    # answer of 4 MiB gets 4 s more.
    deadline = time.monotonic() + LIMIT_S
    while stream not in client.ended and not client.is_closed:
        if time.monotonic() > deadline:
            return "the call is still there"
        client.receive(1)
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="folder of opserve-server and opserve")
    arguments = parser.parse_args()
    failures = 0
    for check in (check_half_messages, check_answers_not_taken):
        with tempfile.TemporaryDirectory() as folder:
            server = ServerProcess(pathlib.Path(arguments.bin) / "opserve-server", folder,
                                   ("--devices", "none", "--log-level", "error",
                                    "--max-transport-bytes", "256MiB", "--stall-limit", "1"))
            with server:
                wrong = check(arguments, server)
            if server.exit_code != 0:
                wrong = wrong or f"the server ended with {server.exit_code}"
        print(f"{check.__name__}: {wrong or 'passed'}", flush=True)
        failures += bool(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
