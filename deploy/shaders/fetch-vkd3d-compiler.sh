#!/usr/bin/env bash
# Installs a vkd3d-compiler that understands HLSL (2.0 or newer) into a private folder, and prints
# the path of the program to run. Debian 12 has 1.2, which does not understand it.
#
#   deploy/shaders/fetch-vkd3d-compiler.sh [FOLDER]     default: ~/.cache/vkd3d-compiler
#
# The packages come from a newer suite of Debian, through the mirror that apt uses, and are unpacked
# beside the system, not installed into it. Only who changes GPU kernels needs it.
set -euo pipefail

die() {
  printf 'fetch-vkd3d-compiler: %s\n' "$*" >&2
  exit 1
}

folder=${1:-$HOME/.cache/vkd3d-compiler}
program=$folder/vkd3d-compiler
if [[ -x $program ]] && "$program" --version >/dev/null 2>&1; then
  printf '%s\n' "$program"
  exit 0
fi

mirror=$("$(dirname "${BASH_SOURCE[0]}")/../debian-mirror.sh")
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,packages}
# apt drops its rights while it downloads.
chmod -R 777 "$work"
apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=-
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o Dir::State::status=/dev/null)

for suite in forky sid; do
  printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$mirror" "$suite" >"$work/sources.list"
  "${apt[@]}" update >"$work/log" 2>&1 || continue
  rm -f "$work"/packages/*.deb
  (cd "$work/packages" && "${apt[@]}" download vkd3d-compiler libvkd3d-shader1 libc6 libtinfo6 \
    libgcc-s1 >>"$work/log" 2>&1) || continue
  rm -rf "$folder"
  mkdir -p "$folder/root"
  for package in "$work"/packages/*.deb; do dpkg -x "$package" "$folder/root"; done
  # The program runs with the C library of its own suite.
  loader=$(find "$folder/root" -name 'ld-linux-*.so.*' | head -n 1)
  printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" \
    "$folder/root/usr/lib/$multiarch" "$folder/root/usr/bin/vkd3d-compiler" >"$program"
  chmod +x "$program"
  if "$program" --version >/dev/null 2>&1; then
    printf '%s\n' "$program"
    exit 0
  fi
done
tail -n 5 "$work/log" >&2
die "cannot install it"
