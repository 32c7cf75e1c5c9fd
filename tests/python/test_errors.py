"""What failed calls raise."""

import pickle
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

import opserve

X = np.float32([1, 2, 3])


def test_all_violations_are_there(client):
    with pytest.raises(opserve.InvalidArgumentError) as raised:
        client.round(X, rounding_mode="UP", feature_level="2_1")
    error = raised.value
    assert isinstance(error, opserve.Error) and isinstance(error, ValueError)
    assert error.code == "INVALID_ARGUMENT" and error.reason == "INVALID_REQUEST" and error.retry_delay is None
    fields = [violation.field for violation in error.violations]
    assert "attributes[0].value" in fields and len(fields) >= 2
    for violation in error.violations:
        assert violation.description in str(error)


def test_errors_travel_between_processes(client):
    with pytest.raises(opserve.InvalidArgumentError) as raised:
        client.round(X, rounding_mode="UP")
    copy = pickle.loads(pickle.dumps(raised.value))
    assert type(copy) is type(raised.value) and str(copy) == str(raised.value)
    assert copy.violations == raised.value.violations and copy.reason == raised.value.reason
    late = opserve.DeadlineExceededError("late", "CONNECT_TIMEOUT", (), 1.5)
    assert pickle.loads(pickle.dumps(late)).retry_delay == 1.5


def test_each_code_has_a_class():
    classes = opserve.Error.__subclasses__()
    assert len({kind.code for kind in classes}) == len(classes) == 16
    assert {kind.__name__ for kind in classes} <= set(opserve.__all__)


def test_no_server():
    with pytest.raises(opserve.UnavailableError) as raised:
        opserve.connect("unix:/nonexistent/socket", max_attempts=1)
    assert isinstance(raised.value, ConnectionError) and raised.value.reason == "UNKNOWN_HOST"


@pytest.mark.parametrize("options, reason", [
    ({"channels": 0}, "INVALID_OPTIONS"),
    ({"tls": opserve.Tls(root_certificates="no certificate")}, "INVALID_OPTIONS"),
    ({"connect_timeout": -1}, "INVALID_ARRAY"),
    *[(options, "INVALID_ARRAY") for options in (
        {"bearer_token": None}, {"bearer_token": b"secret"}, {"client_name": None}, {"client_name": 7},
        {"channels": "2"}, {"max_attempts": 1.5}, {"max_shared_bytes": -1}, {"idle_buffer_bytes": None},
        {"max_message_bytes": 1 << 40}, {"tls": opserve.Tls(root_certificates=b"...")}, {"tls": "ca.pem"})],
])
def test_options_that_make_no_sense(server, options, reason):
    with pytest.raises(opserve.InvalidArgumentError) as raised:
        opserve.connect(server.address, **options)
    assert raised.value.reason == reason


def test_options_of_another_type_are_named(server):
    for options, text in (({"channels": "2"}, "channels: a str is no integer of 32 bits"),
                          ({"max_shared_bytes": -1}, "max_shared_bytes: -1 is no number of bytes"),
                          ({"tls": "ca.pem"}, "tls: a str is neither a bool nor an opserve.Tls"),
                          # It may be a secret.
                          ({"bearer_token": b"secret"}, "bearer_token: a bytes is no string")):
        with pytest.raises(opserve.InvalidArgumentError) as raised:
            opserve.connect(server.address, **options)
        assert str(raised.value).splitlines()[1:] == ["  - " + text]


def test_no_target():
    with pytest.raises(opserve.InvalidArgumentError) as raised:
        opserve.connect("no port")
    assert raised.value.reason == "INVALID_TARGET"


def test_time_is_up(silent_client):
    with pytest.raises(opserve.DeadlineExceededError) as raised:
        silent_client.abs(X, timeout=0.2)
    assert isinstance(raised.value, TimeoutError)


def test_settings(client):
    result = client.start.abs(X, device="CPU", priority="high", request_id="one", verify=False, feature_level="6_4",
                              timeout=None)
    assert result.info().device.startswith("cpu/")
    with pytest.raises(opserve.FailedPreconditionError):
        client.abs(X, device="gpu")
    with pytest.raises(opserve.InvalidArgumentError, match="LOW, NORMAL, HIGH"):
        client.abs(X, priority="urgent")
    with pytest.raises(TypeError, match="devise"):
        client.abs(X, devise="gpu")
    with pytest.raises(ValueError, match="truth value"):
        client.abs(X, verify=np.array([1, 2]))


def test_closed_client(server):
    client = opserve.connect(server.address)
    client.close()
    with pytest.raises(opserve.InvalidArgumentError, match="closed"):
        client.abs(X)


def test_cancelled_call(silent_client):
    call = silent_client.start.abs(X)
    with pytest.raises(TimeoutError):
        call.result(timeout=0.01)
    assert not call.done()
    call.cancel()
    with pytest.raises(opserve.CancelledError):
        call.result()
    assert call.done()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timer that sends signals")
def test_signals_end_the_wait_for_a_call(silent_client):
    class Rang(Exception):
        pass

    def ring(*_):
        raise Rang

    previous = signal.signal(signal.SIGALRM, ring)
    call = silent_client.start.abs(X)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Rang):
            call.result()
    finally:
        signal.signal(signal.SIGALRM, previous)
    with pytest.raises(opserve.CancelledError):
        call.result()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timer that sends signals")
@pytest.mark.parametrize("wait", [
    lambda client: client.abs(X, timeout=0.5), lambda client: client.abs(X, out=np.empty_like(X), timeout=0.5),
    lambda client: client.list_operators()])
def test_what_handlers_of_signals_raise_goes_on_where_a_call_fails(wait):
    """They run once the call is over, while its error is made."""
    class Rang(Exception):
        pass

    def ring(*_):
        raise Rang

    with socket.create_server(("127.0.0.1", 0)) as listener:
        with opserve.connect(f"127.0.0.1:{listener.getsockname()[1]}", connect_timeout=0, max_attempts=1,
                             timeout=0.5) as client:
            previous = signal.signal(signal.SIGALRM, ring)
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                with pytest.raises(Rang):
                    wait(client)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, previous)


@pytest.mark.parametrize("wait", [
    lambda client: client.abs(X), lambda client: client.abs(X, out=np.empty_like(X)),
    lambda client: client.start.abs(X).result()])
def test_other_threads_go_on_while_a_call_waits(wait):
    """The call can only end before its time because this thread ends its connection."""
    outcome = []

    def call():
        with pytest.raises(opserve.Error) as raised:
            wait(client)
        outcome.append(raised.value)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with opserve.connect(address, connect_timeout=0, max_attempts=1, timeout=10) as client:
            thread = threading.Thread(target=call)
            thread.start()
            connection, _ = listener.accept()
            connection.close()
            thread.join()
    assert isinstance(outcome[0], opserve.UnavailableError)


DAEMON_PROGRAM = """
import sys, threading
import numpy, opserve

client = opserve.connect(sys.argv[1])
runs = threading.Semaphore(0)

def calls():
    while True:
        client.abs(numpy.float32([1]))
        client.start.abs(numpy.float32([1])).result()
        runs.release()

for _ in range(4):
    threading.Thread(target=calls, daemon=True).start()
for _ in range(40):
    runs.acquire()
"""


def test_programs_end_while_daemons_call(server):
    done = subprocess.run([sys.executable, "-c", DAEMON_PROGRAM, server.address], stderr=subprocess.PIPE, text=True,
                          check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
