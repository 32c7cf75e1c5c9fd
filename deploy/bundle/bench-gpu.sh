#!/bin/sh
# Measures a machine with a GPU: kernels and transfers, then requests through a server. See usage below.
# Needs a shell and coreutils, so that it runs on a bare machine.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$here/bin
seconds=10
adapter=
server=
server_id=
failures=0

say() { printf '%s\n' "$*"; }
heading() { printf '\n=== %s\n\n' "$*"; }
die() {
  printf 'bench-gpu: %s\n' "$*" >&2
  exit 1
}

usage() {
  cat <<'END'
bench-gpu.sh [--bin FOLDER] [--seconds S] [--adapter N]

  --bin       where the programs are (default: bin/ beside this script)
  --seconds   how long each measurement takes (default: 10)
  --adapter   which adapter bench_d3d12 measures (default: its own choice)

Prints what machine this is, what bench_d3d12 measures, and the throughput and latency of 256 requests in
flight, each with a tensor of 4 KiB: on the GPU with batching, on the GPU one request at a time, and on the
CPU. Where no GPU answers it says so, and measures a software adapter in its place if there is one.

Exit codes: 0 a GPU was measured, 3 no hardware GPU answers, 1 something failed.
END
}

while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      usage
      exit 0
      ;;
  esac
  [ $# -gt 1 ] || die "what is '$1'? See bench-gpu.sh --help"
  case $1 in
    --bin) bin=$2 ;;
    --seconds) seconds=$2 ;;
    --adapter) adapter=$2 ;;
    *) die "unknown option '$1'" ;;
  esac
  shift 2
done
for program in opserve-server opserve; do
  [ -x "$bin/$program" ] || die "no $program in $bin"
done

scratch=$(mktemp -d) || die "cannot make a temporary folder"

stop_server() {
  [ -n "$server_id" ] || return 0
  kill "$server_id" 2>/dev/null
  wait "$server_id"
  server_id=
  rm -f "$scratch/ready"
}
trap 'stop_server; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# first_value FILE KEY: of a file with lines "key : value".
first_value() {
  [ -r "$1" ] || {
    say unknown
    return
  }
  while IFS=: read -r key value; do
    case $key in
      "$2"*)
        # Unquoted: without the blanks around it.
        # shellcheck disable=SC2086
        say $value
        return
        ;;
    esac
  done <"$1"
}

print_machine() {
  say "date           $(date -u +%Y-%m-%dT%H:%MZ)"
  say "system         $(uname -srm)"
  say "processor      $(first_value /proc/cpuinfo 'model name'), $(nproc) threads"
  say "memory         $(first_value /proc/meminfo MemTotal)"
  say "opserve        $("$bin/opserve-server" --version)"
  if [ -r /proc/driver/nvidia/version ]; then
    say "NVIDIA driver  $(head -n 1 /proc/driver/nvidia/version)"
  fi
  found=
  for file in /etc/vulkan/icd.d/*.json /usr/local/share/vulkan/icd.d/*.json \
    /usr/share/vulkan/icd.d/*.json; do
    [ ! -e "$file" ] || { found=1 && say "Vulkan driver  $file"; }
  done
  [ -n "$found" ] || say "Vulkan driver  none in the usual folders"
}

bench_adapter() {
  if [ ! -x "$bin/bench_d3d12" ]; then
    say "this build has no bench_d3d12"
    return 1
  fi
  "$bin/bench_d3d12" ${adapter:+--adapter "$adapter"} --seconds "$seconds"
}

# start_server ARGUMENTS...: starts one on a free port, and sets `server` to its address.
start_server() {
  "$bin/opserve-server" --listen 127.0.0.1:0 --ready-file "$scratch/ready" "$@" \
    >"$scratch/log" 2>&1 &
  server_id=$!
  tries=0
  # The file appears as a whole, once the server serves.
  until [ -s "$scratch/ready" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 1200 ] || ! kill -0 "$server_id" 2>/dev/null; then
      cat "$scratch/log" >&2
      die "the server does not start"
    fi
    sleep 0.1
  done
  read -r server <"$scratch/ready"
}

# measure DEVICE DURATION: 4 KiB are 1024 elements of FLOAT32.
measure() {
  "$bin/opserve" bench --address "$server" --device "$1" --shape 1024 --type FLOAT32 \
    --concurrency 256 --duration "$2"
}

# row TITLE DEVICE: one measurement under a heading. A short one before it takes the first calls.
row() {
  heading "$1"
  measure "$2" 1s >/dev/null && measure "$2" "${seconds}s" && return
  say "FAILED: the server's log ends with"
  tail -n 5 "$scratch/log"
  failures=$((failures + 1))
}

# gpu_answers: whether requests can run on a GPU of the running server. GPUs join a while after it serves.
gpu_answers() {
  until measure gpu 1s >"$scratch/probe" 2>&1; do
    case $(cat "$scratch/probe") in
      *"still starting"*) sleep 0.2 ;;
      *) return 1 ;;
    esac
  done
}

bench_gpu_requests() {
  heading "devices"
  "$bin/opserve" info --address "$server"
  row "GPU, batched: 256 requests of 4 KiB in flight" gpu
  stop_server
  start_server "$@" --max-batch-requests 1
  gpu_answers || say "the GPU does not answer again"
  row "GPU, one request at a time: 256 requests of 4 KiB in flight" gpu
}

no_gpu() {
  heading "NO GPU ANSWERS"
  say "$1. What the programs say:"
  cat "$scratch/probe" "$scratch/log"
}

heading "machine"
print_machine
heading "kernels and transfers"
adapter_failed=0
bench_adapter || adapter_failed=1

result=0
start_server --devices auto
if gpu_answers; then
  bench_gpu_requests --devices auto
else
  result=3
  no_gpu "No hardware GPU answers through Vulkan"
  stop_server
  start_server --devices auto --allow-software-adapters
  if gpu_answers; then
    say
    say "What follows is a SOFTWARE adapter, not a GPU."
    bench_gpu_requests --devices auto --allow-software-adapters
  else
    no_gpu "No software adapter answers either"
    # There was nothing for it to measure.
    adapter_failed=0
  fi
fi
stop_server
start_server --devices auto
row "CPU: 256 requests of 4 KiB in flight" cpu
stop_server

heading "end"
failures=$((failures + adapter_failed))
[ "$failures" -eq 0 ] || {
  say "$failures measurements FAILED"
  exit 1
}
case $result in
  0) say "a GPU was measured" ;;
  *) say "NO HARDWARE GPU WAS MEASURED" ;;
esac
exit "$result"
