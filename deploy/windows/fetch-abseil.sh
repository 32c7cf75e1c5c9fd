#!/usr/bin/env bash
# Puts the sources of Debian's own Abseil package into a folder, unless they are there.
#
#   deploy/windows/fetch-abseil.sh FOLDER
#
# apt checks their signature. The system's package sources stay as they are: the list of source
# packages is kept beside FOLDER.
set -euo pipefail

folder=${1:?"usage: fetch-abseil.sh FOLDER"}
version=20220623.1

[[ -f $folder/CMakeLists.txt ]] && exit 0
mirror=$("$(dirname "${BASH_SOURCE[0]}")/../debian-mirror.sh")
work=$folder.download
rm -rf "$folder" "$work"
mkdir -p "$work/lists/partial"
work=$(realpath "$work")
printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s bookworm main\n' \
  "$mirror" >"$work/sources.list"

from_sources() {
  apt-get -q -o Acquire::Retries=3 -o APT::Sandbox::User="$(id -un)" \
    -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- \
    -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o Debug::NoLocking=1 "$@"
}
from_sources update >/dev/null
(cd "$work" && from_sources source abseil >/dev/null 2>"$work/log") || {
  cat "$work/log" >&2
  exit 1
}
mv "$work/abseil-$version" "$folder"
rm -rf "$work"
