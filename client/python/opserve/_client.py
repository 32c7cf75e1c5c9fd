"""The client: a connection to one server, with the operators as its methods."""

from __future__ import annotations

import asyncio
import functools
import math
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from opserve import _core
from opserve._aio import Completions
from opserve._core import Call, DeviceLease, OperatorInfo, Region, ResidentTensor, ServerInfo, Value
from opserve._errors import (
    Error,
    FailedPreconditionError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
)
from opserve._operators import Operators
from opserve._types import Array, Device, Shape

_PIECE_BYTES = 512 << 10
_MAX_BYTES_IN_FLIGHT = 128 << 20
# After so many seconds a server that shared no memory is asked again.
_SHARING_PAUSE_S = 10.0


@dataclass(frozen=True)
class Tls:
    """Encryption. Certificates and keys are PEM text, not names of files.

    root_certificates: authorities to trust; "": those of the system.
    client_certificate, client_key: to show to the server; both or neither.
    server_name: that the server's certificate must carry, where it is not the target's host.
    """

    root_certificates: str = ""
    client_certificate: str = ""
    client_key: str = ""
    server_name: str = ""


def connect(
    target: str,
    *,
    timeout: float | None = 60.0,
    connect_timeout: float = 10.0,
    tls: Tls | bool = False,
    bearer_token: str = "",
    client_name: str = "",
    channels: int = 1,
    max_attempts: int = 5,
    max_message_bytes: int = -1,
    idle_buffer_bytes: int = 64 << 20,
    max_shared_bytes: int = 256 << 20,
) -> Client:
    """Connects to a server, "host:port" or "unix:/path".

    timeout: seconds for a call that sets none, retries included; None waits for ever.
    connect_timeout: seconds for the connection; 0: the first call makes it.
    tls: encrypt, but not over socket files, which servers have in plain text; True trusts the system's authorities.
    bearer_token: shown with each call; needs TLS unless the server is on this machine.
    client_name: what this client calls itself, for the server's logs and its turns.
    channels: connections, 1 to 64; more than one helps large tensors of several threads.
    max_attempts: attempts in all, by the rules of docs/api.md; 1 never tries again.
    max_message_bytes: largest message; negative: only the server's limit.
    idle_buffer_bytes: memory of results that is kept for the next ones.
    max_shared_bytes: memory through which large arrays go to a server on this machine and back; 0: none do.
    """
    options: dict[str, Any] = {
        "timeout": timeout, "connect_timeout": connect_timeout, "bearer_token": bearer_token,
        "client_name": client_name, "channels": channels, "max_attempts": max_attempts,
        "max_message_bytes": max_message_bytes, "idle_buffer_bytes": idle_buffer_bytes,
        "max_shared_bytes": max_shared_bytes,
    }
    if tls:
        options["tls"] = Tls() if tls is True else tls
    return Client(_core.Connection(target, options))


