"""Whether a server has a GPU. Servers serve with the processor before their GPUs have joined."""

import json
import subprocess

CALL_LIMIT_S = 60


def has_gpu(opserve, address):
    """Whether the server at `address` has a GPU, once those that are starting have joined.

    `opserve`: the command. Raises subprocess.SubprocessError where the server does not answer.
    """
    def run(*arguments, check):
        return subprocess.run([opserve, *arguments, "--address", address], capture_output=True,
                              text=True, timeout=CALL_LIMIT_S, check=check,
                              stdin=subprocess.DEVNULL)

    probe = ("bench", "--device", "gpu", "--shape", "8", "--duration", "100ms")
    while "still starting" in run(*probe, check=False).stderr:
        pass
    devices = json.loads(run("info", "--json", check=True).stdout)["devices"]
    return any(device["name"].startswith("d3d12/") for device in devices)
