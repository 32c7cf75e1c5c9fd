#!/usr/bin/env bash
# Checks formatting, the names of types, and that files which documents and comments name exist; runs
# clang-tidy, and checks shell scripts. `make lint` calls it.
#
#   deploy/lint.sh [--all]
#
# clang-tidy looks at the .cc files that differ from the branch's fork point with origin/main, or at
# all of them with --all or where there is no such point. Needs a configured build/release.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/release
jobs=${JOBS:-$(nproc)}
failed=()

stage() { printf 'lint: %s\n' "$*"; }

tracked() { git ls-files --cached --others --exclude-standard -- "$@"; }

# The .cc files to look at, one per line.
tidy_files() {
  local base
  if [[ ${1:-} != --all ]] && base=$(git merge-base HEAD origin/main 2>/dev/null) &&
    [[ $base != "$(git rev-parse HEAD)" || -n $(git status --porcelain -- '*.cc') ]]; then
    { git diff --name-only --diff-filter=d "$base" -- '*.cc' && tracked --others '*.cc'; } | sort -u
  else
    tracked '*.cc'
  fi
}

check_format() {
  local files
  mapfile -t files < <(tracked '*.h' '*.cc')
  stage "clang-format: ${#files[@]} files"
  clang-format-14 --dry-run -Werror "${files[@]}" || failed+=(clang-format)
}

check_type_names() {
  stage "names of types"
  deploy/check-type-names.py || failed+=(type-names)
}

check_scripts() {
  local file scripts=()
  while read -r file; do
    [[ -f $file && $(head -c 64 "$file" | tr -d '\0' | head -n 1) =~ ^#!.*(bash|/sh)$ ]] && scripts+=("$file")
  done < <(tracked)
  stage "shellcheck: ${#scripts[@]} files"
  shellcheck "${scripts[@]}" || failed+=(shellcheck)
}

check_named_files() {
  stage "names of files"
  deploy/check-named-files.py || failed+=("names of files")
}

check_tidy() {
  local files
  # Only what the release build compiles has a command line that clang-tidy can use.
  mapfile -t files < <(tidy_files "$@" | while read -r file; do
    grep -q "/$file\"" "$build/compile_commands.json" && printf '%s\n' "$file"
  done)
  stage "clang-tidy: ${#files[@]} files"
  ((${#files[@]})) || return 0
  # The generated headers must exist; nothing else needs to be compiled.
  ninja -C "$build" proto/all tests/bench/wire/echo.pb.h >/dev/null
  printf '%s\0' "${files[@]}" |
    xargs -0 -P "$jobs" -n 1 clang-tidy-14 --quiet -p "$build" \
      --extra-arg=-Wno-unknown-warning-option 2>&1 |
    grep --line-buffered -vE '^[0-9]+ warnings? (generated|and)|^Suppressed|^Use -header-filter' ||
    ((PIPESTATUS[1] == 0)) || failed+=(clang-tidy)
}

check_format
check_type_names
check_scripts
check_named_files
check_tidy "$@"
if ((${#failed[@]})); then
  stage "failed: ${failed[*]}"
  exit 1
fi
stage "nothing to report"
