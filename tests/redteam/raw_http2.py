"""HTTP/2 frames by hand, for clients that no library would let one write."""

import socket
import ssl
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, CONTINUATION = 0, 1, 2, 3, 4, 6, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
EXECUTE = b"/opserve.v1.OperatorService/Execute"
HEALTH_CHECK = b"/grpc.health.v1.Health/Check"


def frame(kind, stream, payload=b"", flags=0):
    """One frame."""
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def field(name, value):
    """A header field without Huffman codes and without an index; both below 127 bytes."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call_headers(path=EXECUTE):
    """The header block of a gRPC call."""
    # POST and http are in HPACK's static table.
    return (b"\x83\x86" + field(b":path", path) + field(b":authority", b"redteam")
            + field(b"te", b"trailers") + field(b"content-type", b"application/grpc"))


def connect(address, timeout=10, source=None):
    """A connected socket to "host:port", from the host `source`, or to "unix:path"."""
    if address.startswith("unix:"):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
        connection.connect(address[5:])
        return connection
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout, (source, 0) if source else None)


def trust_all():
    """Makes TLS sockets that speak HTTP/2; the certificate is not what is tested."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context.wrap_socket


def open_http2(address, wrap=None, source=None, timeout=10):
    """A connection that has begun to speak HTTP/2. `wrap` makes a TLS socket of a plain one."""
    connection = connect(address, timeout, source)
    if wrap:
        connection = wrap(connection)
    connection.sendall(PREFACE + frame(SETTINGS, 0) + frame(SETTINGS, 0, flags=ACK))
    return connection


def read_exactly(connection, count):
    """`count` bytes; raises ConnectionError where the connection ends before."""
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise ConnectionError("closed")
        data += piece
    return data


def call(connection, path, message, fields=b""):
    """The first answer to a unary call, the first one of the connection; None where it fails."""
    connection.sendall(frame(HEADERS, 1, call_headers(path) + fields, END_HEADERS)
                       + frame(DATA, 1, struct.pack(">BI", 0, len(message)) + message, END_STREAM))
    answer = b""
    while True:
        head = read_exactly(connection, 9)
        payload = read_exactly(connection, int.from_bytes(head[:3], "big"))
        if int.from_bytes(head[5:], "big") != 1:
            continue
        if head[3] == DATA:
            answer += payload
        if head[4] & END_STREAM or head[3] == RST_STREAM:
            return answer[5:] if answer else None


def is_healthy(address, wrap=None, timeout=10):
    """Whether a new connection gets an answer to grpc.health.v1.Health/Check in so many seconds."""
    try:
        with open_http2(address, wrap, timeout=timeout) as connection:
            # SERVING of HealthCheckResponse.
            return call(connection, HEALTH_CHECK, b"") == b"\x08\x01"
    except OSError:
        return False


def is_closed_within(connection, seconds):
    """Whether the server ends the connection in time; what it sends is dropped."""
    connection.settimeout(seconds)
    try:
        while connection.recv(1 << 16):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


def drain(connection):
    """Reads what is there, without waiting; raises ConnectionError where the connection ended."""
    connection.setblocking(False)
    try:
        while connection.recv(1 << 20):
            pass
        raise ConnectionError("closed")
    except (BlockingIOError, ssl.SSLWantReadError):
        pass
    finally:
        connection.settimeout(10)


class Flood:
    """Sends what `make` yields on one connection for `seconds`, or until it is closed."""

    def __init__(self, connection, make, seconds):
        self.sent_bytes = 0
        self.is_closed = False
        deadline = time.monotonic() + seconds
        try:
            for data in make:
                connection.sendall(data)
                self.sent_bytes += len(data)
                drain(connection)
                if time.monotonic() > deadline:
                    break
        except OSError:
            self.is_closed = True
        connection.close()