class Client(Operators[Array]):
    """A connection to one server. One serves a whole program, from any thread.

    The operators are methods that wait for their result, a NumPy array:

        y = client.round(x, rounding_mode="TOWARD_ZERO")

    `start` has the same methods for calls under way, `aio` for asyncio, `stream()` for many calls
    over one stream, and `sequence()` for operators one after the other in one call. While a method
    waits, other threads run.
    """

    def __init__(self, connection: _core.Connection) -> None:
        """For `connect`."""
        super().__init__(connection.run)
        self._connection = connection
        self._shares_memory = True
        self._asks_at = 0.0  # as time.monotonic tells it, where no memory is shared
        self.start: Operators[Call] = Operators(connection.start)
        self.aio = AsyncClient(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the connection up; waits for the calls in flight, which their timeouts bound.

        Streams and tensors of the client hold on to the connection until they end.
        """
        self._connection.close()

    def stream(self, *, piece_bytes: int = _PIECE_BYTES,
               max_bytes_in_flight: int = _MAX_BYTES_IN_FLIGHT,
               timeout: float | None = None, host: str = "") -> Stream:
        """Opens a stream for many calls, to be used in a `with` block.

        piece_bytes: larger tensors travel in messages of so many bytes.
        max_bytes_in_flight: of inputs that are sent and not answered; other calls wait here.
        timeout: seconds for the stream as a whole.
        host: of several, the one whose tensors the calls have: `host` of a tensor. "": any.
        """
        return Stream(self._connection.open_stream(piece_bytes, max_bytes_in_flight, timeout, host))

    def sequence(self, **settings: Any) -> Sequence:
        """Operators one after the other in one call, to be written down in a `with` block.

        Takes the keywords of `CallSettings` but dtype, which is of the steps.
        """
        return Sequence(self._connection, settings)

    def tensor(self, array: npt.ArrayLike, *, ttl: float | None = None, label: str = "",
               skip_if_known: bool = False, placement: Device | None = None,
               device: str = "", volatile: bool = False) -> ResidentTensor:
        """Keeps a copy of an array at the server, for calls to come.

        ttl: seconds until the server gives it up should this program be gone; it is renewed
            meanwhile. None: as long as the server likes.
        label: shown in lists of this client's tensors.
        skip_if_known: send only a hash where this client has a tensor with that content.
        placement, device: "gpu", or a device's name: keep a copy on it.
        volatile: results put in the tensor may stay on that GPU alone until they are read, and
            are lost with it: calls that need them raise DataLossError then.
        """
        return self._connection.create_tensor(array, ttl, label, skip_if_known, placement, device,
                                              volatile)

    def zeros(self, shape: Shape, dtype: npt.DTypeLike = np.float32, *, ttl: float | None = None,
              label: str = "", placement: Device | None = None,
              device: str = "", volatile: bool = False) -> ResidentTensor:
        """Keeps a tensor of zeros at the server, such as for results; they do not travel.

        Takes the keywords of `tensor`.
        """
        return self._connection.create_zeros(shape, dtype, ttl, label, placement, device, volatile)

    def region(self, nbytes: int) -> Region:
        """Makes memory that this program shares with a server on its machine.

        Raises FailedPreconditionError where the server shares none, UnavailableError where it is
        on another machine, PermissionDeniedError where its policy does not let this client.
        """
        return self._connection.create_region(nbytes)

    def empty(self, shape: Shape, dtype: npt.DTypeLike = np.float32) -> Array:
        """A new array: in shared memory where the server is on this machine, else NumPy's own.

        Calls with it are the same in both cases; `shares_memory` tells which it is. A server that
        shares no memory is asked again after 10 s.
        """
        if self._shares_memory or time.monotonic() >= self._asks_at:
            sizes = (shape,) if hasattr(shape, "__index__") else tuple(shape)
            count = math.prod(int(size) for size in sizes)
            try:
                array = self.region(max(count * np.dtype(dtype).itemsize, 1)).empty(shape, dtype)
            except (FailedPreconditionError, PermissionDeniedError, UnavailableError,
                    UnimplementedError):
                self._shares_memory = False
                self._asks_at = time.monotonic() + _SHARING_PAUSE_S
            except ResourceExhaustedError:  # there is room again once arrays of it are gone
                pass
            else:
                self._shares_memory = True
                return array
        return np.empty(shape, dtype)

    @property
    def shares_memory(self) -> bool:
        """Whether `empty` gives arrays in shared memory, as it was when that was tried last."""
        return self._shares_memory

    def lease_device(self, device: str = "", *, seconds: float | None = None, label: str = "",
                     timeout: float | None = None) -> DeviceLease:
        """Waits for a GPU for this program alone: calls with `device_lease=lease.id` run there.

            with client.lease_device(seconds=120) as lease:
                y = client.abs(x, device_lease=lease.id)

        device: its name; "": any GPU.
        seconds: how long; the server may grant less. None: a minute.
        label: shown to administrators.
        timeout: seconds to wait for its turn before TimeoutError is raised; None: for ever.
        """
        return self._connection.lease_device(device, seconds, label, timeout)

    def list_operators(self, name: str = "", *, feature_level: str = "") -> list[OperatorInfo]:
        """The server's operators, all or the one with DirectML's name.

        feature_level: leave out what that has not, such as "3_0"; "": the highest.
        Raises NotFoundError, with the nearest names, where there is none.
        """
        return self._connection.list_operators(name, feature_level)

    def server_info(self) -> ServerInfo:
        """Version, devices and limits of the server."""
        return self._connection.server_info()

    def is_serving(self) -> bool:
        """Whether the server takes calls."""
        return self._connection.is_serving()


class AsyncClient(Operators[Awaitable[Array]]):
    """The operators as awaitables for asyncio, from `Client.aio`. A call starts at once.

        y = await client.aio.round(x, rounding_mode="TOWARD_ZERO")

    Cancelling gives the call up. No thread waits for a call.
    """

    def __init__(self, connection: _core.Connection) -> None:
        """For `Client`."""
        self._connection = connection
        self._completions = Completions()
        super().__init__(functools.partial(self._completions.start, connection.start))

    def stream(self, *, piece_bytes: int = _PIECE_BYTES,
               max_bytes_in_flight: int = _MAX_BYTES_IN_FLIGHT,
               timeout: float | None = None, host: str = "") -> AsyncStream:
        """As `Client.stream`, to be used with `async with`."""
        opened = self._connection.open_stream(piece_bytes, max_bytes_in_flight, timeout, host)
        return AsyncStream(opened, self._completions)

    def sequence(self, **settings: Any) -> AsyncSequence:
        """As `Client.sequence`, to be used with `async with`."""
        return AsyncSequence(self._connection, settings, self._completions)


class Stream(Operators[Call]):
    """Many calls over one stream, from `Client.stream`. Cheaper for many small ones.

        with client.stream() as stream:
            calls = [stream.abs(x) for x in arrays]
        results = [call.result() for call in calls]

    The end of the block waits for all of them. Results are new arrays: there is no `out=`. Arrays
    may be larger than the server's limits where the operator computes each element by itself.
    """

    def __init__(self, stream: _core.StreamObject) -> None:
        """For `Client.stream`."""
        super().__init__(stream.start)
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def sequence(self, **settings: Any) -> StreamSequence:
        """Operators one after the other, to be written down in a `with` block, whose end sends them.

        Takes the keywords of `Client.sequence`. The server computes elementwise steps on arrays of
        any size while these come, and what lies between the steps does not travel.
        """
        return StreamSequence(self._stream, settings)

    def finish(self, timeout: float | None = None) -> None:
        """Waits for the calls under way, and ends the stream. Raises what broke it.

        After `timeout` seconds the rest fail with DeadlineExceededError.
        """
        self._stream.finish(timeout)


class AsyncStream(Operators[Awaitable[Array]]):
    """A stream whose calls are awaitables, from `AsyncClient.stream`.

    The end of the block waits for all of them, on a thread of the event loop's executor.
    """

    def __init__(self, stream: _core.StreamObject, completions: Completions) -> None:
        """For `AsyncClient.stream`."""
        self._stream = stream
        self._completions = completions
        super().__init__(functools.partial(completions.start, stream.start))

    def sequence(self, **settings: Any) -> AsyncSequence:
        """As `Stream.sequence`, to be used with `async with`, whose end awaits the results."""
        return AsyncSequence(self._stream, settings, self._completions)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._stream.finish, None)


class Sequence(Operators[Value]):
    """Operators one after the other in one call: what lies between them does not travel.

        with client.sequence() as steps:
            whole = steps.round(x, rounding_mode="TOWARD_ZERO")
            rest = steps.subtract(x, whole)
        print(steps.result(rest))

    Methods return values, which are operands of later steps. The end of the block runs them all.
    """

    def __init__(self, runner: _core.Connection | _core.StreamObject,
                 settings: dict[str, Any]) -> None:
        """For `Client.sequence`."""
        self._runner = runner
        self._settings = settings
        self._steps = _core.StepSequence()
        self._results: dict[int, Any] | None = None
        super().__init__(self._add)

    def _add(self, *arguments: Any) -> Value:
        return self._runner.add_step(self._steps, *arguments)

    def output(self, *values: Value) -> None:
        """Has these results returned; without any, that of the last step is."""
        for value in values:
            self._steps.add_output(value)

    def result(self, value: Value) -> Array:
        """The array of an output, once the block is over; the tensor at the server it went to."""
        if self._results is None:
            raise Error("the sequence has not run; its results are there after the block")
        step = self._steps.step_of(value)
        if step not in self._results:
            raise Error("this value is no output; name it with `output` in the block")
        result: Array = self._results[step]
        return result

    def _keep(self, results: Any) -> None:
        self._results = dict(zip(self._steps.outputs(), results, strict=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self._keep(self._runner.start_sequence(self._steps, self._settings).result())


class StreamSequence(Sequence):
    """A sequence of a stream, from `Stream.sequence`: the end of its block sends it and goes on.

        with client.stream() as stream:
            with stream.sequence() as steps:
                rounded = steps.round(steps.add(x, 0.5), rounding_mode="TOWARD_ZERO")
            print(steps.result(rounded))

    Results are new arrays: steps have no `out=`.
    """

    _call: Call | None = None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self._call = self._runner.start_sequence(self._steps, self._settings)

    def result(self, value: Value, timeout: float | None = None) -> Array:
        """Waits for the array of an output, once the block is over. Raises the sequence's error, or
        TimeoutError after `timeout` seconds, and the sequence goes on."""
        if self._results is None and self._call is not None:
            self._keep(self._call.result(timeout))
        return super().result(value)

    def cancel(self) -> None:
        """Gives it up, once the block is over; `result` tells when its arrays are free."""
        if self._call is not None:
            self._call.cancel()


class AsyncSequence(Sequence):
    """A sequence whose block is `async with`, from `AsyncClient.sequence` and `AsyncStream`."""

    def __init__(self, runner: _core.Connection | _core.StreamObject, settings: dict[str, Any],
                 completions: Completions) -> None:
        """For `AsyncClient.sequence`."""
        super().__init__(runner, settings)
        self._completions = completions

    def __enter__(self) -> Self:
        raise TypeError("use `async with`")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._keep(await self._completions.start(
                self._runner.start_sequence, self._steps, self._settings))
