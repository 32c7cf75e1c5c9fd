#!/usr/bin/python3
"""A tool that is missing skips what needs it, and fails it where OPSERVE_REQUIRE names the tool.

Tests of GPUs are run with Vulkan drivers, or validation layers, looked for where there are none.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import unittest

from required import SKIPPED

FOLDER = pathlib.Path(__file__).resolve().parent
NO_DRIVERS = {"VK_ICD_FILENAMES": "/nonexistent", "VK_DRIVER_FILES": "/nonexistent"}
NO_LAYERS = {"VK_LAYER_PATH": "/nonexistent"}
LIMIT_S = 60

OPTIONS = None


def run(command, require, environment=None):
    """Runs a test with OPSERVE_REQUIRE set to `require`; its exit code and what it said."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(environment or {}), "OPSERVE_REQUIRE": require})
    return done.returncode, done.stdout + done.stderr


class Script(unittest.TestCase):

    def skip(self, require):
        code = "import required; required.skip_without('ghz', 'no Go here'); print('went on')"
        return run([sys.executable, "-c", code], require, {"PYTHONPATH": str(FOLDER)})

    def test_skips_what_is_not_required(self):
        for require in ["", "gpu", "ghzz,gpu"]:
            self.assertEqual(self.skip(require), (SKIPPED, "skipped: no Go here\n"))

    def test_fails_for_what_is_required(self):
        for require in ["ghz", "gpu,ghz"]:
            self.assertEqual(self.skip(require), (1, "OPSERVE_REQUIRE names ghz: no Go here\n"))


class Gpu(unittest.TestCase):

    def setUp(self):
        if OPTIONS.gpu_test is None:
            self.skipTest("this build has no Direct3D 12")

    def run_test(self, require):
        command = [OPTIONS.gpu_test, "--gtest_filter=GpuDeviceTest.*", "--gtest_brief=0"]
        return run(command, require, NO_DRIVERS)

    def run_demo(self, require):
        command = [sys.executable, OPTIONS.demo, "--bin", OPTIONS.gpu_test.parent,
                   "--device", "gpu"]
        return run(command, require, NO_DRIVERS)

    def test_skips_where_it_is_not_required(self):
        code, output = self.run_test("ghz")
        self.assertEqual(code, SKIPPED, output)
        self.assertIn("[  SKIPPED ]", output)
        self.assertNotIn("[       OK ]", output)
        self.assertEqual(self.run_demo("ghz")[0], SKIPPED)

    def test_fails_where_it_is_required(self):
        for test in [self.run_test, self.run_demo]:
            code, output = test("ghz,gpu")
            self.assertEqual(code, 1, output)
            self.assertIn("OPSERVE_REQUIRE names gpu: ", output)
            self.assertNotIn("[  SKIPPED ]", output)

    def run_layers(self, require, environment):
        return run([sys.executable, OPTIONS.layers_test, "--bin", OPTIONS.gpu_test.parent], require, environment)

    def test_layers_are_required_apart_from_the_gpu(self):
        self.assertEqual(self.run_layers("ghz,gpu", NO_LAYERS)[0], SKIPPED)
        code, output = self.run_layers("vulkan-validationlayers", NO_LAYERS)
        self.assertEqual(code, 1, output)
        self.assertIn("OPSERVE_REQUIRE names vulkan-validationlayers: ", output)


class Proof(unittest.TestCase):

    def setUp(self):
        if OPTIONS.proof is None:
            self.skipTest("prove has a test of its own of this")

    def run_proof(self, require):
        command = [sys.executable, OPTIONS.proof_test, "--bin", OPTIONS.proof.parent]
        return run(command, require, NO_DRIVERS)

    def test_skips_where_it_is_not_required(self):
        code, output = self.run_proof("ghz")
        self.assertEqual(code, SKIPPED, output)

    def test_fails_where_it_is_required(self):
        code, output = self.run_proof("ghz,gpu")
        self.assertEqual(code, 1, output)
        self.assertIn("OPSERVE_REQUIRE names gpu: ", output)


def main():
    global OPTIONS  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpu-test", type=pathlib.Path, help="gpu_device_test")
    parser.add_argument("--demo", type=pathlib.Path, help="demo.py")
    parser.add_argument("--layers-test", type=pathlib.Path, help="validation_layers_test.py")
    parser.add_argument("--proof", type=pathlib.Path, help="prove")
    parser.add_argument("--proof-test", type=pathlib.Path, help="adapter_smoke_test.py")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
