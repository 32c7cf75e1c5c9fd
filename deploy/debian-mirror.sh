#!/usr/bin/env bash
# Prints the address from which apt has Debian 12's packages on this machine.
set -euo pipefail

mirror=$(apt-get indextargets --format "\$(RELEASE) \$(COMPONENT) \$(REPO_URI)" \
  'Created-By: Packages' | awk '$1 == "bookworm" && $2 == "main" && !seen++ {print $3}')
[[ -n $mirror ]] || {
  echo "apt has no source of Debian 12's packages; run apt-get update, see apt-get indextargets" >&2
  exit 1
}
printf '%s\n' "$mirror"
