"""GPUs for one program alone."""

import subprocess
import sys

import numpy as np
import pytest
from gpu_probe import has_gpu
from required import is_required
from server_process import ServerProcess

import opserve

X = np.float32([1, -2, 3])


@pytest.fixture(scope="module")
def gpu_client(programs, tmp_path_factory):
    """Of a server whose only GPU is one in software."""
    with ServerProcess(programs / "opserve-server", tmp_path_factory.mktemp("gpu"),
                       ["--allow-software-adapters"]) as server:
        if not has_gpu(programs / "opserve", server.address):
            assert not is_required("gpu"), "OPSERVE_REQUIRE names gpu: the server finds no GPU"
            pytest.skip("no GPU, not even one in software")
        with opserve.connect(server.address) as connected:
            connected.address = server.address
            yield connected


def test_servers_without_a_gpu_lease_none(client):
    with pytest.raises(opserve.FailedPreconditionError) as refused:
        client.lease_device()
    assert refused.value.reason == "DEVICE_UNAVAILABLE"


def test_calls_run_under_a_lease(gpu_client):
    with gpu_client.lease_device(seconds=90, label="test") as lease:
        assert 0 < lease.seconds <= 90 and not lease.ended
        gpus = [device.name for device in gpu_client.server_info().devices if device.name.startswith("d3d12/")]
        assert lease.device in gpus
        call = gpu_client.start.abs(X, device_lease=lease.id)
        assert call.result().tolist() == [1, 2, 3] and call.info().device == lease.device
        assert 90 < lease.renew(120) <= 120
    assert lease.ended
    with pytest.raises(opserve.NotFoundError) as refused:
        gpu_client.abs(X, device_lease=lease.id)
    assert refused.value.reason == "DEVICE_LEASE_NOT_FOUND"
    with pytest.raises(opserve.InvalidArgumentError, match="released"):
        lease.renew()


def test_others_wait_for_their_turn(gpu_client):
    with gpu_client.lease_device():
        with pytest.raises(TimeoutError):
            gpu_client.lease_device(timeout=0.01)
    # Neither of them is left.
    gpu_client.lease_device().release()


# Releases leases that other threads renew.
RENEWALS_PROGRAM = """
import sys, threading
import opserve

sys.setswitchinterval(1e-6)
client = opserve.connect(sys.argv[1])

def renew(lease, go):
    go.wait()
    try:
        while not lease.ended:
            lease.renew(30)
    except opserve.Error:
        pass

for round in range(60):
    lease, go = client.lease_device(timeout=60), threading.Event()
    threads = [threading.Thread(target=renew, args=(lease, go)) for _ in range(3)]
    for thread in threads:
        thread.start()
    go.set()
    for _ in range(round * 50):
        pass
    lease.release()
    for thread in threads:
        thread.join()
"""


def test_a_lease_is_released_while_others_renew_it(gpu_client):
    done = subprocess.run([sys.executable, "-c", RENEWALS_PROGRAM, gpu_client.address], stderr=subprocess.PIPE,
                          text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_lease_that_nobody_has_is_given_back(gpu_client):
    gpu_client.lease_device()
    gpu_client.lease_device().release()


def test_leases_that_make_no_sense(gpu_client):
    with pytest.raises(opserve.NotFoundError) as refused:
        gpu_client.lease_device("d3d12/9")
    assert refused.value.reason == "DEVICE_NOT_FOUND"
    with pytest.raises(opserve.InvalidArgumentError) as refused:
        gpu_client.lease_device(seconds=-1)
    assert refused.value.violations[0].field == "seconds"
