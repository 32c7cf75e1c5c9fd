#!/usr/bin/env bash
# Checks that the packages of the run-time image are exactly those the programs need.
#
#   deploy/check-image-packages.sh PROGRAM...
#
# Takes the libraries that the dynamic linker loads for each program, asks dpkg which packages own
# them, and compares these with the `runtime` group of deploy/setup.sh. A package that another one
# of the group depends on need not be listed. Exits with 77 where dpkg or ldd cannot tell.
set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
for tool in dpkg-query ldd apt-cache; do
  command -v "$tool" >/dev/null || {
    echo "skipped: no $tool here"
    exit 77
  }
done

# The packages that own the libraries a program loads, one per line.
packages_of() {
  local library
  ldd "$1" | awk '$2 == "=>" {print $3}' | while read -r library; do
    # Debian 12 moved /lib into /usr/lib; dpkg knows some files by the old path only.
    dpkg-query -S "$(realpath "$library")" 2>/dev/null ||
      dpkg-query -S "$(realpath "$library" | sed 's,^/usr,,')" ||
      echo "none:$library"
  done | cut -d: -f1 | sort -u
}

mapfile -t listed < <("$here/setup.sh" --print runtime)
mapfile -t needed < <(for program in "$@"; do
  packages_of "$program"
done | sort -u)
((${#needed[@]})) || {
  echo "no shared libraries found in: $*" >&2
  exit 1
}

# Everything that installing the listed packages brings along.
mapfile -t closure < <(
  apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances "${listed[@]}" | grep -E '^[a-z0-9]' | sort -u
)
status=0
for package in "${needed[@]}"; do
  if ! printf '%s\n' "${closure[@]}" | grep -qxF "$package"; then
    echo "missing in the runtime group: $package" >&2
    status=1
  fi
done
for package in "${listed[@]}"; do
  if ! printf '%s\n' "${needed[@]}" | grep -qxF "$package"; then
    echo "not loaded by any program: $package" >&2
    status=1
  fi
done
((status)) || echo "the ${#listed[@]} packages of the runtime group cover all ${#needed[@]} needed"
exit $status
