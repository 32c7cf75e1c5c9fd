"""Measures calls to three hosts directly, and through HAProxy and nginx as deploy/ sets them up."""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import farm

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench"))
import machine  # noqa: E402

# FLOAT32 elements of a tensor, by what its bytes are called.
SIZES = {"64 B": 16, "64 KiB": 16384, "1 MiB": 262144}
# What HAProxy does unless it is told otherwise.
PLAIN = """
defaults
  mode http
  timeout connect 2s
  timeout client 1h
  timeout server 1h
frontend opserve
  bind :50051 proto h2
  default_backend hosts
backend hosts
  balance leastconn
  server a host-a:50051 proto h2
  server b host-b:50051 proto h2
  server c host-c:50051 proto h2
"""


def measure(options, address, elements):
    """Calls per second, and the median latency in milliseconds."""
    done = subprocess.run(
        [options.bin / "opserve", "bench", "ELEMENT_WISE_ABS", "--shape", str(elements), "--concurrency",
         str(options.concurrency), "--duration", f"{options.seconds}s", "--messages", "--json", "--address", address],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    answer = json.loads(done.stdout)
    return answer["calls_per_s"], answer["latency_ns"]["p50"] / 1e6


def medians(runs):
    """The run with the median of calls per second."""
    return sorted(runs)[len(runs) // 2]


def main():
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder of the programs")
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="of all measurements; medians are shown")
    parser.add_argument("--concurrency", type=int, default=8, help="calls in flight")
    options = parser.parse_args()
    farm.enter_namespaces()
    print(machine.state())
    with tempfile.TemporaryDirectory() as folder:
        plain = pathlib.Path(folder) / "plain.cfg"
        plain.write_text(PLAIN, encoding="utf-8")
        haproxy = shutil.which("haproxy", path="/usr/sbin:/usr/bin")
        nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin")
        ways = {
            "direct": None,
            "HAProxy without settings": [haproxy, "-f", plain],
            "HAProxy": [haproxy, "-f", ROOT / "deploy/haproxy/haproxy.cfg"],
            "nginx": [nginx, "-c", ROOT / "deploy/nginx/nginx.conf", "-e", "stderr", "-g",
                      f"daemon off; user root root; pid {folder}/nginx.pid;"],
        }
        with farm.Farm(options.bin / "opserve-server", folder) as hosts:
            results = {}
            for _ in range(options.rounds):
                for way, command in ways.items():
                    proxy = None
                    address = hosts.targets
                    if command is not None:
                        proxy = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                 stderr=subprocess.DEVNULL)
                        address = f"127.0.0.1:{farm.PORT}"
                        farm.wait_until(lambda: farm.answers(address), f"{way} serves")
                    for size, elements in SIZES.items():
                        results.setdefault((way, size), []).append(measure(options, address, elements))
                    if proxy is not None:
                        proxy.terminate()
                        proxy.wait()
    print(f"\n| {options.concurrency} calls in flight | {' | '.join(SIZES)} |\n|---|{'---|' * len(SIZES)}")
    for way in ways:
        cells = [medians(results[way, size]) for size in SIZES]
        print(f"| {way} | {' | '.join(f'{calls:,.0f} calls/s, p50 {p50:.1f} ms' for calls, p50 in cells)} |")


if __name__ == "__main__":
    main()
