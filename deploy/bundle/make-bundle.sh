#!/usr/bin/env bash
# Packs the programs of a build, with every library they need, into one tarball.
#
#   deploy/bundle/make-bundle.sh BUILD OUTPUT
#
# Writes OUTPUT/opserve-VERSION-linux-x86_64.tar.gz and its .sha256. Takes the programs from BUILD/bin and
# the run-time modules, where there are any, from BUILD/lib/opserve. Left out are glibc, which must be the
# machine's own, and what belongs to a GPU driver. The same build gives the same bytes: names are sorted,
# times are that of the last commit, or SOURCE_DATE_EPOCH.
set -euo pipefail
export LC_ALL=C
umask 022

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=deploy/bundle/elf.sh
source "$here/elf.sh"

readonly programs=(opserve-server opserve bench_kernels)
# Built only where the tests for Direct3D 12 are.
readonly gpu_programs=(bench_d3d12)
# What no program names, because it is loaded while it runs: the Direct3D run time, the Vulkan loader,
# and the allocator of TBB. (TBB also looks for a NUMA helper, which opserve makes no use of.)
readonly loaded_libraries=(libvkd3d.so.1 libvulkan.so.1 libtbbmalloc.so.2)

say() { printf 'bundle: %s\n' "$*"; }
die() {
  printf 'bundle: %s\n' "$*" >&2
  exit 1
}

(($# == 2)) || die "usage: make-bundle.sh BUILD OUTPUT"
readonly build=$1 output=$2
for tool in patchelf objdump readelf strip dpkg-query; do
  command -v "$tool" >/dev/null || die "needs $tool; run deploy/setup.sh bundle"
done

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
[[ -n $version ]] || die "$build is not a configured build"
readonly bundle=opserve-$version-linux-x86_64
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
readonly tree=$stage/$bundle

# library name -> file of this machine
declare -A file_of=()
# The same for libraries of the build itself, which no package owns.
declare -A own_file_of=()

# The file that the dynamic linker of this machine takes for a library.
find_library() {
  local path
  path=$(/sbin/ldconfig -p | awk -v library="$1" \
    '$1 == library && /x86-64/ && !found {print $NF; found = 1}')
  [[ -n $path ]] || die "$1 is not installed; run deploy/setup.sh bundle"
  printf '%s\n' "$path"
}

# Enters into file_of all libraries that an ELF file needs, directly or not.
add_needs_of() {
  local name path
  while read -r name path; do
    [[ $path != not ]] || die "$1 needs $name, which is not installed"
    if [[ $(realpath "$path") == "$(realpath "$build")"/* ]]; then
      own_file_of[$name]=$path
    elif ! is_glibc "$name"; then
      file_of[$name]=$path
    fi
  done < <(resolved_libraries "$1")
}

copy_programs() {
  local program
  for program in "${programs[@]}" "${gpu_programs[@]}"; do
    if [[ ! -e $build/bin/$program && " ${gpu_programs[*]} " == *" $program "* ]]; then
      say "this build has no $program"
      continue
    fi
    add_needs_of "$build/bin/$program"
    install -D -m 755 -t "$tree/bin" "$build/bin/$program"
    strip "$tree/bin/$program"
    # RPATH, not RUNPATH: it holds for what libraries need in their turn, and a LD_LIBRARY_PATH that a
    # machine happens to set does not replace our libraries.
    patchelf --force-rpath --set-rpath "\$ORIGIN/../lib" "$tree/bin/$program"
  done
}

copy_modules() {
  local module
  for module in "$build"/lib/opserve/*.so; do
    [[ -e $module ]] || continue
    add_needs_of "$module"
    install -D -m 644 -t "$tree/lib/opserve" "$module"
    strip --strip-unneeded "$tree/lib/opserve/${module##*/}"
    patchelf --force-rpath --set-rpath "\$ORIGIN/.." "$tree/lib/opserve/${module##*/}"
  done
}

copy_own_libraries() {
  local library
  for library in "${!own_file_of[@]}"; do
    install -D -m 644 "${own_file_of[$library]}" "$tree/lib/$library"
    strip --strip-unneeded "$tree/lib/$library"
    patchelf --force-rpath --set-rpath "\$ORIGIN" "$tree/lib/$library"
  done
}

copy_libraries() {
  local library
  for library in "${loaded_libraries[@]}"; do
    file_of[$library]=$(find_library "$library")
    add_needs_of "${file_of[$library]}"
  done
  mkdir -p "$tree/lib"
  for library in "${!file_of[@]}"; do
    install -m 644 "${file_of[$library]}" "$tree/lib/$library"
    patchelf --force-rpath --set-rpath "\$ORIGIN" "$tree/lib/$library"
  done
}

# The packages that own the bundled libraries.
packages_of_libraries() {
  local files owners
  mapfile -t files < <(realpath "${file_of[@]}")
  # Debian 12 moved /lib into /usr/lib; dpkg knows some files by the old path only, and complains of the
  # other one.
  owners=$(dpkg-query -S "${files[@]}" "${files[@]#/usr}" 2>/dev/null || true)
  mapfile -t files < <(comm -23 <(printf '%s\n' "${files[@]##*/}" | sort -u) \
    <(cut -d: -f3 <<<"$owners" | xargs -n 1 basename | sort -u))
  ((${#files[@]} == 0)) || die "of no package, so of unknown licence: ${files[*]}"
  cut -d: -f1 <<<"$owners"
}

copy_licenses() {
  local package license folder=$tree/LICENSES
  mkdir -p "$folder/common-licenses"
  packages_of_libraries >"$stage/packages"
  # Headers are compiled into our programs.
  "$here/../setup.sh" --print build | grep -e '-dev$' >>"$stage/packages"
  while read -r package; do
    cp -L "/usr/share/doc/$package/copyright" "$folder/$package.txt" ||
      die "$package has no copyright file"
    dpkg-query -W -f '${Package} ${Version} (source: ${source:Package} ${source:Version})\n' \
      "$package" >>"$folder/packages.txt"
  done < <(sort -u "$stage/packages")
  # Copyright files name the common licences by the place they have on Debian.
  while read -r license; do
    cp -L "/usr/share/common-licenses/$license" "$folder/common-licenses/$license"
  done < <(cat "$folder"/*.txt | grep -o 'common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' |
    cut -d/ -f2 | sort -u)
}

copy_texts() {
  sed "s/@VERSION@/$version/g" "$here/README.txt.in" >"$tree/README.txt"
  install -m 644 "$here/../opserve-server.toml" "$tree/opserve-server.toml"
  install -m 755 "$here/bench-gpu.sh" "$tree/bench-gpu.sh"
}

pack() {
  local time=${SOURCE_DATE_EPOCH:-}
  [[ -n $time ]] || time=$(git -C "$here" log -1 --format=%ct 2>/dev/null) || time=0
  mkdir -p "$output"
  tar --create --directory "$stage" --format ustar --sort name --mtime "@$time" \
    --owner 0 --group 0 --numeric-owner "$bundle" | gzip -n >"$output/$bundle.tar.gz.new"
  mv "$output/$bundle.tar.gz.new" "$output/$bundle.tar.gz"
  (cd "$output" && sha256sum "$bundle.tar.gz" >"$bundle.tar.gz.sha256")
}

copy_programs
copy_modules
copy_own_libraries
copy_libraries
copy_licenses
copy_texts
"$here/check-bundle.sh" "$tree"
pack
say "$output/$bundle.tar.gz, $(($(stat -c %s "$output/$bundle.tar.gz") / 1024)) KiB"
