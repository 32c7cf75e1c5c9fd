#!/bin/sh
# Measures a machine with a GPU and writes one report: the device, section by section, then requests through
# a server. See usage below. Needs a shell and coreutils, so that it runs on a bare machine.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$here/bin
duration=10s
warm_up=1s
quick=
adapter=
bandwidth=
section=
json=
report=opserve-gpu-report.txt
server=
server_id=
failures=0

say() { printf '%s\n' "$*"; }
heading() { printf '\n## %s\n\n' "$*"; }
progress() { printf 'bench-gpu: %s\n' "$*" >&2; }
die() {
  progress "$*"
  exit 1
}

usage() {
  cat <<'END'
bench-gpu.sh [--quick] [--section NAME] [--report FILE] [--json FILE]
             [--seconds S] [--adapter N] [--memory-bandwidth GB/S]
             [--bin FOLDER]

  --quick             half a minute instead of some: shows that everything runs
  --section           one section of bench_d3d12 alone, and no requests;
                      bin/bench_d3d12 --help lists them
  --report            where the report goes (default: opserve-gpu-report.txt)
  --json              also the numbers of bench_d3d12, for programs
  --seconds           how long requests are measured (default: 10)
  --adapter           which adapter bench_d3d12 measures (default: its choice)
  --memory-bandwidth  of the adapter by its data sheet, as a ceiling for kernels
  --bin               where the programs are (default: bin/ beside this script)

Writes a report: what machine this is, what bench_d3d12 measures, and requests
with 4 KiB each, 256 in flight: on the GPU with batching, on the GPU one at a
time, and on the CPU. Where no GPU answers it says so, and measures a software
adapter in its place if there is one. The report is printed, too; progress goes
to standard error. It has no names, addresses or files of yours: please read it,
and send it back.

Exit codes: 0 a GPU was measured; 1 something failed; 2 the command line is
wrong; 3 no hardware GPU answers.
END
}

bad_usage() {
  progress "$* See bench-gpu.sh --help"
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      usage
      exit 0
      ;;
    --quick)
      quick=1
      duration=300ms
      warm_up=100ms
      shift
      continue
      ;;
  esac
  case $1 in
    --bin | --seconds | --adapter | --memory-bandwidth | --section | --json | --report) ;;
    *) bad_usage "what is '$1'?" ;;
  esac
  [ $# -gt 1 ] || bad_usage "$1 needs a value."
  case $1 in
    --bin) bin=$2 ;;
    --seconds) duration=${2}s ;;
    --adapter) adapter=$2 ;;
    --memory-bandwidth) bandwidth=$2 ;;
    --section) section=$2 ;;
    --json) json=$2 ;;
    --report) report=$2 ;;
  esac
  shift 2
done
for program in opserve-server opserve; do
  [ -x "$bin/$program" ] || die "no $program in $bin"
done
# Before anything is measured.
printf "" >"$report" || die "cannot write $report"

scratch=$(mktemp -d) || die "cannot make a temporary folder"
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

stop_server() {
  [ -n "$server_id" ] || return 0
  kill "$server_id" 2>/dev/null
  wait "$server_id"
  server_id=
  rm -f "$scratch/ready"
}

