"""A program whose marked lines type checkers must refuse, and no others."""

import numpy as np

import opserve


def run(client: opserve.Client) -> None:
    x = np.array([1], np.float32)
    client.round(x, rounding_mode="UP")  # wrong
    client.round(x)  # wrong
    client.add(x)  # wrong
    client.abs(x, devise="cpu")  # wrong
    client.abs(x, device="tpu")  # wrong
    client.abs(x, timeout="1s")  # wrong
    client.abs(x, out=[1.0])  # wrong
    client.activation_softmax1(x, axes=1)  # wrong
    client.start.abs(x).shape  # wrong
    client.frobnicate(x)  # wrong
    client.list_operators(level="1_0")  # wrong
    client.lease_device().seconds = 1  # wrong
    client.abs(x, timeout=1)
