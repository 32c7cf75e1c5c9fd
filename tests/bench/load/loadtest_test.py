#!/usr/bin/python3
"""Runs a short load test against a real server, and checks the sums and the report; gates no timing."""

import argparse
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
import go_tool  # noqa: E402  pylint: disable=wrong-import-position
from required import skip_without  # noqa: E402  pylint: disable=wrong-import-position

try:
    import load_page
    import load_runs
except ModuleNotFoundError as missing:
    skip_without("matplotlib", f"no module {missing.name}")

RUN_LIMIT_S = 240


def step(calls_per_s, p99_ms, rate=0, wrong=0):
    return load_runs.Step(title="", concurrency=1, rate=rate, seconds=1, calls=100, right=100 - wrong,
                          codes={}, calls_per_s=calls_per_s, p50_ms=p99_ms / 2, p99_ms=p99_ms)


class Sums(unittest.TestCase):

    def test_percentiles_are_values_that_were_measured(self):
        values = list(range(1, 101))
        self.assertEqual([load_runs.percentile(values, p) for p in (1, 50, 99, 100)], [1, 50, 99, 100])
        self.assertEqual(load_runs.percentile([7], 99), 7)

    def test_times_have_any_number_of_digits(self):
        for text, expected in (("1970-01-01T00:00:01Z", 1), ("1970-01-01T00:00:01.5Z", 1.5),
                               ("1970-01-01T01:00:01.123456789+01:00", 1.123456789)):
            self.assertAlmostEqual(load_runs.seconds_of(text), expected)

    def test_only_right_answers_count(self):
        calls = [{"timestamp": f"1970-01-01T00:00:0{i}Z", "latency": (i + 1) * 1_000_000, "status": code}
                 for i, code in enumerate(["OK", "OK", "ResourceExhausted", "OK", "Unavailable"])]
        measured, _ = load_runs.measured("t", 1, 0, {"details": calls})
        self.assertEqual((measured.calls, measured.right), (5, 3))
        self.assertEqual(measured.codes, {"OK": 3, "ResourceExhausted": 1, "Unavailable": 1})
        self.assertEqual((measured.p50_ms, measured.p99_ms), (2, 4))
        self.assertAlmostEqual(measured.seconds, 4.005)
        self.assertAlmostEqual(measured.calls_per_s, 3 / 4.005)

    def test_no_right_answer_has_no_latency(self):
        calls = [{"timestamp": "1970-01-01T00:00:00Z", "latency": 1000, "status": "Unavailable"}]
        measured, _ = load_runs.measured("t", 1, 0, {"details": calls})
        self.assertTrue(math.isnan(measured.p99_ms))

    def test_what_a_host_takes_is_answered_in_time_and_in_full(self):
        good = step(500, 9, rate=510)
        steps = [step(100, 1), good, step(900, 11), step(800, 5, wrong=1), step(600, 5, rate=900)]
        self.assertIs(load_runs.sustained(steps, 10), good)
        self.assertIsNone(load_runs.sustained(steps, 0.5))

    def test_windows_cut_time_into_equal_parts(self):
        calls = [(10 + i / 10, float(i), "OK") for i in range(11)] + [(10.05, 99.0, "Unavailable")]
        spans = load_runs.windows(calls, 2)
        self.assertEqual([(p50, p99) for _, _, p50, p99 in spans], [(2.0, 4.0), (7.0, 10.0)])
        self.assertAlmostEqual(spans[0][1], 5 / 0.5)


class Report(unittest.TestCase):
    programs = None
    tools = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="opserve-load-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name) / "report"
        go_tool.install("ghz", cls.tools)
        done = subprocess.run(
            [sys.executable, pathlib.Path(__file__).with_name("loadtest.py"), "--bin", cls.programs,
             "--tools", cls.tools, "--output", cls.folder, "--seconds", "0.3", "--soak-seconds", "1",
             "--most-concurrency", "4", "--largest-mib", "4", "--within-ms", "60000"],
            capture_output=True, text=True, check=False, timeout=RUN_LIMIT_S, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise RuntimeError(done.stderr + done.stdout)
        cls.printed = done.stdout
        cls.results = json.loads((cls.folder / "results.json").read_text(encoding="utf-8"))

    def test_every_run_but_the_overload_is_answered(self):
        curve = self.results["curve"]
        self.assertEqual([s["concurrency"] for s in curve["closed"]], [1, 2, 4])
        self.assertEqual(len(curve["paced"]), 7)
        self.assertEqual(list(self.results["large"]), ["1", "4"])
        for run in [*curve["closed"], *curve["paced"], *self.results["large"].values(),
                    self.results["soak"]["step"], self.results["overload"]["room for all"]]:
            self.assertEqual(run["codes"], {"OK": run["calls"]})
        self.assertLessEqual(set(self.results["overload"]["overloaded"]["codes"]), {"OK", "ResourceExhausted"})

    def test_the_sentence_tells_the_best_step(self):
        best = self.results["curve"]["best"]
        self.assertIn(f"This host takes {best['calls_per_s']:,.0f} calls/s", self.results["sentence"])
        self.assertIn(self.results["sentence"], self.printed)

    def test_every_run_has_a_row(self):
        for name in ("1 at a time", "90% of the peak", "64 KiB, overloaded", "4 MiB, 4 at a time", "soak"):
            self.assertRegex(self.printed, rf"(?m)^{re.escape(name)} .* [\d,]+$")

    def test_plots_are_images(self):
        self.assertEqual({path.stem for path in self.folder.glob("*.png")}, set(load_page.PLOTS))
        for path in self.folder.glob("*.png"):
            content = path.read_bytes()
            self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(struct.unpack(">II", content[16:24]), (1140, 504))

    def test_the_page_needs_nothing_else(self):
        page = (self.folder / "report.html").read_text(encoding="utf-8")
        self.assertEqual(len(re.findall(r"data:image/svg\+xml;base64,", page)), 4 * len(load_page.PLOTS))
        sources = re.findall(r'(?:src|srcset|href)="([^"]*)"', page)
        self.assertEqual([source[:40] for source in sources if not source.startswith("data:")], [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    Report.programs, Report.tools = arguments.bin.resolve(), arguments.tools.resolve()
    go_tool.install("ghz", Report.tools)
    unittest.main(argv=[sys.argv[0], *rest])
