"""Work beside what a test does."""

import threading


class Background:
    """Runs in a thread of its own for the time of a `with` block.

    A class that is one has a method _run, which returns soon after _is_over is set.
    """

    def __init__(self):
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        raise NotImplementedError

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()
