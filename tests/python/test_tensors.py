"""Tensors at the server, and shared memory."""

import gc

import numpy as np
import pytest

import opserve

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5


def test_operands_and_results(client):
    with client.tensor(X) as x, client.zeros(X.shape) as y:
        assert x.shape == (3, 4) and x.dtype == np.float32 and not x.deleted and x.device == ""
        assert client.abs(x, out=y) is y
        assert np.array_equal(y.read(), np.abs(X))
        assert np.array_equal(client.add(y, np.float32([[1], [2], [3]])), np.abs(X) + [[1], [2], [3]])
        out = np.empty_like(X)
        assert x.read(out) is out and np.array_equal(out, X)
        x.write(X.T.copy().T * 2)
        assert np.array_equal(x.read(), X * 2)
    assert x.deleted
    with pytest.raises(opserve.InvalidArgumentError, match="deleted"):
        client.abs(x)


def test_views_are_packed_and_no_dimensions_stay(client):
    with client.tensor(X[::-1, ::2]) as x, client.tensor(np.float16(3)) as single:
        assert np.array_equal(x.read(), X[::-1, ::2])
        assert single.shape == () and single.read().shape == () and client.add(single, 1) == 4


def test_what_does_not_fit(client):
    with client.tensor(X) as x:
        for wrong in (X[0], X.astype(np.int32)):
            with pytest.raises(opserve.InvalidArgumentError, match="the tensor FLOAT32"):
                x.write(wrong)
            with pytest.raises(opserve.InvalidArgumentError, match="the tensor FLOAT32"):
                x.read(wrong.copy())
        with pytest.raises(opserve.InvalidArgumentError):
            client.abs(X[0], out=x)
    with pytest.raises(opserve.InvalidArgumentError):
        client.zeros((3,), dtype=complex)
    with pytest.raises(opserve.InvalidArgumentError):
        client.tensor(X, device="gpu/none")
    for make in (lambda: client.zeros((3,), volatile=True), lambda: client.tensor(X, volatile=True)):
        with pytest.raises(opserve.InvalidArgumentError, match="is_volatile"):
            make()


def test_they_are_given_up_with_their_object(server):
    with opserve.connect(server.address, client_name="forgetful") as client:
        held = [client.zeros((1 << 20,)) for _ in range(8)]
        del held
        gc.collect()
        # Each of them would take 16 MiB more of what the client may have.
        for _ in range(64):
            client.zeros((4 << 20,))


def test_shared_memory(local_client):
    region = local_client.region(1 << 20)
    x = region.empty((100, 100), np.float32)
    y = region.empty(x.shape, "float32")
    assert region.nbytes >= 1 << 20 and region.used >= x.nbytes + y.nbytes and y.ctypes.data % 64 == 0
    x[:] = -2
    assert local_client.abs(x, out=y, device="cpu") is y and (y == 2).all()
    assert np.array_equal(local_client.add(x, y), np.zeros(x.shape))
    assert np.array_equal(local_client.add(x[1:, ::2], x[:-1, 1::2]), x[1:, ::2] * 2)
    with pytest.raises(opserve.InvalidArgumentError, match="left"):
        region.empty((1 << 20,), np.float32)


def test_arrays_keep_their_region(local_client):
    x = local_client.region(4096).empty(1024, np.float32)
    gc.collect()
    x[:] = -1
    assert (local_client.abs(x) == 1).all()


def test_shared_memory_by_itself(local_client):
    x = local_client.empty((64, 64))
    out = local_client.empty((64, 64), np.float32)
    assert local_client.shares_memory
    x[:] = 1.5
    local_client.round(x, rounding_mode="TOWARD_ZERO", out=out)
    assert (out == 1).all()
    with local_client.sequence() as steps:
        steps.negate(steps.abs(x), out=out)
    assert (out == -1.5).all()


def test_arrays_in_shared_memory_do_not_travel(local_client, server):
    """More than a message holds, which could not be sent."""
    limit = local_client.server_info().limits.max_message_bytes
    x = local_client.region(limit + 4096).empty(limit // 4 + 512, np.float32)
    x[:] = -1
    out = local_client.empty(x.shape[0] // 64, np.float32)
    assert local_client.abs(x[::64][:out.shape[0]], out=out) is out and (out == 1).all()


def test_without_shared_memory(programs, tmp_path):
    from server_process import ServerProcess

    with ServerProcess(programs / "opserve-server", tmp_path,
                       ["--devices", "none", "--regions", "off"]) as process:
        with opserve.connect(process.address) as client:
            x = client.empty((2, 2))
            x[:] = -1
            assert not client.shares_memory and (client.abs(x) == 1).all()
            with pytest.raises(opserve.FailedPreconditionError):
                client.region(4096)


def test_server_info(client):
    info = client.server_info()
    assert client.is_serving() and info.version and info.feature_level
    assert [device.kind for device in info.devices] == ["CPU"] and info.devices[0].state == "READY"
    assert info.limits.max_dimension_count == 8 and info.limits.max_message_bytes > 0
