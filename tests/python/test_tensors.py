"""Tensors at the server, and shared memory."""

import gc
import os
import sys
import threading
import time

import numpy as np
import pytest
from server_process import ServerProcess

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
    with client.tensor(X) as x:
        with pytest.raises(opserve.InvalidArgumentError, match="in whose place this operator cannot work"):
            client.activation_gelu(x, out=x)
        expected = client.activation_gelu(X)
        with client.sequence() as steps:
            steps.activation_gelu(x, out=x)
        assert np.array_equal(x.read(), expected)
    with pytest.raises(opserve.InvalidArgumentError):
        client.tensor(X, device="gpu/none")
    for make in (lambda: client.zeros((3,), volatile=True), lambda: client.tensor(X, volatile=True)):
        with pytest.raises(opserve.InvalidArgumentError, match="is_volatile"):
            make()


@pytest.mark.parametrize("shape", [-1, 2.5, 2**64, (3, -1), (3, 2.5), "3", None])
def test_what_is_no_shape(client, local_client, shape):
    for make in (client.zeros, lambda wrong: local_client.region(4096).empty(wrong, np.float32)):
        with pytest.raises(opserve.InvalidArgumentError, match="is no shape; sizes are integers from 0 on") as refused:
            make(shape)
        assert refused.value.violations[0].field == "shape"


def test_sizes_beyond_the_wire(client, local_client):
    for size in (2**32, 2**63, 2**64 - 2**32 + 3):
        with pytest.raises(opserve.InvalidArgumentError, match=f"a dimension of {size} elements"):
            client.zeros(size)
    with pytest.raises(opserve.InvalidArgumentError, match="is no shape"):
        local_client.empty(-1)
    for too_many in (lambda: local_client.empty((2**40, 2**40)), lambda: local_client.region(2**70)):
        with pytest.raises(opserve.InvalidArgumentError, match="is no number of bytes") as refused:
            too_many()
        assert refused.value.violations[0].field == "nbytes"


@pytest.mark.parametrize("given", [-1, 1.5, None, "4096"])
def test_what_is_no_number_of_bytes(local_client, given):
    for name, make in (("nbytes", local_client.region),
                       ("piece_bytes", lambda wrong: local_client.stream(piece_bytes=wrong)),
                       ("max_bytes_in_flight", lambda wrong: local_client.stream(max_bytes_in_flight=wrong))):
        with pytest.raises(opserve.InvalidArgumentError, match="is no number of bytes") as refused:
            make(given)
        assert refused.value.violations[0].field == name
    assert local_client.region(np.int64(4096)).nbytes >= 4096


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


def test_more_arrays_than_the_server_shares(server):
    with opserve.connect(server.socket) as client:
        arrays = [client.empty(16) for _ in range(80)]
        for x in arrays:
            x[:] = -1
        assert client.shares_memory
        assert all((client.abs(x, out=x) == 1).all() for x in arrays)


def test_an_array_where_memory_cannot_be_shared_at_all(server, monkeypatch):
    def refuse(_):
        raise opserve.UnimplementedError("not on this system")

    with opserve.connect(server.address) as other:
        monkeypatch.setattr(other, "region", refuse)
        assert other.empty((2, 3)).shape == (2, 3) and not other.shares_memory


def test_servers_that_share_no_memory_are_asked_again(server, monkeypatch):
    """After a while, whatever the reason was."""
    with opserve.connect(server.socket) as client:
        shared, asked = client.region, []

        def refuse(nbytes):
            asked.append(nbytes)
            raise reason("not now")

        for reason in (opserve.UnavailableError, opserve.PermissionDeniedError, opserve.FailedPreconditionError):
            monkeypatch.setattr(client, "region", refuse)
            monkeypatch.setattr(opserve._client, "_SHARING_PAUSE_S", 60)
            asked.clear()
            for _ in range(3):
                assert client.empty(16).shape == (16,) and not client.shares_memory
            assert len(asked) == 1
            client._asks_at = time.monotonic()
            monkeypatch.setattr(client, "region", shared)
            x = client.empty(16)
            x[:] = -1
            assert client.shares_memory and (client.abs(x, out=x) == 1).all()


