"""A file that stalls, as one on a file system that hangs does."""

import os


class StalledPipe:
    """A named pipe at `path` that takes no more until somebody reads `reader`; for the time of a `with` block."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path = path
        self.reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        filler = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        try:
            while True:
                os.write(filler, b"x" * 4096)
        except BlockingIOError:
            os.close(filler)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.reader)
        os.unlink(self.path)
