"""gRPC calls by hand, for clients that behave as no gRPC library does."""

import socket
import struct

import h2.config
import h2.connection
import h2.events
import h2.settings

LIMIT_S = 30


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


class Connection:
    """A connection. `window`: bytes that the server may send for each call, if not as usual."""

    def __init__(self, address, window=None):
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)))
        self._socket.settimeout(LIMIT_S)
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self._http.initiate_connection()
        if window is not None:
            self._http.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
        self._address = address
        self._begun = set()
        self._ended = {}
        self._data = {}
        self._flush()

    def _flush(self):
        self._socket.sendall(self._http.data_to_send())

    def begin(self, method, message, client="attacker"):
        """Starts a call; its stream."""
        stream = self._http.get_next_available_stream_id()
        self._http.send_headers(stream, [
            (":method", "POST"), (":scheme", "http"), (":authority", self._address),
            (":path", f"/opserve.v1.OperatorService/{method}"), ("te", "trailers"),
            ("content-type", "application/grpc"), ("opserve-client", client)])
        self._http.send_data(stream, struct.pack(">BI", 0, len(message)) + message,
                             end_stream=True)
        self._flush()
        return stream

    def _receive(self):
        data = self._socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the server hung up")
        for event in self._http.receive_data(data):
            if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
                self._begun.add(event.stream_id)
                status = dict(event.headers).get("grpc-status")
                if status is not None:
                    self._ended[event.stream_id] = int(status)
            elif isinstance(event, h2.events.DataReceived):
                self._data[event.stream_id] = self._data.get(event.stream_id, b"") + event.data
                self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamReset):
                self._ended.setdefault(event.stream_id, -1)
        self._flush()

    def wait_for_answer(self, stream):
        """Returns once the server has begun to answer, or has refused."""
        while stream not in self._begun and stream not in self._ended:
            self._receive()

    def call(self, method, message, client="attacker"):
        """The status code of a call, and the message that answers it."""
        stream = self.begin(method, message, client)
        while stream not in self._ended:
            self._receive()
        return self._ended[stream], self._data.get(stream, b"")[5:]

    def close(self):
        """Lets go of everything that the server still wants to send."""
        self._socket.close()


def uint8_desc(count):
    """TensorDesc of `count` values of type UINT8."""
    return field(2, 5) + field(3, varint(count))
