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


def test_sequences(client):
    x = np.float32([-1.5, 2.25])
    with client.stream() as stream:
        sequences = []
        for i in range(200):
            with stream.sequence() as steps:
                sum_ = steps.add(x, i)
                whole = steps.round(sum_, rounding_mode="TOWARD_ZERO")
                steps.output(whole, sum_)
            sequences.append((steps, whole, sum_))
        call = stream.abs(x)
    assert np.array_equal(call.result(), np.abs(x))
    for i, (steps, whole, sum_) in enumerate(sequences):
        assert np.array_equal(steps.result(sum_), x + np.float32(i))
        assert np.array_equal(steps.result(whole), np.trunc(x + np.float32(i)))


def test_a_sequence_on_more_than_the_server_takes_at_a_time(small_client):
    x = np.random.default_rng(6).normal(size=(1500, 3000)).astype(np.float32)
    row = np.arange(3000, dtype=np.float32)
    assert x.nbytes > small_client.server_info().limits.max_tensor_bytes
    with small_client.stream() as stream:
        with stream.sequence() as steps:
            sum_ = steps.add(steps.abs(x), row)
            flags = steps.logical_less_than(sum_, 1500)
            steps.output(sum_, flags)
        expected = np.abs(x) + row
        assert np.array_equal(steps.result(sum_), expected)
        assert np.array_equal(steps.result(flags), (expected < 1500).astype(np.uint8))
    with pytest.raises(opserve.InvalidArgumentError):
        with small_client.sequence() as whole:
            whole.abs(x)


def test_a_sequence_that_fails_leaves_the_others_alone(client):
    x = np.float32([1.5])
    with client.stream() as stream:
        with stream.sequence() as bad:
            value = bad.round(x, rounding_mode="UP")
        with stream.sequence() as good:
            rounded = good.round(x, rounding_mode="TOWARD_ZERO")
            with pytest.raises(opserve.Error, match="after the block"):
                good.result(rounded)
        assert good.result(rounded) == 1
        for _ in range(2):
            with pytest.raises(opserve.InvalidArgumentError) as raised:
                bad.result(value)
            assert raised.value.violations[0].field.startswith("steps[0]")


def test_what_sequences_of_streams_are_not(client):
    x = np.float32([1.5])
    with client.stream() as stream, client.zeros(1) as target:
        with stream.sequence() as placed:
            value = placed.abs(x, out=target)
        with pytest.raises(opserve.InvalidArgumentError, match="come in the stream"):
            placed.result(value)
        with pytest.raises(KeyError):
            with stream.sequence() as raising:
                raising.abs(x)
                raise KeyError
        with pytest.raises(opserve.Error, match="has not run"):
            raising.result(value)


def test_a_sequence_is_given_up(silent_client):
    stream = silent_client.stream()
    with stream.sequence() as steps:
        value = steps.abs(np.float32([1]))
    with pytest.raises(TimeoutError):
        steps.result(value, timeout=0.01)
    steps.cancel()
    with pytest.raises(opserve.CancelledError):
        steps.result(value)


def test_options_that_cannot_be(client):
    with pytest.raises(opserve.InvalidArgumentError):
        client.stream(piece_bytes=1)


def test_a_stream_outlives_its_closed_client(server):
    client = opserve.connect(server.address)
    stream = client.stream()
    client.close()
    assert stream.abs(np.float32([-1])).result() == 1
    stream.finish()
