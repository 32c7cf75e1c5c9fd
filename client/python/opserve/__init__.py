"""DirectML operators on an opserve server.

    import numpy as np
    import opserve

    client = opserve.connect("127.0.0.1:50051")
    y = client.round(np.float32([-1.5, 0.5, 2.5]), rounding_mode="TOWARD_ZERO")

docs/python.md is a tour.
"""

from opserve._client import (
    AsyncClient,
    AsyncSequence,
    AsyncStream,
    Client,
    Sequence,
    Stream,
    Tls,
    connect,
)
from opserve._core import (
    Call,
    Device,
    DeviceLease,
    EnumValue,
    ExecutionInfo,
    Limits,
    OperatorAttribute,
    OperatorInfo,
    OperatorTensor,
    Region,
    ResidentTensor,
    ServerInfo,
    Support,
    TensorSupport,
    Value,
)
from opserve._errors import (
    AbortedError,
    AlreadyExistsError,
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    Error,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
    Violation,
)
from opserve._operators import Operators
from opserve._types import CallSettings

__all__ = [
    "AbortedError", "AlreadyExistsError", "AsyncClient", "AsyncSequence", "AsyncStream", "Call",
    "CallSettings", "CancelledError", "Client", "DataLossError", "DeadlineExceededError", "Device",
    "DeviceLease", "EnumValue", "Error", "ExecutionInfo", "FailedPreconditionError",
    "InternalError", "InvalidArgumentError", "Limits", "NotFoundError", "OperatorAttribute",
    "OperatorInfo", "OperatorTensor", "Operators", "OutOfRangeError", "PermissionDeniedError",
    "Region", "ResidentTensor", "ResourceExhaustedError", "Sequence", "ServerInfo", "Stream",
    "Support", "TensorSupport", "Tls", "UnauthenticatedError", "UnavailableError",
    "UnimplementedError", "UnknownError", "Value", "Violation", "connect",
]
