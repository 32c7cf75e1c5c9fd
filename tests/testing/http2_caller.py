"""Calls of gRPC methods over HTTP/2 frames that a test controls, without any gRPC library."""

import base64
import socket
import struct

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings


def framed(message):
    """A message with the five bytes that gRPC puts before it."""
    return struct.pack(">BI", 0, len(message)) + message


class Http2Caller:
    """A connection to HOST:PORT, for the time of a `with` block or until close.

    `window`: bytes that the server may send for each call, if not as many as usual. `source`: the
    address that the server sees, if not the usual one.
    """

    # Longest wait for anything that the server has to do.
    LIMIT_S = 60

    def __init__(self, address, window=None, source=""):
        host, port = address.rsplit(":", 1)
        self._address = address
        self._socket = socket.create_connection((host, int(port)), self.LIMIT_S, (source, 0))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=True, validate_outbound_headers=False, normalize_outbound_headers=False))
        self._http.initiate_connection()
        if window is not None:
            self._http.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
        # Streams whose answer has begun, and the data of answers by stream.
        self.begun = set()
        self.answers = {}
        # By stream: grpc-status, or the text of what ended it.
        self.statuses = {}
        # By stream: the google.rpc.Status of those that ended with one, as bytes.
        self.details = {}
        self.is_closed = False
        self._flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Lets go of everything that the server still wants to send."""
        self._socket.close()

    def open(self, path, headers=()):
        """Begins a call; its stream."""
        stream = self._http.get_next_available_stream_id()
        self._http.send_headers(stream, [
            (":method", "POST"), (":scheme", "http"), (":authority", self._address),
            (":path", path), ("te", "trailers"), ("content-type", "application/grpc"), *headers])
        self._flush()
        return stream

    def send(self, stream, data, is_end=False):
        """Sends all of `data`, as the server makes room, unless the stream ends before."""
        view = memoryview(data)
        while (view or is_end) and stream not in self.statuses and not self.is_closed:
            room = min(self._http.local_flow_control_window(stream),
                       self._http.max_outbound_frame_size, len(view))
            if room <= 0 and view:
                self.receive()
                continue
            piece, view = view[:room], view[room:]
            self._http.send_data(stream, bytes(piece), end_stream=is_end and not view)
            self._flush()
            if not view:
                return

    def call(self, path, data, headers=()):
        """Sends a whole request, with the five bytes before its message; its stream."""
        stream = self.open(path, headers)
        self.send(stream, data, is_end=True)
        return stream

    def cancel(self, stream):
        """Gives a call up."""
        self._http.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        self._flush()

    def wait(self, stream):
        """Waits for the end of a call; its status."""
        while stream not in self.statuses and not self.is_closed:
            self.receive()
        return self.statuses.get(stream, "connection closed")

    def wait_for_answer(self, stream):
        """Returns once the answer has begun, or the call is over."""
        while stream not in self.begun and stream not in self.statuses and not self.is_closed:
            self.receive()

    def receive(self):
        """Waits for something from the server, and takes it."""
        data = self._socket.recv(1 << 16)
        self.is_closed = self.is_closed or not data
        for event in self._http.receive_data(data) if data else []:
            self._take(event)
        self._flush()

    def _take(self, event):
        if isinstance(event, (h2.events.TrailersReceived, h2.events.ResponseReceived)):
            self.begun.add(event.stream_id)
            headers = {_text(name): _text(value) for name, value in event.headers}
            if "grpc-status" in headers:
                self.statuses[event.stream_id] = int(headers["grpc-status"])
            if "grpc-status-details-bin" in headers:
                # gRPC leaves the padding out.
                self.details[event.stream_id] = base64.b64decode(
                    headers["grpc-status-details-bin"] + "==")
        elif isinstance(event, h2.events.StreamReset):
            self.statuses.setdefault(event.stream_id, f"reset {event.error_code}")
        elif isinstance(event, h2.events.DataReceived):
            self.answers.setdefault(event.stream_id, bytearray()).extend(event.data)
            self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)

    def _flush(self):
        try:
            self._socket.sendall(self._http.data_to_send())
        except (BrokenPipeError, ConnectionResetError):
            self.is_closed = True


def _text(header):
    return header.decode() if isinstance(header, bytes) else header
