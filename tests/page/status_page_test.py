#!/usr/bin/python3
"""Opens the page about a running server in headless Chromium, and reads what it shows.

Skipped where Chromium is not installed, unless OPSERVE_REQUIRE has chromium.
"""

import argparse
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from required import skip_without  # pylint: disable=wrong-import-position
from server_process import ServerProcess, metrics_address  # pylint: disable=wrong-import-position
from web_driver import CHROMIUM_FLAGS  # pylint: disable=wrong-import-position

LIMIT_S = 120
CALLS = 3


class Cells(html.parser.HTMLParser):
    """The text of each table's rows, by the id of the table, and of other elements with ids that are not hidden."""

    def __init__(self, text):
        super().__init__()
        self.tables = {}
        self.texts = {}
        self.labels = []
        self._table = self._id = None
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "svg":
            self.labels.append(attrs.get("aria-label"))
        if tag == "table":
            self._table = self.tables.setdefault(attrs["id"], [])
        if tag == "tr" and self._table is not None:
            self._table.append([])
        if tag in ("td", "th") and self._table:
            self._table[-1].append("")
            self._in_cell = True
        self._id = None if "hidden" in attrs else attrs.get("id")

    def handle_endtag(self, tag):
        if tag == "table":
            self._table = None
        if tag in ("td", "th"):
            self._in_cell = False
        self._id = None

    def handle_data(self, data):
        if self._in_cell:
            self._table[-1][-1] += data
        if self._id:
            self.texts[self._id] = data


def chromium(folder, *arguments):
    browser = shutil.which("chromium")
    if browser is None:
        skip_without("chromium", "chromium is not installed")
    done = subprocess.run([browser, *CHROMIUM_FLAGS, f"--user-data-dir={folder}/profile",
                           *arguments],
                          capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          stdin=subprocess.DEVNULL)
    return done.stdout


def rows_of_the_table():
    """The names of all operators, in the order of the operator table."""
    families = re.findall(r'^#include "(.*)"', (ROOT / "kernels/operators.def").read_text(), re.M)
    return [name for family in families
            for name in re.findall(r"^OPSERVE_OPERATOR\((\w+)", (ROOT / family).read_text(), re.M)]


def faults_of(page, cpu):
    """What is wrong with what a page shows after the calls of this test."""
    devices = page.tables.get("devices", [])
    work = page.tables.get("work", [])
    errors = page.tables.get("errors", [])
    operators = [row[0] for row in page.tables.get("catalogue", [])[1:]]
    expected = {
        "state of the connection": (page.texts.get("link"), "live"),
        "device, its state and its answers": ([[row[0], row[2], row[5]] for row in devices[1:]],
                                              [[cpu, "ready", str(CALLS)]]),
        "requests": (sorted(work[1:]), sorted([
            ["ELEMENT_WISE_ROUND", "FLOAT32", cpu, "OK", str(CALLS)],
            ["ELEMENT_WISE_ROUND", "none", "none", "INVALID_ARGUMENT", "1"]])),
        "leases": (page.texts.get("leases-none"),
                   "Nobody has a GPU to himself, or waits for one."),
        "faults": (page.texts.get("faults-none"), "None since the start."),
        "errors": (errors[1:], [["INVALID_REQUEST", "1"]]),
        "operators": (operators, rows_of_the_table()),
        "charts with words": (len([label for label in page.labels if label]), 4),
    }
    return [f"{what}: {found}, not {wanted}" for what, (found, wanted) in expected.items()
            if found != wanted]


def run_calls(command, address, folder):
    tensor = folder / "x.npy"
    np.save(tensor, np.float32([1.5, 2.5]))
    for mode in ["TOWARD_ZERO"] * CALLS + ["NO_SUCH_MODE"]:
        subprocess.run([command, "run", "ELEMENT_WISE_ROUND", "--address", address, "--attr",
                        f"RoundingMode={mode}", "--input", tensor, "--output", folder / "y.npy"],
                       check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--command", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="opserve-page-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        with ServerProcess(arguments.server, folder, ["--devices", "none", "--metrics-listen",
                                                      "127.0.0.1:0"]) as server:
            run_calls(arguments.command, server.address, folder)
            url = f"http://{metrics_address(server)}/"
            page = Cells(chromium(folder, "--virtual-time-budget=5000", "--dump-dom", url))
            faults = faults_of(page, re.search(r"\bdevices=(\S+)", server.log()).group(1))
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
