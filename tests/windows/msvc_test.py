#!/usr/bin/python3
"""The preset windows-msvc, as far as it goes without Windows: CMake writes a build with clang-cl and stand-ins for the
libraries, and vcpkg.json names those. Nothing is compiled."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
COMPILER = shutil.which("clang-cl-14")
# The package of CMake that each port of vcpkg has.
PACKAGES = {"abseil": "absl", "cli11": "CLI11", "grpc": "gRPC", "nlohmann-json": "nlohmann_json", "openssl": "OpenSSL",
            "protobuf": "Protobuf", "zlib": "ZLIB"}
FOLDERS = ("proto", "kernels", "client")
# FindThreads and those of other builds of these folders.
NOT_FROM_VCPKG = {"Threads", "hwy", "TBB", "opserve"}
LIBRARIES = ("protobuf::libprotobuf", "gRPC::grpc++", "OpenSSL::SSL", "OpenSSL::Crypto", "ZLIB::ZLIB", "CLI11::CLI11",
             "nlohmann_json::nlohmann_json")


def settings_of_lists():
    """The CMake lists of the client and of what it is built on."""
    lists = [ROOT / "deploy/windows/msvc.cmake"]
    for folder in FOLDERS:
        lists += [path for path in (ROOT / folder).rglob("CMakeLists.txt") if "python" not in path.parts]
    return "\n".join(path.read_text(encoding="utf-8") for path in lists)


class Preset(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        targets = LIBRARIES + tuple(sorted(set(re.findall(r"absl::[a-z_]+", settings_of_lists()))))
        for package in PACKAGES.values():
            lines = [f"add_library({target} INTERFACE IMPORTED)" for target in targets
                     if target.split("::")[0].lower() == package.lower()]
            for program in {"gRPC": ["grpc_cpp_plugin"], "Protobuf": ["protoc"]}.get(package, []):
                target = f"{package if package == 'gRPC' else 'protobuf'}::{program}"
                lines += [f"add_executable({target} IMPORTED)",
                          f"set_target_properties({target} PROPERTIES IMPORTED_LOCATION {shutil.which(program)})"]
            (cls.folder / f"{package}Config.cmake").write_text("\n".join(lines), encoding="ascii")
        presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
        preset, = (preset for preset in presets["configurePresets"] if preset["name"] == "windows-msvc")
        cls.variables = preset["cacheVariables"] | {"CMAKE_CXX_COMPILER": COMPILER}
        target = "--target=x86_64-pc-windows-msvc"
        # No library of Microsoft's is here, so that no program links.
        stand_ins = {"CMAKE_SYSTEM_NAME": "Windows", "CMAKE_CXX_COMPILER_TARGET": target.partition("=")[2],
                     "CMAKE_CXX_COMPILER_WORKS": "1", "CMAKE_CXX_FLAGS": target, "CMAKE_LINKER": "/bin/false",
                     "CMAKE_RC_COMPILER": "llvm-rc-14", "CMAKE_MT": "llvm-mt-14", "CMAKE_PREFIX_PATH": str(cls.folder),
                     "CMAKE_FIND_PACKAGE_PREFER_CONFIG": "ON", "CMAKE_TRY_COMPILE_TARGET_TYPE": "STATIC_LIBRARY"}
        stand_ins |= {f"{package}_DIR": str(cls.folder) for package in PACKAGES.values()}
        cls.configured = subprocess.run(
            ["cmake", "-S", ROOT, "-B", cls.folder / "build", "-G", "Ninja",
             *(f"-D{name}={value}" for name, value in (cls.variables | stand_ins).items())],
            check=False, capture_output=True, text=True)

    def test_writes_a_build(self):
        self.assertEqual(self.configured.returncode, 0, self.configured.stderr)
        commands = subprocess.run(["ninja", "-C", self.folder / "build", "-t", "commands", "opserve"], check=True,
                                  capture_output=True, text=True).stdout.splitlines()
        source, = (line for line in commands if line.endswith("/client/api/tensor.cc"))
        for option in ("-std:c++20", "-MD", "/W4", "-DNOMINMAX", "-D_WIN32_WINNT=0x0A00"):
            self.assertIn(option, source.split())
        program, = (line for line in commands if "/out:bin/opserve.exe" in line)
        self.assertRegex(program, r"\bclang_rt\.builtins-x86_64\.lib\b")
        self.assertRegex(program, r"--manifests \S*/program\.manifest\b")

    def test_vcpkg_has_each_package(self):
        manifest = json.loads((ROOT / "deploy/windows/vcpkg/vcpkg.json").read_text(encoding="utf-8"))
        ports = [port if isinstance(port, str) else port["name"] for port in manifest["dependencies"]]
        self.assertEqual(set(ports), set(PACKAGES))
        needed = set(re.findall(r"find_package\((\w+)", settings_of_lists())) - NOT_FROM_VCPKG
        self.assertEqual(needed, {PACKAGES[port] for port in ports})
        self.assertRegex(manifest["builtin-baseline"], r"^[0-9a-f]{40}$")
        self.assertEqual(self.variables["VCPKG_MANIFEST_DIR"], "${sourceDir}/deploy/windows/vcpkg")


if __name__ == "__main__":
    if COMPILER is None:
        print("skipped: there is no clang-cl-14; `deploy/setup.sh lint` installs it")
        sys.exit(SKIPPED)
    unittest.main()
