"""Arrays in and out: how they lie in memory, what is refused, and what is not copied."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

import opserve

X = np.arange(24, dtype=np.float32).reshape(4, 6) - 12.5


@pytest.mark.parametrize("view", [
    X[::2], X[:, 1:4], X[::-1], X[:, ::-2], X.T, X[1:3, ::5], X[:, :1], np.broadcast_to(X[0], (3, 6)),
    np.lib.stride_tricks.sliding_window_view(X[0], 3), X[:1, :1], np.asfortranarray(X)])
def test_views(client, view):
    assert np.array_equal(client.abs(view), np.abs(view))
    assert np.array_equal(client.add(view, view), view + view)


def test_fields_of_records(client):
    records = np.zeros(5, dtype=[("flag", "u1"), ("value", "<f4")])
    records["value"] = [-1, 2, -3, 4, -5]
    assert np.array_equal(client.abs(records["value"]), [1, 2, 3, 4, 5])


def test_read_only_inputs_and_lists(client):
    x = X.copy()
    x.flags.writeable = False
    assert np.array_equal(client.abs(x), np.abs(x))
    assert np.array_equal(client.add(np.float32([1, 2]), memoryview(np.float32([3, 4]))), [4, 6])
    assert np.array_equal(client.negate([-2, 7]), [2, -7])


def test_results_can_be_written_to_and_outlive_the_client(server):
    with opserve.connect(server.address) as client:
        y = client.abs(X)
        z = client.abs(X)
    assert y.flags.writeable and y.flags.aligned and y.ctypes.data % 64 == 0
    y += 1
    assert np.array_equal(y, np.abs(X) + 1) and np.array_equal(z, np.abs(X))


def test_buffers_that_tell_no_strides(client):
    x = (ctypes.c_float * 3 * 2)((1, -2, 3), (-4, 5, -6))
    assert np.array_equal(client.abs(x), [[1, 2, 3], [4, 5, 6]])
    assert np.array_equal(client.add(x, (ctypes.c_float * 3)(1, 2, 3)), [[2, 0, 6], [-3, 7, -3]])
    out = (ctypes.c_float * 3 * 2)()
    assert client.negate(x, out=out) is out and [list(row) for row in out] == [[-1, 2, -3], [4, -5, 6]]
    assert client.abs(ctypes.c_float(-1)).shape == ()


class OnlyDlpack:
    """An array of a library that has no buffers."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack(client):
    assert np.array_equal(client.abs(OnlyDlpack(X.copy())), np.abs(X))
    assert np.array_equal(client.abs(OnlyDlpack(X.copy()[::-1])), np.abs(X[::-1]))
    result = client.abs(X)
    assert np.from_dlpack(result).ctypes.data == result.ctypes.data


class OnlyArray:
    """What NumPy can make an array of, here one that must be copied, such as a column of a table."""

    def __array__(self, dtype=None, copy=None):
        return X[::-1]


def test_what_numpy_makes_an_array_of(client):
    assert np.array_equal(client.abs(OnlyArray()), np.abs(X[::-1]))


class OfAnotherDevice(OnlyDlpack):
    def __dlpack__(self, **arguments):
        raise BufferError("memory of a GPU")


def test_dlpack_that_cannot_be_had(client):
    with pytest.raises(opserve.InvalidArgumentError, match="__dlpack__"):
        client.abs(OfAnotherDevice(X))


def test_out_is_filled_and_returned(client):
    out = np.empty_like(X)
    address = out.ctypes.data
    assert client.abs(X, out=out) is out
    assert np.array_equal(out, np.abs(X)) and out.ctypes.data == address
    single = np.empty((), np.float32)
    assert client.add(np.float32(1), np.float32(2), out=single) is single and single == 3


def test_out_and_dtype_agree(client):
    out = np.empty(X.shape, np.uint32)
    assert client.is_nan(X, out=out, dtype="uint32") is out
    for run in (client.is_nan, client.start.is_nan):
        with pytest.raises(opserve.InvalidArgumentError, match="UINT8, and `out` is UINT32") as raised:
            run(X, out=out, dtype=np.uint8)
        assert raised.value.violations[0].field == "dtype"
    assert client.is_nan(X, out=out, dtype=None) is out


def test_out_may_be_the_input(client):
    x = X.copy()
    client.abs(x, out=x)
    assert np.array_equal(x, np.abs(X))


def read_only():
    out = np.empty_like(X)
    out.flags.writeable = False
    return out


