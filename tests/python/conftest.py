"""A server for the tests, and clients of it."""

import pathlib
import socket
import sys

import pytest

import opserve

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from server_process import ServerProcess  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--bin", type=pathlib.Path, help="folder of the programs")
    parser.addoption("--address", help="of a server that runs, where there are no programs: what needs another one is skipped")


@pytest.fixture(scope="session")
def programs(request):
    folder = request.config.getoption("--bin")
    if folder is None:
        pytest.skip("there are no programs here to start")
    return folder.resolve()


@pytest.fixture(scope="session")
def server(programs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    with ServerProcess(programs / "opserve-server", folder,
                       ["--devices", "none", "--listen", f"unix:{folder / 'socket'}"]) as process:
        process.socket = f"unix:{folder / 'socket'}"
        yield process
    assert process.exit_code == 0


@pytest.fixture(scope="session")
def client(request):
    address = request.config.getoption("--address") or request.getfixturevalue("server").address
    with opserve.connect(address) as connected:
        yield connected


@pytest.fixture(scope="session")
def local_client(server):
    """Over the socket file, as programs that share memory should call."""
    with opserve.connect(server.socket) as connected:
        yield connected


@pytest.fixture(scope="session")
def small_client(programs, tmp_path_factory):
    """Of a server that takes tensors of 1 MiB at a time."""
    with ServerProcess(programs / "opserve-server", tmp_path_factory.mktemp("small"),
                       ["--devices", "none", "--max-tensor-bytes", "1M"]) as process:
        with opserve.connect(process.address) as connected:
            yield connected


@pytest.fixture
def silent_client():
    """Of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with opserve.connect(f"127.0.0.1:{listener.getsockname()[1]}", connect_timeout=0,
                             max_attempts=1) as connected:
            yield connected
