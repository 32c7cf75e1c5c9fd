#!/usr/bin/python3
"""Packs a build, unpacks it into a root that holds nothing but glibc and a shell, and uses it there.

Without a Vulkan driver the server must run on the CPU; with one in the root (Mesa's software adapter,
where --gpu says that the build has Direct3D 12) also on that. Results are compared with NumPy's, outside.
Skipped where this machine lets nobody change the root, unless OPSERVE_REQUIRE has chroot.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "testing"), str(ROOT / "tests" / "demo")]
import demo  # pylint: disable=wrong-import-position
from isolation import unshare  # pylint: disable=wrong-import-position
from server_process import ServerProcess  # pylint: disable=wrong-import-position

LIMIT_S = 120
LIBRARIES = "lib/x86_64-linux-gnu"
DRIVERS = pathlib.Path("usr/share/vulkan/icd.d")
SOFTWARE_DRIVER = "lvp_icd.x86_64.json"
# glibc, and what it loads to look up names.
GLIBC = ["libc.so.6", "libm.so.6", "libmvec.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1",
         "libresolv.so.2", "libnss_files.so.2", "libnss_dns.so.2"]
# What bench-gpu.sh calls.
COREUTILS = ["cat", "dirname", "head", "mktemp", "rm", "sleep", "tail", "tee"]

OPTIONS = None


class CleanRoot:
    """A folder that serves as root directory of a bare machine, with the bundle in /opserve."""

    def __init__(self, folder, tarball):
        self.folder = pathlib.Path(folder)
        for name in ["lib64", LIBRARIES, "bin", "dev", "proc/self", "tmp"]:
            (self.folder / name).mkdir(parents=True)
        # Shells send to it what nobody reads. Making a device needs more privileges than a file.
        (self.folder / "dev/null").touch()
        # The linker reads there where a program lies. Mounting /proc needs privileges; all programs
        # of the bundle lie in one folder, so this link tells the same.
        (self.folder / "proc/self/exe").symlink_to("/opserve/bin/opserve-server")
        self._copy("/lib64/ld-linux-x86-64.so.2", "lib64")
        for name in GLIBC:
            if pathlib.Path("/", LIBRARIES, name).exists():
                self._copy(pathlib.Path("/", LIBRARIES, name), LIBRARIES)
        self._copy("/bin/dash", "bin", "sh")
        for name in COREUTILS:
            self._copy(pathlib.Path("/bin", name), "bin")
        with tarfile.open(tarball) as archive:
            archive.extractall(self.folder)
        top, = self.folder.glob("opserve-*")
        top.rename(self.folder / "opserve")

    def add_software_driver(self):
        """Installs Mesa's software Vulkan driver as a distribution does."""
        description = pathlib.Path("/", DRIVERS, SOFTWARE_DRIVER)
        driver = json.loads(description.read_text(encoding="utf-8"))["ICD"]["library_path"]
        (self.folder / DRIVERS).mkdir(parents=True)
        self._copy(description, DRIVERS)
        self._copy(driver, os.path.dirname(driver).lstrip("/"))
        needs = subprocess.run(["ldd", driver], capture_output=True, text=True, check=True).stdout
        for line in needs.splitlines():
            name, arrow, path = (line.split() + ["", ""])[:3]
            if arrow == "=>" and name not in GLIBC:
                self._copy(path, LIBRARIES, name)

    def command(self, *arguments):
        """The command line that runs one in this root, with an empty environment."""
        change_root = unshare("chroot", f"--root={self.folder}")
        return ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *change_root, *arguments]

    def run(self, *arguments, limit_s=LIMIT_S):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True,
                              timeout=limit_s, check=False, stdin=subprocess.DEVNULL)

    def _copy(self, source, folder, name=None):
        target = self.folder / folder / (name or pathlib.Path(source).name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


class ServerInRoot(ServerProcess):
    """The bundled server, in a clean root."""

    def __init__(self, root, *arguments):
        super().__init__("opserve-server", root.folder / "tmp")
        self._command = root.command("/opserve/bin/opserve-server", "--listen", "127.0.0.1:0",
                                     "--ready-file", "/tmp/ready", *arguments)


def make_bundle(folder):
    """Packs the build into `folder`; returns the tarball."""
    subprocess.run([ROOT / "deploy/bundle/make-bundle.sh", OPTIONS.build, folder], check=True,
                   timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    tarball, = pathlib.Path(folder).glob("*.tar.gz")
    return tarball


class Bundle(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="opserve-bundle-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.tarball = make_bundle(cls.folder / "first")

    def make_root(self):
        folder = tempfile.TemporaryDirectory(prefix="root-", dir=self.folder)
        self.addCleanup(folder.cleanup)
        return CleanRoot(folder.name, self.tarball)

    def wait_for_gpu(self, root, address):
        """Waits until a GPU has joined."""
        limit = time.monotonic() + LIMIT_S
        while root.run("/opserve/bin/opserve", "health", "--address", address, "--service",
                       "opserve.v1.OperatorService/gpu").returncode != 0:
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.1)

    def run_operators(self, root, address, placement):
        """Runs operators on one kind of device. Returns the names of the devices."""
        devices = set()
        for case in demo.make_cases():
            command = ["/opserve/bin/opserve", "run", case.operator, "--address", address,
                       "--json", "--device", placement, "--output", "/tmp/output.npy"]
            for attribute in case.attributes:
                command += ["--attr", attribute]
            for i, tensor in enumerate(case.inputs):
                np.save(root.folder / f"tmp/input{i}.npy", tensor)
                command += ["--input", f"/tmp/input{i}.npy"]
            done = root.run(*command)
            self.assertEqual(done.returncode, 0, done.stderr)
            output = root.folder / "tmp/output.npy"
            self.assertEqual(demo.find_fault(np.load(output), case.expected), "", case.operator)
            output.unlink()
            devices.add(json.loads(done.stdout)["device"])
        return devices

    def test_same_build_gives_same_bytes(self):
        again = make_bundle(self.folder / "second")
        self.assertEqual(self.tarball.read_bytes(), again.read_bytes())

    def test_checksum_file_tells_the_checksum(self):
        told = self.tarball.with_name(self.tarball.name + ".sha256").read_text(encoding="utf-8")
        digest = hashlib.sha256(self.tarball.read_bytes()).hexdigest()
        self.assertEqual(told.split(), [digest, self.tarball.name])

    def test_check_finds_a_missing_library(self):
        folder = self.make_root().folder / "opserve"
        check = [ROOT / "deploy/bundle/check-bundle.sh", folder]
        subprocess.run(check, check=True, capture_output=True, timeout=LIMIT_S)
        (folder / "lib/libvkd3d-shader.so.1").unlink()
        done = subprocess.run(check, check=False, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("libvkd3d-shader.so.1", done.stderr)

    def test_without_a_driver_the_cpu_runs_everything(self):
        root = self.make_root()
        with ServerInRoot(root) as server:
            for placement in ["auto", "cpu"]:
                devices = self.run_operators(root, server.address, placement)
                self.assertEqual([name for name in devices if not name.startswith("cpu/")], [])
            info = root.run("/opserve/bin/opserve", "info", "--json", "--address", server.address)
            self.assertEqual(len(json.loads(info.stdout)["devices"]), 1)
        self.assertEqual(server.exit_code, 0, server.log())

    def test_benchmark_of_kernels_runs(self):
        done = self.make_root().run("/opserve/bin/bench_kernels", "--smoke")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_with_a_driver_a_gpu_runs_everything(self):
        if not OPTIONS.gpu:
            self.skipTest("this build has no Direct3D 12 module")
        root = self.make_root()
        root.add_software_driver()
        with ServerInRoot(root, "--devices", "auto", "--allow-software-adapters") as server:
            self.wait_for_gpu(root, server.address)
            devices = self.run_operators(root, server.address, "gpu")
            self.assertTrue(devices)
            self.assertEqual([name for name in devices if not name.startswith("d3d12/")], [])
        self.assertEqual(server.exit_code, 0, server.log())

    def measure_gpu(self, root, *arguments):
        """Runs bench-gpu.sh as README.txt says; returns the run and the report that is to be sent back."""
        done = root.run("/bin/sh", "-c", 'cd /tmp && exec /opserve/bench-gpu.sh "$@"', "sh", *arguments,
                        limit_s=4 * LIMIT_S)
        report = root.folder / "tmp/opserve-gpu-report.txt"
        return done, report.read_text(encoding="utf-8") if report.exists() else ""

    def test_benchmark_of_gpus_tells_that_there_is_none(self):
        if not OPTIONS.gpu:
            self.skipTest("this build has no Direct3D 12 module")
        done, report = self.measure_gpu(self.make_root(), "--quick")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertEqual(report, done.stdout)
        self.assertIn("NO HARDWARE GPU WAS MEASURED", report)
        self.assertIn("There is no adapter to measure", report)
        self.assertNotIn("is a SOFTWARE adapter", report)

    def test_benchmark_of_gpus_makes_one_report(self):
        if not OPTIONS.gpu:
            self.skipTest("this build has no Direct3D 12 module")
        root = self.make_root()
        root.add_software_driver()
        done, report = self.measure_gpu(root, "--quick", "--json", "/tmp/numbers.json")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertEqual(report, done.stdout)
        for told in ["NO HARDWARE GPU WAS MEASURED", "This is a SOFTWARE adapter", "is a SOFTWARE adapter, not a GPU"]:
            self.assertIn(told, report)
        # But for the code of what the server without a GPU refuses.
        self.assertNotIn("FAILED", report.replace("FAILED_PRECONDITION", ""))
        numbers = json.loads((root.folder / "tmp/numbers.json").read_text(encoding="utf-8"))
        for section in numbers["sections"]:
            self.assertIn(f"\n## {section['name']}\n", report)
            self.assertTrue(section["rows"], section["name"])
        self.assertEqual(numbers["sections"][-1]["name"], "loss")
        # Requests through the server, against each other.
        self.assertRegex(report, r"(?m)^GPU, batched +4 KiB +[1-9][0-9]* 1/s +[1-9][0-9]* +[0-9.]+  one by one$")
        self.assertRegex(report, r"(?m)^GPU, one by one +4 KiB +[1-9][0-9]* 1/s +[1-9][0-9]* +[0-9.]+  CPU$")

    def test_benchmark_of_gpus_tells_what_is_wrong_with_its_command_line(self):
        root = self.make_root()
        for arguments, told in [(["--no-such"], "--no-such"), (["--seconds"], "--seconds needs a value"),
                                (["--section", "none"], "none")]:
            done, _ = self.measure_gpu(root, *arguments)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(told, done.stderr)
        done, _ = self.measure_gpu(root, "--report", "/nonexistent/report.txt")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write /nonexistent/report.txt", done.stderr)
        self.assertEqual(self.measure_gpu(root, "--help")[0].returncode, 0)


def main():
    global OPTIONS  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="folder of the build")
    parser.add_argument("--gpu", action="store_true", help="the build has Direct3D 12")
    OPTIONS, rest = parser.parse_known_args()
    unshare("chroot")
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
