#!/usr/bin/python3
"""Holds docs/metrics.md, the dashboard and the alert rules to the metrics that a running server tells."""

import argparse
import json
import pathlib
import re
import sys
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from server_process import ServerProcess, metrics_address  # pylint: disable=wrong-import-position

SERVER = None
# What Prometheus itself knows of each target.
OF_PROMETHEUS = {"up"}
# Words of expressions that are no metrics.
WORDS = {"and", "by", "sum", "rate", "increase", "histogram_quantile", "label_values", "max"}
# Labels that Prometheus itself gives what it scrapes, and the limits of buckets.
LABELS = {"instance", "job", "le"}
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


def exposed():
    """(name, type, help, labels) of each metric of a running server, in its order, and the server's text."""
    with tempfile.TemporaryDirectory() as folder:
        with ServerProcess(SERVER, folder, ["--devices", "none", "--metrics-listen",
                                            "127.0.0.1:0"]) as server:
            with urllib.request.urlopen(f"http://{metrics_address(server)}/metrics", timeout=60) as page:
                text = page.read().decode()
    helps = re.findall(r"^# HELP (\w+) (.+)\n# TYPE \w+ (\w+)$", text, re.M)
    return [(name, kind, help_text) for name, help_text, kind in helps]


def without_labels(expression):
    """An expression without what is in braces, brackets and quotes, and without lists of labels."""
    expression = re.sub(r"\{[^}]*\}|\[[^]]*\]", "", expression)
    return re.sub(r"\b(by|without|ignoring) \([^)]*\)", "", expression)


def metrics_of(expression):
    return {word for word in re.findall(r"[a-z_][a-z0-9_]*", without_labels(expression))
            if word not in WORDS}


def selected_labels(expression):
    """(metric, label) of each label in braces, and ("", label) of each in a list of labels."""
    for metric, selectors in re.findall(r"(\w+)\{([^}]*)\}", expression):
        for label in re.findall(r"(\w+) *[=!]", re.sub(r'"[^"]*"', "", selectors)):
            yield metric, label
    for labels in re.findall(r"\b(?:by|without|ignoring) \(([^)]*)\)", expression):
        for label in re.findall(r"\w+", labels):
            yield "", label


def listed_labels():
    """The labels of each metric of the server's list."""
    return {name: labels.split() for name, labels in re.findall(
        r'OPSERVE_METRIC\(\w+, "(\w+)", \w+, "([\w ]*)"',
        (ROOT / "server/metrics/metrics.def").read_text(encoding="utf-8"))}


def dashboard_expressions():
    board = json.loads((ROOT / "deploy/grafana/opserve.json").read_text(encoding="utf-8"))
    found = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    for variable in board["templating"]["list"]:
        query = variable["query"]
        if isinstance(query, dict):
            found.append(re.sub(r", *\w+\)", ")", query["query"]))
    return found


def rule_expressions():
    text = (ROOT / "deploy/prometheus/alerts.yml").read_text(encoding="utf-8")
    return re.findall(r"^ +expr: (.+)$", text, re.M)


class MetricDocumentation(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.exposed = exposed()

    def test_page_lists_every_metric_in_the_same_order(self):
        page = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
        documented = re.findall(r"^\| `(\w+)` \| (\w+) \| [^|]*\| (.+) \|$", page, re.M)
        self.assertGreater(len(self.exposed), 40)
        self.assertEqual(documented, self.exposed)

    def test_page_names_the_labels_of_the_list(self):
        page = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
        documented = {name: re.findall(r"`(\w+)`", labels) for name, labels in
                      re.findall(r"^\| `(\w+)` \| \w+ \| ([^|]*)\|", page, re.M)}
        self.assertEqual(documented, listed_labels())

    def check(self, expressions):
        listed = listed_labels()
        labels = {name + suffix: LABELS | set(listed[name]) for name, kind, _ in self.exposed
                  for suffix in SUFFIXES[kind]}
        labels.update((name, LABELS) for name in OF_PROMETHEUS)
        known = labels.keys()
        self.assertTrue(expressions)
        for expression in expressions:
            self.assertTrue(metrics_of(expression), expression)
            self.assertLessEqual(metrics_of(expression), known, expression)
            for metric, label in selected_labels(expression):
                for name in [metric] if metric else metrics_of(expression):
                    self.assertIn(label, labels[name], expression)

    def test_dashboard_asks_for_what_there_is(self):
        self.check(dashboard_expressions())

    def test_alert_rules_ask_for_what_there_is(self):
        self.check(rule_expressions())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    arguments, others = parser.parse_known_args()
    SERVER = arguments.server
    unittest.main(argv=[sys.argv[0], *others])