# What bench_d3d12 does not tell of the machine.
print_drivers() {
  say "opserve         $("$bin/opserve-server" --version)"
  if [ -r /proc/driver/nvidia/version ]; then
    say "NVIDIA driver   $(head -n 1 /proc/driver/nvidia/version)"
  fi
  found=
  for file in /etc/vulkan/icd.d/*.json /usr/local/share/vulkan/icd.d/*.json \
    /usr/share/vulkan/icd.d/*.json; do
    [ ! -e "$file" ] || { found=1 && say "Vulkan driver   $file"; }
  done
  [ -n "$found" ] || say "Vulkan driver   none in the usual folders"
}

bench_adapter() {
  if [ ! -x "$bin/bench_d3d12" ]; then
    heading "device"
    say "FAILED: this build has no bench_d3d12"
    return 1
  fi
  "$bin/bench_d3d12" ${quick:+--quick} ${adapter:+--adapter "$adapter"} ${section:+--section "$section"} \
    ${bandwidth:+--memory-bandwidth "$bandwidth"} ${json:+--json "$json"}
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

# calls_per_second FILE: of what `opserve bench` printed, "N calls, RATE calls/s, ..." in its second line.
calls_per_second() {
  {
    read -r line
    read -r line
  } <"$1"
  line=${line#* calls, }
  line=${line%% *}
  say "${line%.*}"
}

# requests TITLE DEVICE FILE: one measurement under a heading, its calls per second to FILE. A short one before
# it takes the first calls.
requests() {
  progress "$1"
  heading "$1"
  say '```text'
  if measure "$2" "$warm_up" >/dev/null && measure "$2" "$duration" >"$scratch/measured"; then
    cat "$scratch/measured"
    calls_per_second "$scratch/measured" >"$3"
  else
    say "FAILED: the server's log ends with"
    tail -n 5 "$scratch/log"
    failures=$((failures + 1))
  fi
  say '```'
}

# gpu_answers: whether requests can run on a GPU of the running server. GPUs join a while after it serves.
gpu_answers() {
  until measure gpu "$warm_up" >"$scratch/probe" 2>&1; do
    case $(cat "$scratch/probe") in
      *"still starting"*) sleep 0.2 ;;
      *) return 1 ;;
    esac
  done
}

bench_gpu_requests() {
  heading "devices of the server"
  say '```text'
  "$bin/opserve" info --address "$server"
  say '```'
  requests "requests on the GPU, batched" gpu "$scratch/batched"
  stop_server
  start_server "$@" --max-batch-requests 1
  gpu_answers || say "the GPU does not answer again"
  requests "requests on the GPU, one at a time" gpu "$scratch/single"
}

no_gpu() {
  heading "NO GPU ANSWERS"
  say "$1. What the programs say:"
  say
  say '```text'
  cat "$scratch/probe" "$scratch/log"
  say '```'
}

# summary_row NAME FILE CEILING_FILE AGAINST: in the columns of bench_d3d12's tables; none where one is missing.
summary_row() {
  [ -s "$2" ] && [ -s "$3" ] || return 0
  read -r value <"$2"
  read -r ceiling <"$3"
  [ "$ceiling" -gt 0 ] || return 0
  hundredths=$((value * 100 / ceiling))
  printf '%-26s %8s %9s %-4s %9s %6s  %s\n' "$1" "4 KiB" "$value" 1/s "$ceiling" \
    "$((hundredths / 100)).$((hundredths / 10 % 10))$((hundredths % 10))" "$4"
}

print_summary() {
  heading "requests"
  say '```text'
  printf '%-26s %8s %9s %-4s %9s %6s  %s\n' "" size value "" ceiling ratio against
  summary_row "GPU, batched" "$scratch/batched" "$scratch/single" "one by one"
  summary_row "GPU, batched" "$scratch/batched" "$scratch/cpu" CPU
  summary_row "GPU, one by one" "$scratch/single" "$scratch/cpu" CPU
  say '```'
}

# bench_requests: through a server, wherever it runs them; returns 3 where there is no hardware GPU.
bench_requests() {
  answered=0
  start_server --devices auto
  if gpu_answers; then
    bench_gpu_requests --devices auto
  else
    answered=3
    no_gpu "No hardware GPU answers through Vulkan"
    stop_server
    start_server --devices auto --allow-software-adapters
    if gpu_answers; then
      say
      say "What follows is a SOFTWARE adapter, not a GPU."
      bench_gpu_requests --devices auto --allow-software-adapters
    else
      no_gpu "No software adapter answers either"
    fi
  fi
  stop_server
  start_server --devices auto
  requests "requests on the CPU" cpu "$scratch/cpu"
  stop_server
  print_summary
  return "$answered"
}

# The whole report; its exit code is that of the script.
write_report() {
  trap stop_server EXIT
  say "# opserve: report of a GPU"
  heading "Program and drivers"
  say '```text'
  print_drivers
  say '```'
  say
  bench_adapter
  result=$?
  case $result in
    0 | 3) ;;
    2) exit 2 ;;
    *) failures=$((failures + 1)) ;;
  esac
  if [ -z "$section" ]; then
    bench_requests
    answered=$?
    [ "$answered" -eq 0 ] || result=$answered
  fi
  heading "End"
  [ "$failures" -eq 0 ] || {
    say "$failures measurements FAILED"
    exit 1
  }
  case $result in
    0) say "a GPU was measured" ;;
    *) say "NO HARDWARE GPU WAS MEASURED" ;;
  esac
  exit "$result"
}

{
  # In a shell of its own, which a failure ends.
  (write_report)
  say $? >"$scratch/result"
} | tee -- "$report"
read -r result <"$scratch/result" || result=1
progress "the report is in $report"
exit "$result"
