"""opserve servers as actors of Ray: one on each node whose tasks call, restarted by Ray, found through Ray.

    servers = opserve_ray.Servers()

    @ray.remote(retry_exceptions=[opserve.UnavailableError])
    def whole(x):
        return servers.connect().round(x, rounding_mode="TOWARD_ZERO")

docs/ray.md is about when to use it, and what it needs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import os
import pathlib
import random
import socket
import subprocess
import tempfile
import threading
import time
import zlib
from typing import Any

import opserve
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

_NAMESPACE = "opserve"
# Servers of other nodes that a task without one of its own spreads its calls over.
_MOST_HOSTS = 8
# Free ports that a server is started with: another process may take one before the server has it.
_PORTS_TO_TRY = 4


@dataclasses.dataclass(frozen=True)
class Servers:
    """Servers with the same settings, one on each node; tasks may have it in them, or take it as an argument.

    gpus: GPUs that each server takes from Ray, all that its node has: opserve-server uses all that it finds. Nodes with
        fewer have no server, and their tasks call those that have one. 0: every node has one, which uses the processor.
    port: where servers with GPUs listen for other nodes, or any port that is free where that is taken on a node, as by
        servers with other settings; 0: any. Tasks are told which. Servers without GPUs have a socket file alone.
    program: opserve-server, in PATH or by its full name.
    arguments: more arguments of it. Those here have servers with GPUs serve, in plain text, whoever reaches their port,
        also where Ray has tokens; docs/ray.md tells what to give them instead.
    start_limit_s: longest wait for servers that start.
    """

    gpus: float = 0
    port: int = 50051
    program: str = "opserve-server"
    arguments: tuple[str, ...] = ("--insecure", "--allow-anonymous")
    start_limit_s: float = 60

    def connect(self, **options: Any) -> opserve.Client:
        """A client of the server on this node, or of some of other nodes, with the `options` of opserve.connect.

        Servers that are not there yet are started. A process gets the same client each time, unless servers moved.
        """
        return _connect(self.target(), tuple(sorted(options.items())))

    def target(self) -> str:
        """Where `connect` connects to. Raises Ray's errors where no server starts, or not in time."""
        here = ray.get_runtime_context().get_node_id()
        if self.gpus == 0:
            return self._addresses([here])[0][0]
        nodes = [node["NodeID"] for node in ray.nodes()
                 if node["Alive"] and node["Resources"].get("GPU", 0) >= self.gpus]
        if here in nodes:
            return self._addresses([here])[0][0]
        # Each process chooses others, so that all get their share.
        addresses = self._addresses(sorted(nodes, key=_rank)[:_MOST_HOSTS])
        if not addresses:
            raise opserve.UnavailableError(f"no node of Ray's has {self.gpus} GPUs and a server")
        return ",".join(network for _, network in addresses)

    def stop(self) -> None:
        """Ends all of these servers. They outlive the job that had them started."""
        for actor in ray.util.list_named_actors(all_namespaces=True):
            if actor["namespace"] == _NAMESPACE and actor["name"].startswith(self._name("")):
                # Some end meanwhile, such as those of nodes that were lost.
                with contextlib.suppress(ValueError):
                    ray.kill(ray.get_actor(actor["name"], namespace=_NAMESPACE))

    def _name(self, node: str) -> str:
        """Of the actor on a node. Other settings have other names, so that nobody gets a server with those of another."""
        return f"{zlib.crc32(repr(self).encode()):08x}-{node}"

    def _addresses(self, nodes: list[str]) -> list[tuple[str, str]]:
        """Socket file and network address ("" if none) of the servers on these nodes, without nodes that were lost meanwhile."""
        servers = [
            _Server.options(  # type: ignore[attr-defined]
                name=self._name(node), namespace=_NAMESPACE, get_if_exists=True, lifetime="detached",
                num_gpus=self.gpus, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
            ).remote(self, self._name(node)) for node in nodes]
        answers = [server.addresses.remote() for server in servers]
        if len(answers) == 1:
            return [ray.get(answers[0], timeout=self.start_limit_s)]
        found, _ = ray.wait(answers, num_returns=len(answers), timeout=self.start_limit_s)
        addresses = []
        for answer in found:
            try:
                addresses.append(ray.get(answer))
            except (ray.exceptions.RayActorError, ray.exceptions.ActorUnschedulableError):
                pass
        return addresses


@functools.lru_cache(maxsize=None)
def _rank(_: str) -> float:
    """Of a node among those that this process may call: the same each time, and another one in each process."""
    return random.random()


@functools.lru_cache(maxsize=16)
def _connect(target: str, options: tuple[tuple[str, Any], ...]) -> opserve.Client:
    return opserve.connect(target, **dict(options))


# It needs no processor of its own: a task that waits for it lends it its own. Ray starts it again for ever, and asks it again.
@ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)
class _Server:
    """opserve-server on this node, as long as this actor is there. The actor ends where the server does."""

    def __init__(self, servers: Servers, name: str) -> None:
        # The same each time, so that clients on this node find a server that was started again. Nobody else can have made it:
        # the name has Ray's of the node, which is random.
        folder = pathlib.Path(tempfile.gettempdir()) / f"opserve-{name[:24]}"
        folder.mkdir(mode=0o700, exist_ok=True)
        deadline = time.monotonic() + servers.start_limit_s
        tries = _PORTS_TO_TRY
        while not self._start(servers, folder, deadline):
            tries -= 1
            if tries == 0 or time.monotonic() > deadline:
                raise RuntimeError(f"{servers.program} does not serve; the log of this actor has what it said")
        threading.Thread(target=self._end_with_the_server, daemon=True).start()

    def _start(self, servers: Servers, folder: pathlib.Path, deadline: float) -> bool:
        """Starts the server, and returns whether it serves."""
        ready = folder / "ready"
        ready.unlink(missing_ok=True)
        host = ray.util.get_node_ip_address()
        # Every node has a server of those without GPUs, so other nodes do not call them.
        network = f"{host}:{_free_port(host, servers.port)}" if servers.gpus else ""
        self._addresses = (f"unix:{folder / 'socket'}", network)
        devices = [f"--listen={network}", f"--advertise={network}"] if network else ["--devices=none"]
        # The kernel ends the server with this process, which Ray ends without a word.
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", servers.program, f"--listen={self._addresses[0]}",
             f"--ready-file={ready}", *devices, *servers.arguments],
            stdin=subprocess.DEVNULL)
        while self._process.poll() is None and time.monotonic() <= deadline:
            if ready.exists():
                return True
            time.sleep(0.02)
        self._process.kill()
        return False

    def _end_with_the_server(self) -> None:
        self._process.wait()
        os._exit(1)

    def addresses(self) -> tuple[str, str]:
        """Socket file and network address, "" if none."""
        if self._process.poll() is not None:
            os._exit(1)
        return self._addresses


def _free_port(host: str, wanted: int) -> int:
    """The port that is wanted, or any that is free where somebody listens at that."""
    try:
        listener = socket.create_server((host, wanted))
    except OSError as error:
        if error.errno != errno.EADDRINUSE or wanted == 0:
            raise
        return _free_port(host, 0)
    with listener:
        port: int = listener.getsockname()[1]
        return port
