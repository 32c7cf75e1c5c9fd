#!/usr/bin/python3
"""Runs all of bench_d3d12 with --quick, and looks at its report: each section is there, with numbers that can be.

No timing gates anything. Skipped where there is no adapter, unless OPSERVE_REQUIRE has gpu.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from required import skip_without  # pylint: disable=wrong-import-position

LIMIT_S = 240
# How many rows a section has at least.
SECTIONS = {
    "submissions": 6, "stages": 21, "transfers": 13, "kernels": 6, "batches": 5, "in-flight": 8,
    "calls": 5, "kept": 10, "chains": 14, "unread": 3, "cold": 4, "pipelines": 3, "placed": 4,
    "oversubscription": 4, "placement": 18, "dispatch": 6, "loss": 5,
}
MEASURED, FAILED, BAD_USAGE, NO_HARDWARE = range(4)
# What may be zero: stages that the device's clock is too coarse for, or that nothing is left of;
# requests that a device does not get.
MAY_BE_ZERO = {"device: up", "device: kernel", "device: down", "host: submit, wait",
               "auto on GPU, 1 client", "auto on GPU, 16 clients"}

OPTIONS = None


def run(*arguments):
    return subprocess.run([OPTIONS.bin / "bench_d3d12", *arguments], capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)


class Whole(unittest.TestCase):
    """The whole run, made once."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="opserve-bench-") as folder:
            report, numbers = pathlib.Path(folder, "report.txt"), pathlib.Path(folder, "numbers.json")
            cls.done = run("--quick", "--report", report, "--json", numbers,
                           "--memory-bandwidth", "100")
            if cls.done.returncode == NO_HARDWARE and not numbers.exists():
                skip_without("gpu", cls.done.stderr)
            cls.report = report.read_text(encoding="utf-8")
            cls.numbers = json.loads(numbers.read_text(encoding="utf-8"))
        cls.sections = {section["name"]: section for section in cls.numbers["sections"]}

    def test_exit_code_tells_what_was_measured(self):
        expected = NO_HARDWARE if self.numbers["software"] else MEASURED
        self.assertEqual(self.done.returncode, expected, self.done.stderr + self.done.stdout)
        self.assertEqual("SOFTWARE" in self.report, self.numbers["software"])

    def test_no_section_is_missing(self):
        self.assertEqual(list(self.sections), list(SECTIONS))
        for name, section in self.sections.items():
            self.assertEqual(section["failure"], "", name)
            self.assertGreaterEqual(len(section["rows"]), SECTIONS[name], name)
            self.assertIn(f"\n## {name}\n", self.report)

    def test_rows_are_numbers_against_a_ceiling(self):
        for name, section in self.sections.items():
            for row in section["rows"]:
                where = f"{name}: {row}"
                self.assertTrue(math.isfinite(row["value"]), where)
                if row["name"] not in MAY_BE_ZERO:
                    self.assertGreater(row["value"], 0, where)
                self.assertGreater(row["ceiling"], 0, where)
                self.assertTrue(row["against"], where)
                self.assertAlmostEqual(row["ratio"], row["value"] / row["ceiling"], 6, where)

    def test_what_is_no_time_is_as_it_must_be(self):
        rows = {row["name"]: row for row in self.sections["placed"]["rows"]}
        self.assertEqual(rows["placed inputs found"]["value"], 1000)
        # Copies of 4 KiB are parts of one slab.
        self.assertEqual(rows["memory that they take"]["value"], 64)
        self.assertIn("theory", {row["against"] for row in self.sections["kernels"]["rows"]})

    def test_the_device_has_a_clock(self):
        for name in ["device: kernel", "device: up", "device: down"]:
            rows = [row for row in self.sections["stages"]["rows"] if row["name"] == name]
            self.assertTrue(any(row["value"] > 0 for row in rows), rows)

    def test_report_is_what_is_printed_and_80_columns_wide(self):
        self.assertEqual(self.report, self.done.stdout)
        for fact in ["system", "processor", "memory", "adapter", "driver", "run time", "PCIe link",
                     "feature level"]:
            self.assertRegex(self.report, f"(?m)^{fact} +[^ ]")
        self.assertEqual([line for line in self.report.splitlines() if len(line) > 80], [])

    def test_progress_is_told_beside_the_report(self):
        for name in SECTIONS:
            self.assertRegex(self.done.stderr, f"(?m)^bench_d3d12: {name}: [0-9.]+ s$")


class CommandLine(unittest.TestCase):

    def test_one_section_alone(self):
        done = run("--quick", "--section", "submissions", "--seconds", "0")
        self.assertIn("\n## submissions\n", done.stdout)
        self.assertNotIn("\n## stages\n", done.stdout)

    def test_help_and_errors(self):
        shown = run("--help")
        self.assertEqual(shown.returncode, 0)
        for name in SECTIONS:
            self.assertRegex(shown.stdout, f"(?m)^{name}: [A-Z]")
        self.assertEqual([line for line in shown.stdout.splitlines()
                          if len(line) > 80 and not line.startswith("Usage:")], [])
        for arguments, told in [(["--section", "none"], "none"), (["--no-such"], "--no-such"),
                                (["--adapter", "99"], "99"), (["--seconds", "x"], "x")]:
            done = run(*arguments)
            self.assertEqual(done.returncode, BAD_USAGE, arguments)
            self.assertIn(told, done.stderr, arguments)

    def test_files_that_cannot_be_written_are_told(self):
        done = run("--quick", "--section", "submissions", "--json", "/nonexistent/numbers.json")
        self.assertEqual(done.returncode, FAILED)
        self.assertIn("cannot write /nonexistent/numbers.json", done.stderr)


def main():
    global OPTIONS  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.bin = OPTIONS.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
