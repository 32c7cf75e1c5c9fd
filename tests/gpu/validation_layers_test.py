#!/usr/bin/python3
"""Runs GPU tests under Vulkan's validation layers, which must have nothing to say that is not listed here.

Synchronization validation and best practices are on. Skipped where the layers are not installed, unless OPSERVE_REQUIRE
has vulkan-validationlayers; and where there is no GPU, unless it has gpu.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from required import skip_without  # pylint: disable=wrong-import-position

LAYER = "VK_LAYER_KHRONOS_validation"
MANIFEST = "VkLayer_khronos_validation.json"
# Where the Vulkan loader looks for manifests if VK_LAYER_PATH does not say.
FOLDERS = [
    f"{folder}/vulkan/explicit_layer.d" for folder in ["/usr/local/etc", "/etc", "/usr/local/share", "/usr/share"]
]
LIMIT_S = 240

# What runs: batches of packed and strided calls, a kernel of each width, short staging memory, sequences, contents that the
# device keeps, dispatches in pieces, kernels that work on the host's memory, queues for copies, and submissions that are dropped. Not what records a dispatch whose buffers could not be bound, which the layers
# do not survive.
TESTS = {
    "gpu_batch_test": "GpuBatchTest.*:AllWidths/*",
    "gpu_content_test": "*",
    "gpu_device_test": "GpuDeviceTest.SmallStagingMemoryIsShared",
    "gpu_pieces_test": "*",
    "gpu_rows_test": "GpuRowsTest.*:*Batches*",
    "gpu_sequence_test": "*",
    "gpu_submission_test": "-*WhatCannotBeBound*",
    "gpu_transfers_test": "AllWidths/*:*LargeCalls*:*OpenElement*:*ThreadsShareTheQueues/CopyQueues:GpuCopyQueuesTest.*",
}

# Messages that we cannot mend, by their names, and why.
LISTED = {
    "UNASSIGNED-BestPractices-vkCreateDevice-specialuse-extension-d3demulation":
        "libvkd3d is a D3D emulation layer, for which these extensions are meant",
    "UNASSIGNED-BestPractices-vkCreateDevice-specialuse-extension-devtools":
        "libvkd3d turns on VK_EXT_transform_feedback wherever there is one; nothing of ours uses it",
    "UNASSIGNED-BestPractices-vkCreateDevice-specialuse-extension-glemulation":
        "the same",
    "UNASSIGNED-BestPractices-TransitionUndefinedToReadOnly":
        "libvkd3d makes an image for descriptors that nobody has set, which nobody reads, with each device",
    "UNASSIGNED-BestPractices-pipeline-stage-flags":
        "libvkd3d has a queue that waits for another one wait with all commands, which is what Direct3D's wait means",
    "UNASSIGNED-BestPractices-vkAllocateMemory-small-allocation":
        "libvkd3d has memory of its own for each committed resource, also for two of 16 bytes that it makes with each "
        "device; ours are used again",
    "UNASSIGNED-BestPractices-vkBindMemory-small-dedicated-allocation":
        "the same",
}

MESSAGE = re.compile(r"^(\S+)\((ERROR|WARN|INFO|DEBUG)[^)]*\): (.*)$", re.MULTILINE)
# Which the layer gives as information, once per instance, and which shows that it is there and what is on.
STATUS = "UNASSIGNED-khronos-validation-createinstance-status-message"
ENABLES = ["BEST_PRACTICES", "SYNCHRONIZATION_VALIDATION"]


def check_installed():
    path = os.environ.get("VK_LAYER_PATH")
    folders = path.split(":") if path else FOLDERS
    if not any((pathlib.Path(folder) / MANIFEST).exists() for folder in folders):
        skip_without("vulkan-validationlayers", f"{MANIFEST} is in none of {', '.join(folders)}")


def run_under_layers(command):
    """The exit code of the command, what it said, and what the layers said."""
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder) / "vk_layer_settings.txt"
        log = pathlib.Path(folder) / "log"
        values = {
            "debug_action": "VK_DBG_LAYER_ACTION_LOG_MSG",
            "report_flags": "error,warn,perf,info",
            "log_filename": log,
            "enable_message_limit": "false",
            "enables": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,"
                       "VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT",
        }
        settings.write_text("".join(f"khronos_validation.{key} = {value}\n" for key, value in values.items()))
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False,
                              timeout=LIMIT_S, stdin=subprocess.DEVNULL,
                              env={**os.environ, "VK_INSTANCE_LAYERS": LAYER, "VK_LAYER_SETTINGS_PATH": str(settings)})
        said = log.read_text(errors="replace") if log.exists() else ""
        return done.returncode, done.stdout + done.stderr, said


def check_program(program, tests, seen):
    """What is wrong with a run of these tests; adds to `seen` the listed messages that came."""
    code, output, said = run_under_layers([program, f"--gtest_filter={tests}", "--gtest_brief=0"])
    name = program.name
    if code != 0:
        return [f"{name} fails:\n{output}"]
    if "[       OK ]" not in output:
        skip_without("gpu", f"{name} ran nothing: {output.strip().splitlines()[-1]}")
    if "[  SKIPPED ]" in output:
        return [f"{name} skipped some tests:\n{output}"]
    if STATUS not in said or not all(enable in said for enable in ENABLES):
        return [f"the layer has not said what it checks in {name}: {said[:1000]!r}"]
    wrong = {}
    for message, level, text in MESSAGE.findall(said):
        if message in LISTED:
            seen.add(message)
        elif level != "INFO":
            wrong.setdefault(message, []).append(f"{name}: {message} ({level}): {text}")
    return [f"{texts[0]}\n  ({len(texts)} times)" for texts in wrong.values()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the test programs")
    options = parser.parse_args()
    check_installed()
    seen = set()
    wrong = []
    for name, tests in TESTS.items():
        wrong += check_program(options.bin / name, tests, seen)
    for message in sorted(set(LISTED) - seen):
        print(f"listed, and not said by this driver: {message}")
    for text in wrong:
        print(text)
    print(f"{len(TESTS)} programs, {len(wrong)} messages that are not listed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
