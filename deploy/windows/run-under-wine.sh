#!/usr/bin/env bash
# Runs a Windows program under Wine, with a display that nobody sees and Direct3D 12 over the
# machine's Vulkan drivers.
#
#   deploy/windows/run-under-wine.sh PROGRAM.exe [ARGUMENT...]
#
# Wine's own files are kept in $WINEPREFIX, by default build/windows/wine.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export WINEPREFIX=${WINEPREFIX:-$root/build/windows/wine}
export WINEDEBUG=${WINEDEBUG:--all}
# Neither .NET nor HTML: Wine would offer to install them.
export WINEDLLOVERRIDES=${WINEDLLOVERRIDES:-mscoree,mshtml=}
mkdir -p "$WINEPREFIX"

for command in wine64 wineserver64; do
  [[ -x /usr/lib/wine/$command ]] || {
    echo "run-under-wine: there is no $command; run deploy/setup.sh windows" >&2
    exit 1
  }
done
# Wine's server would outlive the program, and keep the display. Variables are the inner shell's.
# shellcheck disable=SC2016
xvfb-run --auto-servernum bash -c '
  status=0
  /usr/lib/wine/wine64 "$@" || status=$?
  /usr/lib/wine/wineserver64 -k || true
  exit "$status"' run-under-wine "$@"