@pytest.mark.skipif(sys.platform == "win32", reason="servers on Windows share no memory")
def test_a_policy_that_lets_nobody_share_memory(programs, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(f'[[client]]\nmatch = "uid:{os.getuid()}"\nroles = ["execute", "observe"]\n', encoding="ascii")
    address = f"unix:{tmp_path / 'socket'}"
    with ServerProcess(programs / "opserve-server", tmp_path, ["--devices", "none", "--policy", policy],
                       listen=(address,)):
        with opserve.connect(address) as client:
            x = client.empty((2, 2))
            x[:] = -1
            assert not client.shares_memory and (client.abs(x, out=x) == 1).all()
            with pytest.raises(opserve.PermissionDeniedError):
                client.region(4096)


@pytest.mark.skipif(sys.platform == "win32", reason="servers on Windows share no memory")
def test_other_threads_go_on_while_the_end_of_an_array_waits(programs, tmp_path):
    """For a server that has stopped, which another thread asks for shared memory."""
    address = f"unix:{tmp_path / 'socket'}"
    raised = []
    with ServerProcess(programs / "opserve-server", tmp_path, ["--devices", "none"], listen=(address,)) as process:
        # Where the end of the array held up this thread, that would be until this time is over.
        with opserve.connect(address, timeout=20) as client:
            held = [client.empty(16)]

            def make():
                try:
                    client.region(4096)
                except opserve.Error as error:
                    raised.append(error)

            with process.stopped():
                maker, ender = threading.Thread(target=make), threading.Thread(target=held.clear)
                maker.start()
                maker.join(0.5)
                before = time.monotonic()
                ender.start()
                ender.join(0.5)
                held_up = time.monotonic() - before
                assert maker.is_alive()
            maker.join()
            ender.join()
    assert held_up < 10 and not raised


def test_other_threads_go_on_while_inputs_are_copied(server):
    """Into shared memory, before the call is on its way."""
    x = np.ones(1 << 25, np.float32)
    gaps = []
    is_over = threading.Event()

    def watch():
        last = time.perf_counter()
        while not is_over.wait(0.001):
            last, before = time.perf_counter(), last
            gaps.append(last - before)

    with opserve.connect(server.socket, max_shared_bytes=1 << 30) as client:
        client.abs(x)
        watcher = threading.Thread(target=watch)
        watcher.start()
        began = time.perf_counter()
        calls = [client.start.abs(x) for _ in range(2)]
        took = time.perf_counter() - began
        is_over.set()
        watcher.join()
        for call in calls:
            assert call.result()[-1] == 1
    assert max(gaps) < max(took / 4, 0.03), f"{max(gaps)} s of {took} s"


def arrays_of(client):
    """Matrices and a row, in shared memory where the client shares any."""
    a, b, row = client.empty((64, 64)), client.empty((64, 64)), client.empty(4096)
    a[:] = np.linspace(0.5, 2, a.size, dtype=np.float32).reshape(a.shape)
    b[:] = 2
    row[:] = a.ravel()
    return a, b, row


# Results over inputs, whole or in part, in place or not, and results that begin anywhere.
INTO = {
    "in place": lambda on, a, b, row: on.negate(a, out=a),
    "in place of the second": lambda on, a, b, row: on.subtract(b, a, out=a),
    "in place of both": lambda on, a, b, row: on.add(a, a, out=a),
    "transposed": lambda on, a, b, row: on.negate(a.T, out=a),
    "over what is read otherwise": lambda on, a, b, row: on.activation_gelu(a, out=a),
    "over the exponent": lambda on, a, b, row: on.pow(a, b, out=b),
    "over a row that is repeated": lambda on, a, b, row: on.subtract(a, a[0], out=a),
    "over a part": lambda on, a, b, row: on.negate(row[:3072], out=row[1024:]),
    "off the alignment": lambda on, a, b, row: on.negate(a.ravel()[1:], out=row[1:]),
    "off the alignment and over a part": lambda on, a, b, row: on.negate(row[:-1], out=row[1:]),
}


@pytest.mark.parametrize("how", INTO)
def test_results_over_inputs_and_anywhere(local_client, how):
    """Arrays in shared memory are as those of NumPy, of which the results here are those for new arrays."""
    class Apart:
        """Runs a call without `out`, and puts its result there."""

        def __getattr__(self, name):
            def run(*inputs, out):
                out[...] = getattr(local_client, name)(*[np.array(given) for given in inputs])
                return out
            return run

    expected, given, started = arrays_of(local_client), arrays_of(local_client), arrays_of(local_client)
    assert local_client.shares_memory
    INTO[how](Apart(), *expected)
    INTO[how](local_client, *given)
    assert all(np.array_equal(*pair) for pair in zip(expected, given))
    INTO[how](local_client.start, *started).result()
    assert all(np.array_equal(*pair) for pair in zip(expected, started))


def test_results_in_place_do_not_travel(server):
    """More than this client takes in a message."""
    with opserve.connect(server.socket, max_message_bytes=1 << 20, max_shared_bytes=0) as client:
        x = client.empty(1 << 20)
        x[:] = 1.5
        assert client.negate(x, out=x) is x and (x == -1.5).all()
        assert client.subtract(x, x, out=x) is x and (x == 0).all()
        with pytest.raises(opserve.Error):
            client.activation_gelu(x, out=x)


def test_results_of_sequences_over_inputs_and_anywhere(local_client):
    a, b, row = arrays_of(local_client)
    expected = local_client.subtract(local_client.activation_gelu(a.copy()), a[0].copy())
    with local_client.sequence() as steps:
        steps.subtract(steps.activation_gelu(a), a[0], out=a)
    assert np.array_equal(a, expected)
    with pytest.raises(opserve.InvalidArgumentError, match="is not a multiple of 64"):
        with local_client.sequence() as steps:
            steps.negate(a.ravel()[1:], out=row[1:])
    with pytest.raises(opserve.InvalidArgumentError, match="overlaps that of"):
        with local_client.sequence() as steps:
            steps.negate(a, out=b)
            steps.negate(b, out=b)


def test_arrays_in_shared_memory_do_not_travel(local_client, server):
    """More than a message holds, which could not be sent."""
    limit = local_client.server_info().limits.max_message_bytes
    x = local_client.region(limit + 4096).empty(limit // 4 + 512, np.float32)
    x[:] = -1
    out = local_client.empty(x.shape[0] // 64, np.float32)
    assert local_client.abs(x[::64][:out.shape[0]], out=out) is out and (out == 1).all()


def test_without_shared_memory(programs, tmp_path):
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
