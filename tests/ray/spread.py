#!/usr/bin/env python3
"""Spreads tasks over three nodes of Ray's, each with a server of its own, of which one node, one server and one actor are killed.

All nodes are processes of this machine, on its loopback interface (ray.cluster_utils.Cluster). The data set is a file; each task
reads its block and returns the result, which is compared bit by bit with NumPy's. tests/ray/ray_test.py and `make ray` run it.
"""

import argparse
import ast
import contextlib
import dataclasses
import io
import os
import pathlib
import re
import signal
import socket
import sys
import tempfile
import time

import numpy as np
import opserve
import opserve_ray
import ray
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from required import skip_without  # noqa: E402  pylint: disable=wrong-import-position

# Longest wait for anything; what takes it has failed.
LIMIT_S = 300
# Results that wait in Ray's stores of objects: three nodes' are the smallest that Ray makes.
STORE_BYTES = 80 << 20
TASKS_AT_A_TIME = 24

SERVERS = opserve_ray.Servers(port=0, start_limit_s=LIMIT_S)
GPU_SERVERS = opserve_ray.Servers(port=0, gpus=1, start_limit_s=LIMIT_S)
# Which two fit on a node with one GPU.
HALF_SERVERS = opserve_ray.Servers(port=0, gpus=0.5, start_limit_s=LIMIT_S)


@ray.remote(retry_exceptions=[opserve.UnavailableError], max_retries=20, scheduling_strategy="SPREAD")
def whole(path, block, elements):
    """The whole numbers of a block, with the node that computed it, where its server is, and how the call went there."""
    x = np.fromfile(path, np.float32, elements, offset=block * elements * 4)
    target = SERVERS.target()
    call = SERVERS.connect().start.round(x, rounding_mode="TOWARD_ZERO")
    return call.result(), ray.get_runtime_context().get_node_id(), target, call.info().path


@ray.remote(retry_exceptions=[opserve.UnavailableError])
def gpu_target():
    """Where a task here finds servers with a GPU, and whether they compute."""
    result = GPU_SERVERS.connect().add(np.float32([1, 2]), 1)
    return GPU_SERVERS.target(), result.tolist()


def processes_with(text):
    """Processes that have a text among their arguments or in their environment."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != os.getpid() and any(
                    text.encode() in (folder / name).read_bytes() for name in ("cmdline", "environ")):
                found.append(int(folder.name))
        except (OSError, ValueError):
            continue
    return found


def server_at(target):
    """The process of the server that listens at a socket file, or None."""
    return next(iter(processes_with(f"--listen={target}\0")), None)


def parent_of(process):
    """The process that started another one."""
    return int(pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1])


def wait_until(condition, what):
    """Waits until `condition` holds, and returns what it gave."""
    end = time.monotonic() + LIMIT_S
    while not (result := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.02)
    return result


def write_data(path, tasks, elements):
    """The data set: a block of numbers for each task."""
    numbers = np.random.default_rng(1)
    with open(path, "wb") as file:
        for _ in range(tasks):
            (numbers.standard_normal(elements, dtype=np.float32) * 100).tofile(file)


def shares(places):
    """Whether any call of a node went through shared memory."""
    return "SHARED_MEMORY" in {way.upper() for _, way in places}


class Run:
    """The tasks, in the order of their ends."""

    def __init__(self, path, tasks, elements):
        self._path = path
        self._tasks = tasks
        self._elements = elements
        self._waiting = {}
        self._next = 0
        self.right = 0
        self.places = {}  # by node: where its tasks found a server, and how calls went there

    def until(self, count):
        """Goes on until so many results are there, each of them right."""
        while self.right < count:
            while self._next < self._tasks and len(self._waiting) < TASKS_AT_A_TIME:
                self._waiting[whole.remote(self._path, self._next, self._elements)] = self._next
                self._next += 1
            (done,), _ = ray.wait(list(self._waiting), timeout=LIMIT_S)
            block = self._waiting.pop(done)
            result, node, target, way = ray.get(done)
            x = np.fromfile(self._path, np.float32, self._elements, offset=block * self._elements * 4)
            assert result.dtype == np.float32 and result.tobytes() == np.trunc(x).tobytes(), f"block {block} is wrong"
            self.places.setdefault(node, set()).add((target, way))
            self.right += 1


def check_network(cluster_node, other_node):
    """Tasks on nodes without a GPU find the server of the one that has it; tasks on that use its socket file."""
    def ask(node):
        return gpu_target.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote()

    (near, near_result), (far, far_result) = ray.get([ask(cluster_node), ask(other_node)], timeout=LIMIT_S)
    assert near.startswith("unix:"), near
    assert far.startswith("127.0.0.1:"), far
    assert near_result == far_result == [2.0, 3.0]
    # Nobody else calls servers without GPUs.
    here, = processes_with(f"--listen={SERVERS.target()}\0")
    arguments = pathlib.Path(f"/proc/{here}/cmdline").read_text(encoding="utf-8").split("\0")
    assert [word for word in arguments if word.startswith("--listen=")] == [f"--listen={SERVERS.target()}"], arguments


def check_start(folder):
    """A server that ends at once, as one does whose port another program took meanwhile, is tried again."""
    program = pathlib.Path(folder) / "in-vain-at-first"
    program.write_text('#!/bin/sh\nmkdir "$0.tried" || exec opserve-server "$@"\nexit 1\n', encoding="utf-8")
    program.chmod(0o700)
    servers = dataclasses.replace(SERVERS, program=str(program))

    @ray.remote
    def one_more():
        return servers.connect().add(np.float32([1]), 1)

    assert ray.get(one_more.remote(), timeout=LIMIT_S).tolist() == [2.0]
    servers.stop()


def check_one_port():
    """Of servers with different settings that want the same port one has it, and tasks find the others, too."""
    for _ in range(3):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        both = [dataclasses.replace(HALF_SERVERS, port=port, start_limit_s=LIMIT_S + more) for more in (0, 1)]
        # From a node without a GPU, so by the network.
        targets = [servers.target() for servers in both]
        if targets[0] == f"127.0.0.1:{port}":
            break
        # Another program took the port meanwhile.
        for servers in both:
            servers.stop()
    assert targets[0] == f"127.0.0.1:{port}" and targets[1] not in ("", targets[0]), targets
    for servers in both:
        assert servers.connect().add(np.float32([1]), 1).tolist() == [2.0]
        servers.stop()


def check_modules(address):
    """The setting of docs/ray.md brings opserve_ray.py to the tasks of a job of its own, whose workers do not have it."""
    setting, = re.findall(r"`ray\.init\(runtime_env=(\{.*?\})\)`", (ROOT / "docs/ray.md").read_text(encoding="utf-8"))
    environment = ast.literal_eval(setting)
    environment["py_modules"] = [str(ROOT / path) for path in environment["py_modules"]]
    own = os.environ["PYTHONPATH"].split(":")
    environment["env_vars"] = {"PYTHONPATH": ":".join(path for path in own if path != str(ROOT / "deploy" / "ray"))}
    ray.shutdown()
    ray.init(address=address, runtime_env=environment, log_to_driver=False)

    @ray.remote
    def where():
        import opserve_ray as brought  # pylint: disable=import-outside-toplevel,reimported
        return brought.__file__

    assert not ray.get(where.remote(), timeout=LIMIT_S).startswith(f"{ROOT}/")


def check_page():
    """The program of docs/ray.md runs, with the servers that are there."""
    program, = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/ray.md").read_text(encoding="utf-8"), re.M | re.S)
    program = program.replace("ray.init()\n", "").replace("opserve_ray.Servers()", f"opserve_ray.{SERVERS!r}")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "docs/ray.md", "exec"), {"__name__": "page"})  # pylint: disable=exec-used
    expected, = re.findall(r"^print\(.*\)  # (.*?)\.\.\.$", program, re.M)
    assert printed.getvalue().startswith(expected), printed.getvalue()


def node_settings(folder, options):
    """Of each node of Ray's. Its store of objects is a file in `folder`, so /dev/shm may be small."""
    return {"num_cpus": 1, "object_store_memory": STORE_BYTES, "plasma_directory": folder,
            "include_log_monitor": options.verbose}


