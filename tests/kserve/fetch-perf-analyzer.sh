#!/usr/bin/env bash
# Puts Triton's perf_analyzer of PyPI into a folder, unless it is there, with what runs it on Debian 12.
#
#   tests/kserve/fetch-perf-analyzer.sh [--version] FOLDER
#
# FOLDER/perf_analyzer is the command afterwards; --version prints instead which version it would be. The
# program is as it was published, for glibc 2.38 and newer: the libraries that it loads, and what loads
# them, are those of Debian 13, unpacked beside it. apt checks their signatures; the system's packages and
# their sources stay as they are. CUDA's run time is of PyPI: --shared-memory=system does not start without,
# though it calls nothing of it. Takes 15 seconds, most of them for the list of Debian 13's packages.
set -euo pipefail

version=2.60.0
cuda=nvidia-cuda-runtime-cu12==12.9.79
if [[ ${1:-} == --version ]]; then
  echo "$version"
  exit 0
fi
folder=${1:?"usage: fetch-perf-analyzer.sh [--version] FOLDER"}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Whatever pip can do: the one that deploy/setup.sh makes.
python=$here/../../.venv/bin/python
libraries=(libc6 libgcc-s1 libssl3t64 libstdc++6 libzstd1 zlib1g)

[[ -f $folder/.version && $(<"$folder/.version") == "$version" ]] && exit 0
mirror=$("$here/../../deploy/debian-mirror.sh")
rm -rf "$folder"
mkdir -p "$folder"
folder=$(realpath "$folder")
work=$folder/download
mkdir -p "$work/lists/partial"
printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s trixie main\n' \
  "$mirror" >"$work/sources.list"

from_trixie() {
  apt-get -q -o Acquire::Retries=3 -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
    -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- \
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o Dir::State::status=/dev/null \
    -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o Debug::NoLocking=1 "$@"
}

{
  from_trixie update
  (cd "$work" && from_trixie download "${libraries[@]}")
  "$python" -m pip download --quiet --disable-pip-version-check --dest "$work" --no-deps \
    --platform manylinux_2_38_x86_64 --platform manylinux_2_17_x86_64 --only-binary=:all: \
    "perf-analyzer==$version" "$cuda"
} >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}
for package in "$work"/*.deb; do
  dpkg-deb -x "$package" "$folder/debian-13"
done
for wheel in "$work"/*.whl; do
  "$python" -m zipfile -e "$wheel" "$folder/wheels"
done
rm -rf "$work"
ln -s ../../../../wheels/nvidia/cuda_runtime/lib/libcudart.so.12 \
  "$folder/debian-13/usr/lib/x86_64-linux-gnu/libcudart.so"

cat >"$folder/perf_analyzer" <<'EOF'
#!/bin/sh
here=$(dirname "$(realpath "$0")")
libraries=$here/debian-13/usr/lib/x86_64-linux-gnu
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$here/wheels/perf_analyzer/bin/perf_analyzer" "$@"
EOF
chmod +x "$folder/perf_analyzer"
echo "$version" >"$folder/.version"
