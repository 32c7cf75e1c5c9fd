"""A program that is right, for type checkers."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import numpy as np
import numpy.typing as npt

import opserve


def run(client: opserve.Client, x: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    y: npt.NDArray[Any] = client.round(x, rounding_mode="TOWARD_ZERO", timeout=1.5, device="cpu")
    client.add(y, 1.5, out=y, dtype=np.float32)
    client.quantize_linear(x, np.float32(0.5), dtype="INT8")
    call: opserve.Call = client.start.abs(x)
    print(call.result(timeout=2).shape, call.info().device)
    with client.tensor(x, label="x") as tensor, client.stream(host=tensor.host) as stream:
        calls = [stream.activation_relu(tensor), stream.max(x, tensor)]
    with client.sequence(device="cpu") as steps:
        value: opserve.Value = steps.abs(x)
        steps.add(value, value)
    operators: list[opserve.OperatorInfo] = client.list_operators("ELEMENT_WISE_ABS", feature_level="1_0")
    with client.lease_device(seconds=60, label="x") as lease:
        client.abs(x, device_lease=lease.id)
        left: float = lease.renew()
    print(operators[0].support[0].tensors[0].data_types, operators[0].attributes[0].values, left, lease.ended)
    try:
        client.clip1(x, min=0, max=6)
    except opserve.ResourceExhaustedError as error:
        print(error.retry_delay, error.violations[0].field)
    return calls[0].result() + steps.result(value) + client.empty((2, 3))


async def run_async(client: opserve.Client, x: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    pending: Awaitable[npt.NDArray[Any]] = client.aio.abs(x)
    async with client.aio.stream() as stream:
        results = await asyncio.gather(stream.abs(x), stream.negate(x), pending)
    return results[0]
