#!/usr/bin/env bash
# Runs every fuzz target for a while. `make fuzz` calls it.
#
#   deploy/fuzz.sh BUILD_FOLDER SECONDS
#
# A target is a program BUILD_FOLDER/bin/fuzz_*. New inputs are kept below BUILD_FOLDER/corpus, and
# inputs that fail below BUILD_FOLDER/artifacts; seeds are in BUILD_FOLDER/seeds/TARGET.
set -euo pipefail

build=$(realpath "$1")
seconds=$2

shopt -s nullglob
targets=("$build"/bin/fuzz_*)
((${#targets[@]})) || {
  echo "fuzz: no targets in $build/bin" >&2
  exit 1
}
failed=()
for target in "${targets[@]}"; do
  name=$(basename "$target")
  corpus=$build/corpus/$name
  artifacts=$build/artifacts/$name/
  seeds=("$build/seeds/$name")
  [[ -d ${seeds[0]} ]] || seeds=()
  mkdir -p "$corpus" "$artifacts"
  printf 'fuzz: %s for %s s\n' "$name" "$seconds"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="$artifacts" "$corpus" "${seeds[@]}" \
    >"$build/$name.log" 2>&1 || {
    tail -n 60 "$build/$name.log" >&2
    failed+=("$name")
    continue
  }
  sed -n 's/^stat::number_of_executed_units: */fuzz:   executions: /p' "$build/$name.log"
done
printf 'fuzz: %d passed, %d failed%s\n' $((${#targets[@]} - ${#failed[@]})) "${#failed[@]}" \
  "${failed[*]:+: ${failed[*]}}"
((${#failed[@]} == 0))
