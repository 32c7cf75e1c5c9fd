#!/usr/bin/env bash
# Runs every fuzz target for a while. `make fuzz` calls it.
#
#   deploy/fuzz.sh BUILD_FOLDER SECONDS
#
# JOBS of them run at a time, one per processor unless that is set.
# A target is a program BUILD_FOLDER/bin/fuzz_*. New inputs are kept below BUILD_FOLDER/corpus, and
# inputs that fail below BUILD_FOLDER/artifacts; seeds are in BUILD_FOLDER/seeds/TARGET.
set -euo pipefail

build=$(realpath "$1")
seconds=$2
jobs=${JOBS:-$(nproc)}

shopt -s nullglob
targets=("$build"/bin/fuzz_*)
((${#targets[@]})) || {
  echo "fuzz: no targets in $build/bin" >&2
  exit 1
}
# Fuzzes one target; prints what it did, or the end of its log where it failed.
fuzz() {
  local target=$1 name corpus artifacts seeds
  name=$(basename "$target")
  corpus=$build/corpus/$name
  artifacts=$build/artifacts/$name/
  seeds=("$build/seeds/$name")
  [[ -d ${seeds[0]} ]] || seeds=()
  mkdir -p "$corpus" "$artifacts"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="$artifacts" "$corpus" "${seeds[@]}" \
    >"$build/$name.log" 2>&1 || {
    printf 'fuzz: %s failed\n%s\n' "$name" "$(tail -n 60 "$build/$name.log")" >&2
    return 1
  }
  sed -n "s/^stat::number_of_executed_units: */fuzz: $name, executions: /p" "$build/$name.log"
}
export -f fuzz
export build seconds

printf 'fuzz: %d targets, %s s each, %d at a time\n' "${#targets[@]}" "$seconds" "$jobs"
printf '%s\0' "${targets[@]}" | xargs -0 -P "$jobs" -I {} bash -c "fuzz '{}'" || {
  echo 'fuzz: failed' >&2
  exit 1
}
printf 'fuzz: %d passed\n' "${#targets[@]}"
