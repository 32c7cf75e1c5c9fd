#!/usr/bin/python3
"""Loads a real server with Triton's perf_analyzer as it is published, by the command lines of docs/kserve.md.

Skipped where tests/kserve/fetch-perf-analyzer.sh has not brought it (deploy/setup.sh peers), unless OPSERVE_REQUIRE has
perf-analyzer.
"""

import argparse
import csv
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from required import skip_without  # pylint: disable=wrong-import-position
from server_process import ServerProcess, metrics_address  # pylint: disable=wrong-import-position

PAGE = ROOT / "docs/kserve.md"
FETCH = ROOT / "tests/kserve/fetch-perf-analyzer.sh"
LIMIT_S = 120
ROUND = ("-m", "element_wise_round", "--request-parameter", "RoundingMode:TOWARD_ZERO:string")
# Enough elements that each part of a request takes microseconds, in which they are told.
SHAPE = ("--shape", "InputTensor:65536")
REQUESTS = 200
COUNTED = ("--request-count", str(REQUESTS))
# Several levels of load, each as soon as it has measured three windows, however far apart these are.
IN_WINDOWS = ("--measurement-mode", "count_windows", "--measurement-request-count", "50", "-p", "500", "-s", "999")


def find_program(folder):
    """The command, of the version that is to be tested; skips the test where it is not there."""
    version = subprocess.run([FETCH, "--version"], capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout
    stamp = folder / ".version"
    if not stamp.exists() or stamp.read_text(encoding="ascii") != version:
        skip_without("perf-analyzer", f"perf_analyzer {version.strip()} is not in {folder}")
    return folder / "perf_analyzer"


def printed_commands():
    """The command lines of docs/kserve.md, in words."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.startswith("perf_analyzer ")]


def held_requests(server):
    """How many requests the server has accepted and not answered yet."""
    with urllib.request.urlopen(f"http://{metrics_address(server)}/metrics", timeout=LIMIT_S) as page:
        return float(re.search(r"^opserve_held_requests (\S+)", page.read().decode(), re.M).group(1))


class PerfAnalyzerTest(unittest.TestCase):
    program = None
    server = None  # at TCP
    socket = None  # the same server's file

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="opserve-perf-")))

    def start(self, *words):
        """The exit code of a command line, and what it says.

        Now and then perf_analyzer does not end though it has all its answers, so that a run may take too long once. But not
        where the server still has a request: that would be its own fault.
        """
        for is_last in (False, True):
            with subprocess.Popen([self.program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, cwd=self.folder) as process:
                try:
                    said, _ = process.communicate(timeout=LIMIT_S)
                    return process.returncode, said
                except subprocess.TimeoutExpired:
                    held = held_requests(self.server)
                    process.kill()
                    said, _ = process.communicate()
            report = f"not within {LIMIT_S} s, and the server has {held} of its requests: {words}\n{said}"
            if is_last or held != 0:
                self.fail(f"{report}\nThe server:\n{self.server.log()}")
            print(f"once more: {report}", file=sys.stderr)
        raise AssertionError

    def run_program(self, *words, address=None):
        return self.start(*words, "-i", "grpc", "-u", address or self.server.address)

    def measure(self, *words, address=None):
        """The rows of the report, one for each level of load, and what was said; nothing may be wrong."""
        report = self.folder / "report.csv"
        code, said = self.run_program(*words, "-f", report, address=address)
        self.assertEqual(code, 0, said)
        self.assertNotRegex(said, "(?i)fail|error")
        with open(report, encoding="utf-8", newline="") as file:
            rows = [{title: float(value) for title, value in row.items() if value} for row in csv.DictReader(file)]
        for row in rows:
            self.assertGreater(row["Inferences/Second"], 0)
            # Microseconds that the server says each request took; to wait may take less than one.
            self.assertGreaterEqual(row["Server Queue"], 0)
            self.assertGreater(row["Server Compute Infer"], 0)
        return rows, said

    def refused(self, *words, address=None):
        code, said = self.run_program(*words, "--request-count", "10", address=address)
        self.assertNotEqual(code, 0, said)
        return said

    def test_levels_of_concurrency(self):
        rows, said = self.measure(*ROUND, *SHAPE, "--concurrency-range", "1:4", *IN_WINDOWS)
        self.assertEqual(sorted(row["Concurrency"] for row in rows), [1, 2, 3, 4])
        self.assertEqual(len(re.findall(r"Successful request count: [1-9]", said)), 4)

    def test_rates(self):
        rows, _ = self.measure(*ROUND, *SHAPE, "--request-rate-range", "50:100:50", *IN_WINDOWS)
        self.assertEqual(sorted(row["Request Rate"] for row in rows), [50, 100])

    def test_streams(self):
        rows, said = self.measure(*ROUND, *SHAPE, "--streaming", "--concurrency-range", "1:2", *IN_WINDOWS)
        self.assertEqual(len(rows), 2)
        self.assertEqual(len(re.findall(r"Successful request count: [1-9]", said)), 2)

    def test_callbacks(self):
        self.assertEqual(len(self.measure(*ROUND, *SHAPE, "--async", "--concurrency-range", "8", *COUNTED)[0]), 1)

    def test_counts_what_the_server_counts(self):
        _, said = self.measure(*ROUND, *SHAPE, *COUNTED)
        self.assertIn(f"    Request count: {REQUESTS}\n", said)
        # The server counts a request once its answer is on its way; perf_analyzer may ask before the last one is counted.
        for what in ("Inference", "Execution", "Successful request"):
            self.assertRegex(said, rf"\n    {what} count: ({REQUESTS - 1}|{REQUESTS})\n")

    def test_operators_of_several_inputs(self):
        self.measure("-m", "element_wise_if", "--shape", "ConditionTensor:64,512", "--shape", "ATensor:64,512",
                     "--shape", "BTensor:64,512", *COUNTED)

    def test_shared_memory(self):
        # The room for results is 100 KB where nothing is said, more than this takes.
        for words in (("--shape", "InputTensor:16384"), (*SHAPE, "--output-shared-memory-size", "262144"),
                      (*SHAPE, "--output-shared-memory-size", "1000000", "--streaming")):
            with self.subTest(words):
                self.measure(*ROUND, *words, "--shared-memory", "system", *COUNTED, address=self.socket)
        self.assertIn("result's descriptor needs", self.refused(*ROUND, *SHAPE, "--shared-memory", "system",
                                                               address=self.socket))
        self.assertIn("socket file", self.refused(*ROUND, *SHAPE, "--shared-memory", "system"))

    def test_errors_are_shown(self):
        cases = {
            "did you mean element_wise_round?": ("-m", "element_wise_rond", *SHAPE),
            "RoundingMode is missing": ("-m", "element_wise_round", *SHAPE),
            "provide shapes": ROUND,
            "There is no version": (*ROUND, *SHAPE, "-x", "7"),
            "BTensor": ("-m", "element_wise_add", "--shape", "ATensor:2", "--shape", "BTensor:3"),
        }
        for words, command in cases.items():
            with self.subTest(words):
                self.assertIn(words, self.refused(*command))

    def test_the_commands_of_the_page(self):
        commands = printed_commands()
        self.assertEqual(len(commands), 4)
        for command in commands:
            with self.subTest(command):
                words = [{"127.0.0.1:50051": self.server.address, "unix:/run/opserve/opserve.sock": self.socket}.get(
                    word, word) for word in command[1:]]
                code, said = self.start(*words)
                self.assertEqual(code, 0, said)
                self.assertRegex(said, r"Throughput: [1-9]")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--program", required=True, type=pathlib.Path, help="folder of perf_analyzer")
    options = parser.parse_args()
    PerfAnalyzerTest.program = find_program(options.program.resolve())
    with tempfile.TemporaryDirectory(prefix="opserve-perf-") as folder:
        PerfAnalyzerTest.socket = f"unix:{folder}/socket"
        with ServerProcess(options.server, folder, ["--kserve", "--devices", "none", "--posix-shared-memory",
                                                    "--metrics-listen=127.0.0.1:0",
                                                    f"--listen={PerfAnalyzerTest.socket}"]) as server:
            PerfAnalyzerTest.server = server
            result = unittest.main(argv=sys.argv[:1], exit=False).result
        if server.exit_code != 0:
            print(server.log())
            return 1
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
