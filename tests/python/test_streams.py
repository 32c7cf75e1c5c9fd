"""Streams."""

import numpy as np
import pytest

import opserve


def test_many_calls(client):
    with client.stream() as stream:
        calls = [stream.add(np.float32([i]), 0.5) for i in range(2000)]
    assert [call.result()[0] for call in calls] == [i + 0.5 for i in range(2000)]
    assert calls[0].info().device.startswith("cpu/")


def test_a_failure_leaves_the_others_alone(client):
    with client.stream() as stream:
        bad = stream.round(np.float32([1.5]), rounding_mode="UP")
        good = stream.round(np.float32([1.5]), rounding_mode="TOWARD_ZERO")
    assert good.result() == 1
    with pytest.raises(opserve.InvalidArgumentError):
        bad.result()
    with pytest.raises(opserve.InvalidArgumentError):
        bad.result()


def test_tensors_larger_than_a_piece(client):
    x = np.random.default_rng(5).normal(size=1 << 20).astype(np.float32)
    with client.stream(piece_bytes=64 << 10) as stream:
        call = stream.abs(x)
    assert np.array_equal(call.result(), np.abs(x))


def test_out_is_refused(client):
    with client.stream() as stream:
        with pytest.raises(opserve.InvalidArgumentError, match="new arrays"):
            stream.abs(np.float32([1]), out=np.empty(1, np.float32))


def test_options_that_cannot_be(client):
    with pytest.raises(opserve.InvalidArgumentError):
        client.stream(piece_bytes=1)


def test_a_stream_outlives_its_closed_client(server):
    client = opserve.connect(server.address)
    stream = client.stream()
    client.close()
    assert stream.abs(np.float32([-1])).result() == 1
    stream.finish()
