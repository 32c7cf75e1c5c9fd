#!/usr/bin/env bash
# Checks that the packages of the run-time image are exactly those the programs need.
#
#   deploy/check-image-packages.sh PROGRAM...
#
# Takes the libraries that the dynamic linker loads for each program, asks dpkg which packages own
# them, and compares these with the `runtime` group of deploy/setup.sh. A package that another one
# of the group depends on need not be listed. Exits with 77 where dpkg or ldd cannot tell.
set -euo pipefail
export LC_ALL=C

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
for tool in dpkg-query ldd apt-cache; do
  command -v "$tool" >/dev/null || {
    echo "skipped: no $tool here"
    exit 77
  }
done

# The packages that own the libraries that programs load, one per line.
needed_packages() {
  local libraries
  mapfile -t libraries < <(ldd "$@" | awk '$2 == "=>" {print $3}' | sort -u | xargs -r realpath)
  # Debian 12 moved /lib into /usr/lib; dpkg knows some files by the old path only.
  dpkg-query -S "${libraries[@]}" "${libraries[@]#/usr}" 2>/dev/null | cut -d: -f1 | sort -u
}

mapfile -t listed < <("$here/setup.sh" --print runtime | sort -u)
mapfile -t needed < <(needed_packages "$@")
((${#needed[@]})) || {
  echo "no shared libraries found in: $*" >&2
  exit 1
}

# Everything that installing the listed packages brings along.
mapfile -t closure < <(
  apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances "${listed[@]}" | grep -E '^[a-z0-9]' | sort -u
)
lines() { printf '%s\n' "$@"; }
missing=$(comm -23 <(lines "${needed[@]}") <(lines "${closure[@]}"))
unused=$(comm -23 <(lines "${listed[@]}") <(lines "${needed[@]}"))
if [[ -n $missing || -n $unused ]]; then
  echo "missing in the runtime group: ${missing:-none}; loaded by no program: ${unused:-none}" >&2
  exit 1
fi
echo "the ${#listed[@]} packages of the runtime group cover all ${#needed[@]} needed"
