"""Several hosts as one target."""

import numpy as np
import pytest
from server_process import ServerProcess

import opserve


@pytest.fixture
def hosts(programs, tmp_path):
    targets = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        targets.append(f"unix:{folder / 'socket'}")
    with ServerProcess(programs / "opserve-server", tmp_path / "a", ["--devices=none", f"--advertise={targets[0]}"],
                       listen=targets[:1]) as first:
        with ServerProcess(programs / "opserve-server", tmp_path / "b",
                           ["--devices=none", f"--advertise={targets[1]}"], listen=targets[1:]) as second:
            yield first, second


def test_calls_go_to_all_and_tensors_to_theirs(hosts):
    addresses = [host.address for host in hosts]
    with opserve.connect(",".join(addresses)) as client:
        homes = set()
        for number in range(1000):
            with client.tensor(np.float32([number])) as tensor:
                homes.add(tensor.id.partition("@")[2])
                assert client.add(tensor, 1) == number + 1
            if len(homes) == len(addresses):
                break
        assert homes == set(addresses)


def test_a_list_says_what_is_wrong_with_it(hosts):
    with pytest.raises(opserve.InvalidArgumentError, match="has an empty address") as refused:
        opserve.connect(f"{hosts[0].address},")
    assert refused.value.reason == "INVALID_TARGET"
