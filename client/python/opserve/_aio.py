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
            # What still comes for a loop that is closed would keep it. Threads with loops of their
            # own may be here at the same time.
            for reference in self._queues.keyrefs():
                ended = reference()
                if ended is not None and ended.is_closed():
                    self._queues.pop(ended, None)
            queue = self._queues[loop] = CompletionQueue()
            _watch(loop, queue)
        future = CallFuture(loop=loop)
        future.call = start(*arguments, queue, future)
        return future


def _watch(loop: asyncio.AbstractEventLoop, queue: CompletionQueue) -> None:
    ended: list[CallFuture] = []
    try:
        loop.add_reader(queue.fileno(), _finish_calls, queue, ended)
    except NotImplementedError:
        threading.Thread(target=_tell,
                         args=(queue.waiter(), weakref.ref(loop), weakref.ref(queue), ended),
                         name="opserve-asyncio", daemon=True).start()


def _tell(wait: Callable[[], bool], loop_of: Callable[[], asyncio.AbstractEventLoop | None],
          queue_of: Callable[[], CompletionQueue | None], ended: list[CallFuture]) -> None:
    """Tells the loop of calls that are over, until one of both is gone."""
    while wait():
        loop, queue = loop_of(), queue_of()
        if loop is None or queue is None:
            return
        try:
            loop.call_soon_threadsafe(_finish_calls, queue, ended)
        except RuntimeError:  # it is closed
            return
        del loop, queue


def _finish_calls(queue: CompletionQueue, ended: list[CallFuture]) -> None:
    """Gives futures the results of their calls. `ended` has those that were taken from the queue."""
    try:
        queue.take(ended)
        for future in ended:
            _finish(future)
        ended.clear()
    except BaseException:
        # A handler of signals, such as that of Ctrl-C, raises wherever the program is. The others
        # get their results where the loop runs on.
        asyncio.get_running_loop().call_soon(_finish_calls, queue, ended)
        raise


def _finish(future: CallFuture) -> None:
    if future.done():
        return
    try:
        result = future.call.result()
    except Exception as error:  # pylint: disable=broad-exception-caught
        # Also what is no Error, such as a lack of memory: nobody else would hear of it.
        future.set_exception(error)
    else:
        future.set_result(result)
