#!/usr/bin/env bash
# Checks formatting, the names of types, and that files which documents and comments name exist; runs
# clang-tidy, and checks shell scripts. `make lint` calls it.
#
#   deploy/lint.sh [--all]
#
# clang-tidy looks at the .cc files that differ from the branch's fork point with origin/main, and at
# those that include a header which does, or at all of them with --all or where there is no such
# point. Needs a configured build/lint.
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
      git grep -l --untracked -F -f - -- '*.cc' || true; } | sort -u
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
  local list files=()
  if [[ ${1:-} != --all ]] && list=$(changed_files); then
    mapfile -t files < <(printf '%s' "${list:+$list$'\n'}")
    ((${#files[@]})) || return 0
  fi
  # The generated headers must exist; nothing else needs to be compiled.
  ninja -C build/lint proto/all tests/bench/wire/echo.pb.h >/dev/null
  deploy/run-clang-tidy.py --jobs "$jobs" build/lint "${files[@]}" || failed+=(clang-tidy)
  tests/deploy/own_code_test.py build/lint || failed+=("plugin of clang-tidy")
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
