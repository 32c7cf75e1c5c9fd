#!/usr/bin/env bash
# Builds the Python package's wheel against the client library of a build, and unpacks it beside that.
#
#   client/python/build-wheel.sh PYTHON BUILD WHEEL [SETTING=VALUE...]
#
# PYTHON has nanobind, NumPy and scikit-build-core. BUILD is a CMake build folder in which the client library is
# built. WHEEL takes the wheel; WHEEL/site is what to put into PYTHONPATH to use it without installing it.
# Settings are of CMake. Nothing is fetched. CMake calls it, see wheel.cmake; and deploy/windows/make-wheel.sh, which
# sets _PYTHON_HOST_PLATFORM to that of the wheel.
set -euo pipefail

python=$1 build=$2 wheel=$3
settings=("${@:4}")
platform=()
[[ ! -v _PYTHON_HOST_PLATFORM ]] || platform=(--platform "${_PYTHON_HOST_PLATFORM//-/_}")
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# As in OpserveTargets.cmake: checkouts share what they compiled.
export CCACHE_BASEDIR=${source_folder%/client/python} CCACHE_NOHASHDIR=1

rm -rf "$wheel/client" "$wheel/site" "$wheel"/*.whl
cmake --install "$build" --component client --prefix "$wheel/client" >/dev/null
mkdir -p "$wheel"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-index --no-build-isolation --no-deps \
  --config-settings=build-dir="$wheel/build" \
  --config-settings=cmake.define.CMAKE_PREFIX_PATH="$wheel/client" \
  "${settings[@]/#/--config-settings=cmake.define.}" \
  --wheel-dir "$wheel" "$source_folder"
"$python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
  "${platform[@]}" --target "$wheel/site" "$wheel"/opserve-*.whl
