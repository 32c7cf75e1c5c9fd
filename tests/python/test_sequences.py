"""Sequences."""

import gc

import numpy as np
import pytest

import opserve

X = np.float32([-1.5, np.inf, 2.75])


def test_steps(client):
    with client.sequence() as steps:
        whole = steps.round(X, rounding_mode="TOWARD_ZERO")
        result = steps.if_(steps.is_infinity(X, infinity_mode="EITHER"), X, whole)
    assert np.array_equal(steps.result(result), [-1, np.inf, 2])


def test_outputs(client):
    with client.sequence() as steps:
        whole = steps.round(X[::2], rounding_mode="TOWARD_ZERO")
        rest = steps.subtract(X[::2], whole)
        steps.output(rest, whole)
        steps.output(whole)
    assert np.array_equal(steps.result(whole), [-1, 2])
    assert np.array_equal(steps.result(rest), [-0.5, 0.75])


def test_broadcast_of_arrays_and_values(client):
    column = np.float32([[1], [2]])
    with client.sequence() as steps:
        row = steps.abs(np.float32([3, -4]))
        table = steps.add(row, column)
        scaled = steps.multiply(steps.add(table, row), 2)
        assert table.shape == (2, 2)
    assert np.array_equal(steps.result(scaled), (np.float32([3, 4]) * 2 + column) * 2)


def test_an_array_is_sent_once(client):
    with client.sequence() as steps:
        steps.add(steps.abs(X), X)
    assert len(steps._steps.outputs()) == 1


def test_no_dimensions(client):
    with client.sequence() as steps:
        sum_ = steps.add(np.float32(1), np.float32(2))
    assert steps.result(sum_).shape == () and steps.result(sum_) == 3


def test_results_are_there_after_the_block_alone(client):
    with client.sequence() as steps:
        first = steps.abs(X)
        with pytest.raises(opserve.Error, match="after the block"):
            steps.result(first)
        steps.negate(first)
    with pytest.raises(opserve.Error, match="no output"):
        steps.result(first)


def test_an_exception_in_the_block_runs_nothing(client):
    with pytest.raises(KeyError):
        with client.sequence() as steps:
            steps.round(X, rounding_mode="UP")
            raise KeyError
    with pytest.raises(opserve.InvalidArgumentError) as raised:
        with client.sequence() as steps:
            steps.round(X, rounding_mode="UP")
    assert raised.value.violations[0].field.startswith("steps[0]")


def test_a_sequence_runs_once(client):
    with client.sequence() as steps:
        value = steps.abs(X.copy())
    # Nobody keeps the array any more.
    with pytest.raises(opserve.InvalidArgumentError, match="it was sent"):
        with steps:
            pass
    with pytest.raises(opserve.InvalidArgumentError, match="it was sent"):
        steps.negate(value)
    with pytest.raises(opserve.InvalidArgumentError, match="it was sent"):
        steps.output(value)
    assert np.array_equal(steps.result(value), np.abs(X))


def test_a_sequence_that_failed_is_not_sent_again(client):
    with pytest.raises(opserve.InvalidArgumentError):
        with client.sequence() as steps:
            steps.round(X.copy(), rounding_mode="UP")
    with pytest.raises(opserve.InvalidArgumentError, match="it was sent"):
        with steps:
            pass


def test_what_does_not_go_together(client):
    with pytest.raises(opserve.InvalidArgumentError, match="no steps"):
        with client.sequence():
            pass
    with client.sequence(device="cpu") as one:
        value = one.abs(X)
        with pytest.raises(opserve.InvalidArgumentError, match="another sequence"):
            client.sequence().abs(value)
        with pytest.raises(opserve.InvalidArgumentError, match="a value of a sequence"):
            client.abs(value)
        with pytest.raises(opserve.InvalidArgumentError, match="those of the sequence"):
            one.abs(X, device="cpu")
        with pytest.raises(opserve.InvalidArgumentError, match="shared memory"):
            one.abs(X, out=np.empty_like(X))


def test_results_of_another_sequence_are_not_given(client):
    with client.sequence() as one:
        value = one.add(X, 1)
    with client.sequence() as other:
        other.add(X, 1000)
    with pytest.raises(opserve.InvalidArgumentError, match="a value of another sequence") as raised:
        other.result(value)
    assert raised.value.violations[0].field == "value"
    assert np.array_equal(one.result(value), X + 1)


def test_values_of_a_sequence_that_is_gone_are_refused(client):
    """Also where a new one lies where it lay."""
    def is_refused(use, value):
        try:
            use(value)
        except opserve.InvalidArgumentError as error:
            return "a value of another sequence" in str(error)
        return False

    for _ in range(10):
        with client.sequence() as one:
            value = one.add(X, 1)
        del one
        gc.collect()
        with client.sequence() as other:
            assert is_refused(other.abs, value)
            other.add(X, 1000)
        assert is_refused(other.result, value)


def test_sequences_have_no_type(client):
    with pytest.raises(opserve.InvalidArgumentError, match="dtype: a sequence takes none"):
        with client.sequence(dtype=np.float16) as steps:
            steps.abs(X)


@pytest.mark.parametrize("shape, dtype, says", [
    ((3,), np.int32, "INT32"), ((3, 1), np.float32, r"\[3, 1\]"), ((1,), np.float32, r"\[1\]")])
@pytest.mark.parametrize("is_shared", [False, True])
def test_out_of_a_step_has_its_type_and_shape(local_client, shape, dtype, says, is_shared):
    out = local_client.empty(shape, dtype) if is_shared else local_client.zeros(shape, dtype)
    with pytest.raises(opserve.InvalidArgumentError, match=says) as raised:
        with local_client.sequence() as steps:
            steps.abs(X, out=out)
    assert raised.value.violations[0].field.startswith("steps[0].output")


def test_out_says_the_type_of_a_step(local_client):
    out = local_client.empty(3, np.uint32)
    with local_client.sequence() as steps:
        flags = steps.is_nan(X, out=out, dtype=np.uint32)
        more = steps.add(flags, 1)  # the number is of that type
        steps.output(more)
        with pytest.raises(opserve.InvalidArgumentError, match="UINT8, and `out` is UINT32") as raised:
            steps.is_nan(X, out=out, dtype=np.uint8)
        assert raised.value.violations[0].field == "dtype"
    assert steps.result(flags) is out and np.array_equal(out, [0, 0, 0])
    assert np.array_equal(steps.result(more), np.uint32([1, 1, 1]))


def test_out_of_no_dimensions(local_client):
    with local_client.zeros(()) as target:
        with local_client.sequence() as steps:
            steps.add(np.float32(1), np.float32(2), out=target)
        assert target.read() == 3


def test_no_type_of_a_step_is_none(client):
    with client.sequence() as steps:
        flags = steps.is_nan(X, dtype=None)
        with pytest.raises(opserve.InvalidArgumentError, match="those of the sequence"):
            steps.abs(X, dtype=None, device="cpu")
    assert steps.result(flags).dtype == np.uint8


def test_out_and_types_of_steps(client):
    with client.zeros(3) as target:
        with client.sequence() as steps:
            flags = steps.is_nan(X, dtype=np.uint32)
            steps.abs(X, out=target)
            steps.output(flags)
        assert steps.result(flags).dtype == np.uint32
        assert np.array_equal(target.read(), np.abs(X))
