"""Runs of ghz against a server, and what they measured."""

import collections
import dataclasses
import datetime
import json
import math
import pathlib
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from background import Background  # noqa: E402  pylint: disable=wrong-import-position

METHOD = "opserve.v1.OperatorService.Execute"
LARGEST_MESSAGE = "1GB"
# Beyond a step's own time: ghz begins, and waits for the last calls.
RUN_SLACK_S = 120


@dataclasses.dataclass
class Step:
    """What one run of ghz measured. Latencies, in ms, are those of calls that succeeded."""

    title: str
    concurrency: int
    rate: float  # calls per second that were asked for; 0: as fast as answers come
    seconds: float
    calls: int
    right: int
    codes: dict
    calls_per_s: float  # that succeeded
    p50_ms: float
    p99_ms: float


def percentile(sorted_values, percent):
    """Of a list that is not empty: the least value that so many percent do not exceed."""
    return sorted_values[max(0, math.ceil(len(sorted_values) * percent / 100) - 1)]


def seconds_of(moment):
    """A time of ghz's in seconds; its fractions have any number of digits."""
    date, _, rest = moment.partition(".")
    if not rest:
        return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
    digits = len(rest) - len(rest.lstrip("0123456789"))
    zone = rest[digits:].replace("Z", "+00:00")
    return datetime.datetime.fromisoformat(date + zone).timestamp() + float("0." + rest[:digits])


class Load:
    """Load on the server at `address`; `folder` takes reports and requests."""

    def __init__(self, ghz, address, folder):
        self._ghz = ghz
        self._address = address
        self._folder = pathlib.Path(folder)

    def step(self, title, request, seconds, concurrency, rate=0, connections=4):
        """One run of ghz, and each of its calls as (end in s, latency in ms, code). `request` is a file of bytes."""
        report = self._folder / "report.json"
        command = [self._ghz, "--insecure", "--call", METHOD, "--binary-file", request, "--format", "json",
                   "--output", report, "--duration", f"{seconds}s", "--duration-stop", "wait",
                   "--timeout", "30s", "--max-recv-message-size", LARGEST_MESSAGE,
                   "--max-send-message-size", LARGEST_MESSAGE, "--concurrency", str(concurrency),
                   "--connections", str(min(connections, concurrency))]
        if rate:
            command += ["--rps", str(max(1, round(rate)))]
        done = subprocess.run([*command, self._address], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=seconds + RUN_SLACK_S)
        if done.returncode != 0:
            raise RuntimeError(f"ghz exits with {done.returncode}: {done.stderr}{done.stdout}")
        return measured(title, concurrency, rate, json.loads(report.read_text(encoding="utf-8")))


def measured(title, concurrency, rate, report):
    """The Step of a report of ghz, and its calls."""
    calls = [(seconds_of(call["timestamp"]) + call["latency"] / 1e9, call["latency"] / 1e6, call["status"])
             for call in report["details"]]
    if not calls:
        raise RuntimeError(f"{title}: ghz made no call")
    latencies = sorted(latency for _, latency, code in calls if code == "OK")
    first = min(end - latency / 1e3 for end, latency, _ in calls)
    seconds = max(end for end, _, _ in calls) - first
    return Step(title=title, concurrency=concurrency, rate=rate, seconds=seconds, calls=len(calls),
                right=len(latencies), codes=dict(collections.Counter(code for _, _, code in calls)),
                calls_per_s=len(latencies) / seconds,
                p50_ms=percentile(latencies, 50) if latencies else math.nan,
                p99_ms=percentile(latencies, 99) if latencies else math.nan), calls


def write_request(opserve, folder, count):
    """The file of a request to round `count` FLOAT32 toward zero, written by `opserve pack`."""
    tensor, request = folder / f"{count}.npy", folder / f"{count}.bin"
    np.save(tensor, np.linspace(-1e3, 1e3, count, dtype=np.float32))
    subprocess.run([opserve, "pack", "ELEMENT_WISE_ROUND", "--attr", "RoundingMode=TOWARD_ZERO", "--input", tensor,
                    "--output", request], check=True, timeout=RUN_SLACK_S, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    return request


def saturation(load, request, seconds, most_concurrency):
    """Closed loops of 1, 2, 4, ... calls at a time, then rates up to what the best of them reached."""
    closed = []
    concurrency = 1
    while concurrency <= most_concurrency:
        closed.append(load.step(f"{concurrency} at a time", request, seconds, concurrency)[0])
        concurrency *= 2
    peak = max(step.calls_per_s for step in closed)
    paced = [load.step(f"{share:.0%} of the peak", request, seconds, most_concurrency, peak * share)[0]
             for share in (0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9)]
    return closed, paced


def sustained(steps, within_ms):
    """The step with the most calls/s of those that kept up with their rate, all answered in time; or None."""
    kept = [step for step in steps
            if step.right == step.calls and step.p99_ms <= within_ms and step.calls_per_s >= 0.95 * step.rate]
    return max(kept, key=lambda step: step.calls_per_s, default=None)


def resident_kib(pid):
    """RSS of a process."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError(f"process {pid} has no VmRSS")


class MemoryWatch(Background):
    """RSS of a process once per interval, as (time, MiB), for the time of a `with` block."""

    def __init__(self, pid, interval_s):
        super().__init__()
        self._pid = pid
        self._interval_s = interval_s
        self.samples = []

    def _run(self):
        while True:
            self.samples.append((time.time(), resident_kib(self._pid) / 1024))
            if self._is_over.wait(self._interval_s):
                return


def windows(calls, count):
    """Calls cut into `count` equal spans of time: (seconds since the first, calls/s, p50 in ms, p99 in ms) of each."""
    begin, end = min(call[0] for call in calls), max(call[0] for call in calls)
    span = max(end - begin, 1e-9) / count
    latencies = [[] for _ in range(count)]
    for at, latency, code in calls:
        if code == "OK":
            latencies[min(count - 1, int((at - begin) / span))].append(latency)
    return [((i + 0.5) * span, len(values) / span, percentile(sorted(values), 50), percentile(sorted(values), 99))
            for i, values in enumerate(latencies) if values]
