#!/usr/bin/env bash
# Builds the Python package's wheel for Python 3.11 for Windows.
#
#   deploy/windows/make-wheel.sh BUILD RELEASE
#
# BUILD has the client library for Windows, RELEASE the wheel for this machine, whose stub is that of both. Writes
# BUILD/wheel/opserve-VERSION-cp311-cp311-win_amd64.whl, and unpacks it in BUILD/wheel/site.
set -euo pipefail

# shellcheck source=deploy/windows/licences.sh
. "$(dirname "${BASH_SOURCE[0]}")/licences.sh"

die() {
  printf 'windows-wheel: %s\n' "$*" >&2
  exit 1
}

(($# == 2)) || die "usage: make-wheel.sh BUILD RELEASE"
readonly build=$1 release=$2
readonly root=$windows_folder/../..
stub=$(realpath -m "$release/wheel/site/opserve/_core.pyi")
[[ -f $stub ]] || die "$release has no wheel; deploy/setup.sh python installs what builds it, where PyPI can be reached"
wheel=$(realpath -m "$build/wheel")

# All is linked into the module, where that for Linux uses libraries of the system.
rm -rf "$wheel/licenses"
gather_licences "$wheel/licenses" "${client_packages[@]}" g++-mingw-w64-x86-64-posix libz-mingw-w64-dev mingw-w64-x86-64-dev

export _PYTHON_HOST_PLATFORM=win-amd64 SETUPTOOLS_EXT_SUFFIX=.cp311-win_amd64.pyd
"$root/client/python/build-wheel.sh" "$root/.venv/bin/python" "$build" "$wheel" \
  CMAKE_TOOLCHAIN_FILE="$windows_folder/mingw-w64.cmake" OPSERVE_WINDOWS_SYSROOT="$sysroot" \
  opserve_DIR="$wheel/client/lib/cmake/opserve" OPSERVE_STUB="$stub" OPSERVE_LICENSES="$wheel/licenses" \
  Python_INCLUDE_DIR="$sysroot/include/python3.11" Python_LIBRARY="$sysroot/lib/libpython311.dll.a" \
  nanobind_DIR="$("$root/.venv/bin/python" -m nanobind --cmake_dir)"
printf 'windows-wheel: %s\n' "$wheel"/opserve-*.whl
