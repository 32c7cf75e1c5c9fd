"""Exceptions: a class for each code, and all that the server says in their attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Violation(NamedTuple):
    """One thing that is wrong with a call."""

    # Path in the request, "attributes[0].value", or the name of an argument.
    field: str
    description: str


class Error(Exception):
    """A call that failed. `str` tells all of it, each violation on a line of its own.

    code: gRPC's name of the code, such as "INVALID_ARGUMENT"; of each class the same.
    reason: why, for programs, such as "TOO_MANY_BYTES"; docs/api.md lists them. May be empty.
    violations: all that is wrong with the request.
    retry_delay: seconds after which the server would like to be asked again, or None.
    """

    code = "UNKNOWN"

    def __init__(self, message: str, reason: str = "", violations: Sequence[Violation] = (),
                 retry_delay: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.violations = tuple(violations)
        self.retry_delay = retry_delay

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.reason, self.violations, self.retry_delay)


class CancelledError(Error):
    """The call was given up."""

    code = "CANCELLED"


class UnknownError(Error):
    """The server does not say why."""


class InvalidArgumentError(Error, ValueError):
    """The call makes no sense; nothing was run. `violations` tell all that is wrong."""

    code = "INVALID_ARGUMENT"


class DeadlineExceededError(Error, TimeoutError):
    """Its time was up."""

    code = "DEADLINE_EXCEEDED"


class NotFoundError(Error, LookupError):
    """There is no such operator, tensor, region or device."""

    code = "NOT_FOUND"


class AlreadyExistsError(Error):
    """It is there already."""

    code = "ALREADY_EXISTS"


class PermissionDeniedError(Error):
    """The server knows the caller, and does not let it."""

    code = "PERMISSION_DENIED"


class ResourceExhaustedError(Error):
    """The server has too much to do, or this client as much as it may."""

    code = "RESOURCE_EXHAUSTED"


class FailedPreconditionError(Error):
    """The server has not what is needed, such as a GPU."""

    code = "FAILED_PRECONDITION"


class AbortedError(Error):
    """It was ended by somebody else."""

    code = "ABORTED"


class OutOfRangeError(Error, ValueError):
    """A range that there is not."""

    code = "OUT_OF_RANGE"


class UnimplementedError(Error):
    """The server is too old for it."""

    code = "UNIMPLEMENTED"


class InternalError(Error):
    """A fault of the server's."""

    code = "INTERNAL"


class UnavailableError(Error, ConnectionError):
    """The server cannot be reached, or is shutting down."""

    code = "UNAVAILABLE"


class DataLossError(Error):
    """An answer that contradicts itself."""

    code = "DATA_LOSS"


class UnauthenticatedError(Error):
    """The server does not know the caller."""

    code = "UNAUTHENTICATED"


_CLASSES: dict[str, type[Error]] = {kind.code: kind for kind in Error.__subclasses__()}


def make_error(code: str, message: str, reason: str, violations: Sequence[tuple[str, str]],
               retry_delay: float | None) -> Error:
    """For opserve._core: the exception of a status."""
    kind = _CLASSES.get(code, UnknownError)
    return kind(message, reason, [Violation(*violation) for violation in violations], retry_delay)
