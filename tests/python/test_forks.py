"""Processes that are forked off one with a client: gRPC does not work there, so they are told so, and the parent's
calls go on."""

import multiprocessing
import subprocess
import sys

import numpy as np
import pytest

import opserve

FORK = multiprocessing.get_context("fork")
LIMIT_S = 60
VALUES = np.linspace(-9, 9, 1000, dtype=np.float32)


@pytest.fixture(name="address")
def address_of_server(server):
    return server.address


def raised_by(function):
    """What `function` raises, as text."""
    try:
        function()
    except Exception as error:  # pylint: disable=broad-exception-caught
        return f"{type(error).__name__}: {error}"
    return "nothing"


def run_in_child(*functions):
    """What each function raises in a forked process, and with what that process ends."""
    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=lambda: sender.send([raised_by(function) for function in functions]))
    child.start()
    sender.close()
    assert receiver.poll(LIMIT_S), "the child says nothing"
    said = receiver.recv()
    child.join(LIMIT_S)
    return said, child.exitcode


def connect_and_call(address):
    with opserve.connect(address) as client:
        client.abs(VALUES)


def test_calls_of_a_child_are_refused(address):
    with opserve.connect(address) as client:
        client.abs(VALUES)
        tensor = client.tensor(VALUES)
        stream = client.stream()
        call = stream.abs(VALUES)
        said, code = run_in_child(lambda: client.abs(VALUES), lambda: connect_and_call(address), tensor.read,
                                  lambda: stream.abs(VALUES), call.result, client.server_info)
        assert code == 0
        for text in said:
            assert text.startswith("RuntimeError: this process was forked off one that had connected"), text
        np.testing.assert_array_equal(tensor.read(), VALUES)
        np.testing.assert_array_equal(call.result(), np.abs(VALUES))


def test_ends_of_a_child_leave_the_parent_alone(address):
    """Also where the child deletes what it has of the parent's client."""
    with opserve.connect(address) as client:
        held = [client.tensor(VALUES), client.stream(), client.abs(VALUES)]
        for _ in range(5):
            said, code = run_in_child(held.clear, client.close)
            assert (said, code) == (["nothing", "nothing"], 0)
            np.testing.assert_array_equal(client.abs(VALUES), np.abs(VALUES))
        np.testing.assert_array_equal(held[0].read(), VALUES)


def test_garbage_of_a_child_leaves_the_parent_alone(address):
    """Python may collect it in a child before anything else that is the child's runs."""
    program = f"""
import gc, os, sys
os.register_at_fork(after_in_child=gc.collect)
import numpy, opserve
values = numpy.float32([-7])
gc.disable()
cycle = [opserve.connect({address!r})]
cycle += [cycle[0].stream(), cycle[0].tensor(values), cycle]
cycle[0].abs(values)
client = opserve.connect({address!r})
del cycle
child = os.fork()
if child == 0:
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
gc.collect()
sys.exit(int(client.abs(values)[0]))
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=LIMIT_S, capture_output=True)
    assert (done.returncode, done.stderr) == (7, b"")


def test_a_child_may_connect_where_its_parent_has_not(address):
    program = f"""
import os, sys
import numpy, opserve
child = os.fork()
if child == 0:
    with opserve.connect({address!r}) as client:
        sys.exit(int(client.abs(numpy.float32([-7]))[0]))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=LIMIT_S, capture_output=True)
    assert (done.returncode, done.stderr) == (7, b"")


def test_a_child_that_exits_by_itself_ends(address):
    program = f"""
import os, sys
import numpy, opserve
client = opserve.connect({address!r})
values = numpy.float32([-7])
tensor, stream = client.tensor(values), client.stream()
pending = stream.abs(values)
for _ in range(10):
    child = os.fork()
    if child == 0:
        sys.exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert client.abs(values)[0] == 7
sys.exit(int(pending.result()[0]))
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=LIMIT_S, capture_output=True)
    assert (done.returncode, done.stderr) == (7, b"")
