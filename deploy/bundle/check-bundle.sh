#!/usr/bin/env bash
# Checks that an unpacked bundle needs nothing of the machine but glibc.
#
#   deploy/bundle/check-bundle.sh FOLDER
#
# Of every program, library and module: its search path leads to the bundle's own libraries, so that what
# is loaded at run time comes from there as well; everything it needs is found in the bundle, or is part of
# glibc; it asks for no newer glibc than 2.36; programs are stripped. Prints every fault.
set -euo pipefail
export LC_ALL=C

# shellcheck source=deploy/bundle/elf.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/elf.sh"
# That of Debian 12.
readonly newest_glibc=2.36

folder=$(realpath "$1")
readonly folder
faults=0
fault() {
  printf 'check-bundle: %s: %s\n' "${1#"$folder"/}" "$2" >&2
  faults=$((faults + 1))
}

# The search path that a file of the bundle must have.
expected_rpath() {
  case $1 in
    "$folder"/bin/*) echo "\$ORIGIN/../lib" ;;
    "$folder"/lib/opserve/*) echo "\$ORIGIN/.." ;;
    *) echo "\$ORIGIN" ;;
  esac
}

check_search_path() {
  local paths
  paths=$(readelf -d "$1" | sed -En 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]/\1 \2/p')
  [[ $paths == "RPATH $(expected_rpath "$1")" ]] || fault "$1" "search path is '$paths'"
}

check_needs() {
  local name path
  while read -r name path; do
    if is_glibc "$name"; then
      continue
    elif [[ $path == not ]]; then
      fault "$1" "$name is missing"
    elif [[ $(realpath "$path") != "$folder"/lib/* ]]; then
      fault "$1" "$name comes from $path"
    fi
  done < <(resolved_libraries "$1")
}

check_glibc_version() {
  local newest
  newest=$({
    echo "$newest_glibc"
    objdump -T "$1" | awk 'match($0, /GLIBC_[A-Z0-9_.]+/) {print substr($0, RSTART + 6, RLENGTH - 6)}'
  } | sort -Vu | tail -n 1)
  [[ $newest == "$newest_glibc" ]] || fault "$1" "needs GLIBC_$newest, newer than $newest_glibc"
}

check_stripped() {
  if readelf -SW "$1" | grep -q ' \.symtab '; then fault "$1" "is not stripped"; fi
}

count=0
while read -r file; do
  count=$((count + 1))
  check_search_path "$file"
  check_needs "$file"
  check_glibc_version "$file"
  [[ $file != "$folder"/bin/* ]] || check_stripped "$file"
done < <(find "$folder/bin" "$folder/lib" -type f)

((count)) || fault "$folder" "holds no programs"
((faults == 0)) || exit 1
printf 'check-bundle: %d ELF files need nothing but glibc up to %s\n' "$count" "$newest_glibc"