def spread(cluster, folder, options):
    """Runs the tasks while a server and a node are killed."""
    nodes = [cluster.add_node(num_gpus=gpus, **node_settings(folder, options)) for gpus in (0, 1)]
    ray.init(address=cluster.address, log_to_driver=options.verbose)
    ids = [cluster.head_node.node_id, *(node.node_id for node in nodes)]
    path = f"{folder}/data"
    write_data(path, options.tasks, options.elements)
    begun = time.monotonic()
    run = Run(path, options.tasks, options.elements)
    run.until(options.tasks // 4)
    # Every node may have to start its server first, and the first call of a process does not share memory.
    while len(run.places) < len(ids) or not all(shares(places) for places in run.places.values()):
        run.until(run.right + 1)
    assert set(run.places) == set(ids)
    socket_of = {node: next(iter(places))[0] for node, places in run.places.items()}
    assert len(set(socket_of.values())) == len(ids), socket_of

    victims = {node: server_at(socket_of[node]) for node in (ids[0], ids[2])}
    os.kill(victims[ids[2]], signal.SIGKILL)
    # The actor of the other one, which takes its server with it.
    os.kill(parent_of(victims[ids[0]]), signal.SIGKILL)
    run.until(options.tasks // 2)
    cluster.remove_node(nodes[0], allow_graceful=False)
    run.until(options.tasks)
    elapsed = time.monotonic() - begun

    for node, places in run.places.items():
        assert {target for target, _ in places} == {socket_of[node]}, "each task called the server of its own node"
    for node, victim in victims.items():
        wait_until(lambda: server_at(socket_of[node]) not in (None, victim), "Ray starts the server again")
    wait_until(lambda: server_at(socket_of[ids[1]]) is None, "the server of the lost node is gone")
    check_network(ids[2], ids[0])
    check_start(folder)
    check_page()
    GPU_SERVERS.stop()
    check_one_port()
    SERVERS.stop()
    wait_until(lambda: not processes_with("--listen=unix:" + f"{folder}/opserve-"), "all servers are gone")
    check_modules(cluster.address)
    gib = options.tasks * options.elements * 4 / (1 << 30)
    print(f"{run.right} of {options.tasks} results right, {gib:.2f} GiB in {elapsed:.1f} s, "
          f"{options.tasks / elapsed:.0f} tasks/s; one of 3 nodes, one server and one actor killed")


def main():
    """Runs it, and leaves no process behind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=10000)
    parser.add_argument("--elements", type=int, default=107374, help="of FLOAT32, per task")
    parser.add_argument("--verbose", action="store_true", help="show what Ray and the servers say")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="opserve-ray-") as folder:
        # What Ray's processes inherit.
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = folder
        try:
            cluster = Cluster(initialize_head=True, head_node_args={
                "include_dashboard": False, **node_settings(folder, options)})
        except Exception as error:  # pylint: disable=broad-except
            skip_without("ray", f"Ray starts no node on this machine: {error}")
        try:
            spread(cluster, folder, options)
        finally:
            ray.shutdown()
            cluster.shutdown()
            wait_until(lambda: not processes_with(f"TMPDIR={folder}\0"), "all processes are gone")


if __name__ == "__main__":
    sys.exit(main())
