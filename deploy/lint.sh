#!/usr/bin/env bash
# Checks formatting, the names of types, and that files which documents and comments name exist; runs
# clang-tidy, and checks shell scripts. `make lint` calls it.
#
#   deploy/lint.sh [--all]
#
# clang-tidy looks at the .cc files that differ from the branch's fork point with origin/main, and at
# those that include a header which does, or at all of them with --all or where there is no such
# point. Needs a configured build/release, and for all files build/lint, where CMake puts up to 16
# files of a library into one, so that the headers which they share are read once.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${JOBS:-$(nproc)}
failed=()

stage() { printf 'lint: %s\n' "$*"; }

tracked() { git ls-files --cached --others --exclude-standard -- "$@"; }

# The .cc files that changed or include a header that did, one per line; fails where that cannot be told.
changed_files() {
  local base changed
  base=$(git merge-base HEAD origin/main 2>/dev/null) || return
  changed=$(git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h' &&
    git ls-files --others --exclude-standard -- '*.cc' '*.h')
  [[ -n $changed ]] || return
  { grep '\.cc$' <<<"$changed" || true
    grep '\.h$' <<<"$changed" | sed 's,^client/include/,,; s,.*,#include "&",' |
      git grep -l --untracked -F -f - -- '*.cc' || true; } | sort -u |
    while read -r file; do
      # Only what the release build compiles has a command line that clang-tidy can use.
      if grep -q "/$file\"" build/release/compile_commands.json; then printf '%s\n' "$file"; fi
    done
}

# The sources of the checkout in FILE, one per line: itself, or what CMake put together in it.
sources_of() {
  if [[ $1 != "$PWD/build/"* ]]; then
    printf '%s\n' "$1"
  elif [[ -f $1 ]]; then
    sed -n "s,^#include \"\($PWD/.*\)\"$,\1,p" "$1" | grep -vF "$PWD/build/" || true
  fi
}

# What build/lint compiles, one per line, but for what is made of generated sources alone, or of such as are in
# another one already.
united_files() {
  local file source is_new
  local -A seen=()
  sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/lint/compile_commands.json | sort -u |
    while read -r file; do
      is_new=
      while read -r source; do
        [[ -n ${seen[$source]:-} ]] || is_new=yes
        seen[$source]=yes
      done < <(sources_of "$file")
      [[ -z $is_new ]] || printf '%s\n' "$file"
    done
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
  shellcheck --external-sources "${scripts[@]}" || failed+=(shellcheck)
}

check_named_files() {
  stage "names of files"
  deploy/check-named-files.py || failed+=("names of files")
}

check_tidy() {
  local build=build/release list files options=()
  if [[ ${1:-} == --all ]] || ! list=$(changed_files); then
    build=build/lint
    # That is how the files are put together.
    options=(--checks=-bugprone-suspicious-include)
  fi
  # The generated headers must exist; nothing else needs to be compiled.
  ninja -C "$build" proto/all tests/bench/wire/echo.pb.h >/dev/null
  [[ $build == build/release ]] || list=$(united_files)
  mapfile -t files < <(printf '%s' "${list:+$list$'\n'}")
  # Kernels are the same text for every instruction set.
  options+=(--extra-arg=-DHWY_COMPILE_ONLY_STATIC --extra-arg=-DHWY_BROKEN_EMU128=1)
  stage "clang-tidy: ${#files[@]} files"
  ((${#files[@]})) || return 0
  printf '%s\0' "${files[@]}" |
    xargs -0 -P "$jobs" -n 1 clang-tidy-14 --quiet -p "$build" \
      "${options[@]}" --header-filter='/(client|kernels|proto|server|tests)/.*\.(h|cc)$' \
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