@pytest.mark.parametrize("out, says", [
    (np.empty((8, 6), np.float32)[::2], "not contiguous"),
    (np.asfortranarray(X), "not contiguous"),
    (read_only(), "read-only"),
    (np.empty_like(X, dtype=bool), "never bool"),
    (np.empty_like(X, dtype=complex), "complex128"),
    (np.empty_like(X, dtype=np.float64), "FLOAT64"),
    (np.empty_like(X, dtype=np.int32), "INT32"),
    (np.empty((4, 5), np.float32), r"\[4, 5\]"),
    (np.empty(24, np.float32), r"\[24\]"),
    ([1.0], "no array"),
    (object(), "no array"),
])
def test_out_that_cannot_be(client, out, says):
    with pytest.raises(opserve.InvalidArgumentError, match=says) as raised:
        client.abs(X, out=out)
    assert raised.value.violations[0].field.startswith("out")


@pytest.mark.parametrize("x, says", [
    (X.astype(complex), "complex128"), (X.astype(">f4"), ">f4"),
    pytest.param(X.astype(np.longdouble), "float128|longdouble", marks=pytest.mark.skipif(
        np.finfo(np.longdouble).nmant == np.finfo(np.double).nmant, reason="long double is double here")),
    (np.array(["a"]), "<U1"), (np.array([object()]), "object"), (np.array(["2020"], "M8[D]"), "datetime64"),
    (X.astype(">i2"), ">i2"), (object(), "object"), (np.datetime64("2020-01-01"), "datetime64"),
    (np.timedelta64(1, "s"), "timedelta64"), ((ctypes.c_char * 3)(), "c_char_Array_3"),
])
def test_types_that_cannot_be(client, x, says):
    with pytest.raises(opserve.InvalidArgumentError, match=says) as raised:
        client.abs(x)
    assert raised.value.reason == "INVALID_ARRAY" and raised.value.violations[0].field == "input"


def test_shapes_that_do_not_go_together(client):
    with pytest.raises(opserve.InvalidArgumentError) as raised:
        client.add(np.ones((2, 3), np.float32), np.ones((2, 4), np.float32))
    assert [violation.field for violation in raised.value.violations] == ["a", "b"]


def test_no_elements_and_no_array(client):
    with pytest.raises(opserve.InvalidArgumentError, match="every size is at least 1"):
        client.abs(np.empty((0, 3), np.float32))
    with pytest.raises(opserve.InvalidArgumentError, match="InputTensor is missing"):
        client.abs(None)
    with client.tensor(X) as tensor:
        for keep in (client.tensor, tensor.write):
            with pytest.raises(opserve.InvalidArgumentError, match="array: None is no array"):
                keep(None)


# Each prints by how many MiB the process's memory grew at most while it asked which of 32 Mi FLOAT32 are NaN:
# the answer has 32 MiB, a copy of what is asked for 128 MiB.
MEASURE = """
import sys
import numpy as np, opserve
client = opserve.connect(sys.argv[1], max_shared_bytes=0)
client.is_nan(np.zeros(16, np.float32))
base = np.zeros((8192, 4096), np.float32) + 1
x = eval(sys.argv[2])
out = np.zeros(x.shape, np.uint8) + 1
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")
before = peak()
client.is_nan(x, out=out)
assert not out.any()
print(peak() - before)
"""


@pytest.mark.parametrize("view, is_copied", [
    ("base", False), ("base.T", False), ("base[:, :4000]", False), ("base.reshape(2, -1)[::-1]", True),
    ("np.broadcast_to(base[0], (8192, 4096))", False)])
def test_memory_shows_what_is_copied(server, view, is_copied):
    grown = float(subprocess.run([sys.executable, "-c", MEASURE, server.address, view], capture_output=True,
                                 text=True, check=True, timeout=120).stdout)
    assert (grown > 128) == is_copied, f"{grown:.0f} MiB"


def test_large_arrays_go_through_shared_memory_by_themselves(server):
    x = np.linspace(-9, 9, 1 << 17, dtype=np.float32)
    with opserve.connect(server.address) as client:
        client.abs(x)  # which tells how large such results are
        calls = [client.start.abs(x) for _ in range(2)]
        assert [call.info().path for call in calls] == ["SHARED_MEMORY"] * 2
        assert all((call.result() == np.abs(x)).all() for call in calls)
        kept = calls[0].result()
    assert (kept == np.abs(x)).all(), "also when the client is gone"
    with opserve.connect(server.address, max_shared_bytes=0) as client:
        client.abs(x)
        assert client.start.abs(x).info().path == "MESSAGE"


def test_memory_shows_that_results_in_out_are_not_made_twice(server):
    """What gRPC received, and nothing more, beside what was there before."""
    script = MEASURE.replace("client.is_nan(x, out=out)", "client.abs(x, out=x); out[:] = 0")
    grown = float(subprocess.run([sys.executable, "-c", script, server.address, "base"], capture_output=True,
                                 text=True, check=True, timeout=120).stdout)
    assert grown < 200
