"""Calls as awaitables: no thread waits for any of them.

The client's threads put calls that are over into a queue, whose file descriptor the event loop
watches; the loop then takes all that are there at once. Where loops watch no descriptors, as on
Windows, one thread for each loop waits for the queue.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from typing import Any

from opserve._core import Call, CompletionQueue
from opserve._errors import Error


class CallFuture(asyncio.Future[Any]):
    """The result of a call. Cancelling it gives the call up."""

    __slots__ = ("call",)
    call: Call

    def cancel(self, msg: Any = None) -> bool:
        """Cancels the future, and the call, whose arrays may be in use for a moment longer."""
        cancelled = super().cancel(msg)
        if cancelled:
            self.call.cancel()
        return cancelled


class Completions:
    """Tells event loops, each through a queue of its own, which calls are over."""

    def __init__(self) -> None:
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, CompletionQueue] = (
            weakref.WeakKeyDictionary())

    def start(self, start: Callable[..., Call], *arguments: Any) -> CallFuture:
        """Runs `start`, which takes a queue and a token, for the loop that runs here."""
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            # What still comes for a loop that is closed would keep it.
            for ended in [one for one in self._queues if one.is_closed()]:
                del self._queues[ended]
            queue = self._queues[loop] = CompletionQueue()
            _watch(loop, queue)
        future = CallFuture(loop=loop)
        future.call = start(*arguments, queue, future)
        return future


def _watch(loop: asyncio.AbstractEventLoop, queue: CompletionQueue) -> None:
    try:
        loop.add_reader(queue.fileno(), _finish_calls, queue)
    except NotImplementedError:
        threading.Thread(target=_tell, args=(queue.waiter(), weakref.ref(loop), weakref.ref(queue)),
                         name="opserve-asyncio", daemon=True).start()


def _tell(wait: Callable[[], bool], loop_of: Callable[[], asyncio.AbstractEventLoop | None],
          queue_of: Callable[[], CompletionQueue | None]) -> None:
    """Tells the loop of calls that are over, until one of both is gone."""
    while wait():
        loop, queue = loop_of(), queue_of()
        if loop is None or queue is None:
            return
        try:
            loop.call_soon_threadsafe(_finish_calls, queue)
        except RuntimeError:  # it is closed
            return
        del loop, queue


def _finish_calls(queue: CompletionQueue) -> None:
    for future in queue.take():
        if future.done():
            continue
        try:
            result = future.call.result()
        except Error as error:
            future.set_exception(error)
        else:
            future.set_result(result)
