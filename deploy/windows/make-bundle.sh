#!/usr/bin/env bash
# Packs the programs for Windows into one zip, with licences, settings and the scripts of deploy/windows/bundle.
#
#   deploy/windows/make-bundle.sh BUILD OUTPUT
#
# Writes OUTPUT/opserve-VERSION-windows-x86_64.zip and its .sha256 from the programs in BUILD/bin, which `make
# windows-bundle` builds. The same build gives the same bytes: names are sorted, times are that of the last
# commit, or SOURCE_DATE_EPOCH.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

# shellcheck source=deploy/windows/licences.sh
. "$(dirname "${BASH_SOURCE[0]}")/licences.sh"

say() { printf 'windows-bundle: %s\n' "$*"; }
die() {
  say "$*" >&2
  exit 1
}

(($# == 2)) || die "usage: make-bundle.sh BUILD OUTPUT"
readonly build=$1
output=$(realpath -m "$2")
[[ -f $build/bin/opserve-server.exe ]] || die "$build has no programs; make windows-sysroot builds what they need"
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
readonly bundle=opserve-$version-windows-x86_64
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
readonly tree=$stage/$bundle
mkdir -p "$tree" "$output"

for program in opserve-server opserve; do
  x86_64-w64-mingw32-strip -o "$tree/$program.exe" "$build/bin/$program.exe"
done

# The C++ client library, for programs that mingw-w64 builds against the same libraries.
cmake --install "$build" --component client --prefix "$tree/client" >/dev/null

# What is linked into the programs: the sysroot's packages, and parts of the compiler and of this machine's headers.
gather_licences "$tree/LICENSES" "${linked_packages[@]}" g++-mingw-w64-x86-64-posix libcli11-dev libfmt-dev \
  libspdlog-dev libtomlplusplus-dev libz-mingw-w64-dev mingw-w64-x86-64-dev nlohmann-json3-dev directx-headers-dev

# Windows' own editors show the ends of lines so.
with_crlf() { sed 's/$/\r/' "$1" >"$tree/${1##*/}"; }
with_crlf "$windows_folder/../opserve-server.toml"
for script in "$windows_folder"/bundle/*.ps1; do with_crlf "$script"; done
sed "s/@VERSION@/$version/g; s/\$/\r/" "$windows_folder/bundle/README.txt.in" >"$tree/README.txt"

time=${SOURCE_DATE_EPOCH:-$(git -C "$windows_folder" log -1 --format=%ct)}
find "$stage" -exec touch --no-dereference --date "@$time" {} +
rm -f "$output/$bundle.zip"
(cd "$stage" && find "$bundle" -type f | sort | zip -q -X -9 "$output/$bundle.zip" -@)
(cd "$output" && sha256sum "$bundle.zip" >"$bundle.zip.sha256")
say "$output/$bundle.zip, $(($(stat -c %s "$output/$bundle.zip") / 1024)) KiB"
