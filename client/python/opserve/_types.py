"""Types of arguments, for those who read and check programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from opserve._core import ResidentTensor, Value


class SupportsDlpack(Protocol):
    """An array of another library, such as a tensor of PyTorch's, in the host's memory."""

    def __dlpack__(self) -> Any: ...


# What an operator takes: arrays, numbers, tensors at the server, and in a sequence its values.
Operand: TypeAlias = "npt.ArrayLike | SupportsDlpack | ResidentTensor | Value"
# Where a result may go.
Out: TypeAlias = "npt.NDArray[Any] | ResidentTensor"
Array: TypeAlias = npt.NDArray[Any]
Shape: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"
DataTypeName = Literal[
    "FLOAT64", "FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32",
    "UINT16", "UINT8",
]
Device = Literal["default", "auto", "gpu", "cpu"]
Priority = Literal["low", "normal", "high"]


class CallSettings(TypedDict, total=False):
    """What a call may be told beside its tensors and attributes.

    timeout: seconds until it fails with DeadlineExceededError; math.inf waits for ever.
    dtype: type of the result, where the operator leaves it open.
    device: where to run: "auto", "gpu" or "cpu".
    priority: among calls that wait: "low", "normal" or "high".
    verify: have a GPU's result compared with the CPU's before it is sent.
    feature_level: whose rules apply, such as "3_0"; the highest without it.
    request_id: written to the server's logs; at most 128 bytes.
    device_lease: the lease of the GPU to run on.
    """

    timeout: float | None
    dtype: np.dtype[Any] | type[np.generic] | str | None
    device: Device
    priority: Priority
    verify: bool
    feature_level: str
    request_id: str
    device_lease: str
