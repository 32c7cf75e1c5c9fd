"""Several hosts as one target."""

import asyncio

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


def test_streams_go_to_the_host_of_their_tensors(hosts):
    addresses = [host.address for host in hosts]

    async def through_aio(client, tensor):
        async with client.aio.stream(host=tensor.host) as stream:
            return await stream.add(tensor, 2)

    with opserve.connect(",".join(addresses)) as client:
        homes = set()
        for number in range(1000):
            with client.tensor(np.float32([number])) as tensor:
                homes.add(tensor.host)
                with client.stream(host=tensor.host) as stream:
                    call = stream.add(tensor, 1)
                assert call.result() == number + 1
                assert asyncio.run(through_aio(client, tensor)) == number + 2
            if len(homes) == len(addresses):
                break
        assert homes == set(addresses)
        with pytest.raises(opserve.InvalidArgumentError, match="deleted"):
            assert tensor.host


def test_one_host_may_have_no_name(client):
    with client.zeros(1) as tensor, client.stream(host=tensor.host) as stream:
        assert tensor.host == "" and stream.abs(tensor).result() == 0


def test_a_list_says_what_is_wrong_with_it(hosts):
    with pytest.raises(opserve.InvalidArgumentError, match="has an empty address") as refused:
        opserve.connect(f"{hosts[0].address},")
    assert refused.value.reason == "INVALID_TARGET"
