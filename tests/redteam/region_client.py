"""A program that shares memory with the server, in miniature."""

import fcntl
import os
import socket

from operator_calls import field, fields

LIMIT_S = 30
F_ADD_SEALS = 1033
F_SEAL_SEAL = 1
F_SEAL_SHRINK = 2


class RegionClient:
    """A connection to the server's socket of regions."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(LIMIT_S)
        self._socket.connect(path)

    def register(self, size):
        """Registers a file of holes; its id, or None where that was not allowed."""
        file = os.memfd_create("holes", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(file, size)
            fcntl.fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL)
            socket.send_fds(self._socket, [field(1, field(1, size))], [file])
            return fields(self._socket.recv(1 << 16)).get(1)
        except ConnectionError:
            return None
        finally:
            os.close(file)

    def close(self):
        """Ends the connection."""
        self._socket.close()
