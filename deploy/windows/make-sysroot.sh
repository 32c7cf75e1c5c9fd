#!/usr/bin/env bash
# Cross-builds, for Windows on x86-64, the libraries that opserve links and Debian has for Linux alone, from
# Debian's own source packages, into $OPSERVE_WINDOWS_SYSROOT, by default
# ${XDG_CACHE_HOME:-~/.cache}/opserve/windows-sysroot.
#
#   deploy/windows/make-sysroot.sh [--check]
#
# Takes 20 to 40 minutes on two cores and 600 MB meanwhile; does nothing where all is built, and builds a
# package again where its version, its commands, the compiler's settings or its patches changed. --check
# builds nothing: it prints the sysroot where it is complete, and else says what is missing and exits with 1.
# .built in the sysroot tells how long each package took.
set -euo pipefail

# shellcheck source=deploy/windows/sysroot.sh
. "$(dirname "${BASH_SOURCE[0]}")/sysroot.sh"
# shellcheck source=deploy/windows/recipes.sh
. "$windows_folder/recipes.sh"
jobs=${JOBS:-$(nproc)}
work=$sysroot.work

say() { printf 'windows-sysroot: %s\n' "$*"; }

missing=()
for package in "${sysroot_packages[@]}"; do
  is_built "$package" || missing+=("$package")
done

if [[ ${1:-} == --check ]]; then
  if ((${#missing[@]})); then
    say "$sysroot lacks ${missing[*]}" >&2
    exit 1
  fi
  printf '%s\n' "$sysroot"
  exit 0
fi

# Fetches the sources that are missing. apt checks their signatures; the system's own package sources stay
# as they are.
fetch_sources() {
  local package wanted=() apt=$work/apt
  for package in "${missing[@]}"; do
    [[ -f $work/${package}_${version_of[$package]}.dsc ]] || wanted+=("$package=${version_of[$package]}")
  done
  ((${#wanted[@]})) || return 0
  say "fetching ${wanted[*]}"
  mkdir -p "$apt/lists/partial"
  apt-get indextargets --format "\$(RELEASE) \$(COMPONENT) \$(REPO_URI)" 'Created-By: Packages' |
    awk '$1 ~ /^bookworm(-security)?$/ && $2 == "main" {print $3, $1}' | sort -u |
    sed 's|^|deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] |; s|$| main|' \
      >"$apt/sources.list"
  local options=(-q -o Acquire::Retries=3 -o APT::Sandbox::User="$(id -un)"
    -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=-
    -o Dir::State::Lists="$apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o Debug::NoLocking=1)
  apt-get "${options[@]}" update >"$work/log/fetch" 2>&1
  (cd "$work" && apt-get "${options[@]}" source --download-only "${wanted[@]}") >>"$work/log/fetch" 2>&1
}

# build_package PACKAGE: from freshly unpacked sources, so that patches meet what they were made for.
build_package() {
  local package=$1 source=$work/src/$1 build=$work/build/$1 patch
  rm -rf "$source" "$build"
  mkdir -p "$work/src"
  dpkg-source --no-check -x "$work/${package}_${version_of[$package]#*:}.dsc" "$source"
  for patch in "$windows_folder/patches/$package"-*.patch; do
    [[ ! -f $patch ]] || patch -d "$source" -p1 -N <"$patch"
  done
  ("build_$package")
  install -D -m 644 "$source/debian/copyright" "$sysroot/share/doc/$package/copyright"
  rm -rf "$source" "$build"
}

mkdir -p "$sysroot/.built" "$work/log"
if ((${#missing[@]})); then
  fetch_sources || {
    tail -n 20 "$work/log/fetch" >&2
    exit 1
  }
fi
for package in "${missing[@]}"; do
  say "building $package ${version_of[$package]} ($work/log/$package)"
  rm -f "$sysroot/.built/$package"
  begun=$SECONDS
  # In the background, not in a condition, so that every command's failure counts.
  build_package "$package" >"$work/log/$package" 2>&1 &
  wait $! || {
    tail -n 30 "$work/log/$package" >&2
    exit 1
  }
  printf '%s\n%s seconds\n' "$(identity "$package")" $((SECONDS - begun)) >"$sysroot/.built/$package"
  say "built $package in $((SECONDS - begun)) s"
done
rm -rf "$work"
say "ready: $sysroot"
