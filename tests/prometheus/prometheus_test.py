#!/usr/bin/python3
"""Lets Debian's Prometheus scrape a real server, and promtool check metrics, alert rules and dashboard.

Skipped where Prometheus is not installed, unless OPSERVE_REQUIRE has prometheus.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from free_port import free_port  # pylint: disable=wrong-import-position
from required import skip_without  # pylint: disable=wrong-import-position
from server_process import ServerProcess, metrics_address  # pylint: disable=wrong-import-position

RULES = ROOT / "deploy/prometheus/alerts.yml"
RULE_TESTS = ROOT / "tests/prometheus/alerts_test.yml"
BOARD = ROOT / "deploy/grafana/opserve.json"
LIMIT_S = 60
CALLS = 3


def tool(name):
    found = shutil.which(name)
    if found is None:
        skip_without("prometheus", f"{name} is not installed")
    return found


def check(command, text=None):
    """What is wrong by the words of a promtool command, or nothing."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=LIMIT_S,
                          check=False)
    said = (done.stdout + done.stderr).strip()
    return f"{' '.join(map(str, command))}: {said}" if done.returncode else ""


def query(port, expression):
    """The samples of an expression; raises where Prometheus does not understand it."""
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(url, timeout=LIMIT_S) as page:
        return json.load(page)["data"]["result"]


def wait_for(port, prometheus, expression, value):
    """Waits until an expression has one sample of that value; what is there instead after a minute."""
    deadline = time.monotonic() + LIMIT_S
    found = None
    while time.monotonic() < deadline:
        if prometheus.poll() is not None:
            return f"prometheus ended with {prometheus.returncode}"
        try:
            found = query(port, expression)
        except OSError as error:
            found = error
        if isinstance(found, list) and [sample["value"][1] for sample in found] == [value]:
            return ""
        time.sleep(0.1)
    return f"{expression} is {found}, not {value}"


def dashboard_expressions():
    board = json.loads(BOARD.read_text(encoding="utf-8"))
    for panel in board["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".+")
            yield panel["title"], expression


def unknown_to_prometheus(port):
    """What is wrong with the queries of the dashboard."""
    for title, expression in dashboard_expressions():
        try:
            query(port, expression)
        except urllib.error.HTTPError as error:
            yield f"panel {title}: {error.read().decode()}"


def run_prometheus(prometheus, server, folder, settings, look):
    """Starts Prometheus, which scrapes the server; what `look`, with its port and process, finds wrong.

    `settings`: lines of the scrape's configuration.
    """
    port = free_port()
    config = folder / "prometheus.yml"
    # A server under sanitizers takes a third of a second for its metrics on a slow machine.
    config.write_text("global: {scrape_interval: 5s, scrape_timeout: 5s}\n"
                      f"rule_files: ['{RULES}']\n"
                      "scrape_configs:\n"
                      f"  - job_name: opserve\n{settings}"
                      f"    static_configs: [{{targets: ['{metrics_address(server)}']}}]\n",
                      encoding="utf-8")
    with open(folder / "prometheus.log", "wb") as log:
        process = subprocess.Popen([prometheus, f"--config.file={config}",
                                    f"--storage.tsdb.path={folder}/tsdb",
                                    f"--web.listen-address=127.0.0.1:{port}"],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            return look(port, process)
        finally:
            process.terminate()
            process.wait(LIMIT_S)


def known_numbers(port, process):
    """What is wrong with what Prometheus knows after the calls, and with the dashboard's queries."""
    wrong = [wait_for(port, process, 'sum(opserve_requests_total{code="OK"})', str(CALLS)),
             wait_for(port, process, 'up{job="opserve"}', "1"),
             wait_for(port, process, "sum(opserve_request_duration_seconds_count)", str(CALLS))]
    return wrong + list(unknown_to_prometheus(port))


def make_calls(command, address, folder):
    tensor = folder / "x.npy"
    np.save(tensor, np.float32([1.5, 2.5]))
    for _ in range(CALLS):
        subprocess.run([command, "run", "ELEMENT_WISE_ROUND", "--address", address, "--attr",
                        "RoundingMode=TOWARD_ZERO", "--input", tensor, "--output",
                        folder / "y.npy"], check=True, timeout=LIMIT_S,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


class Guarded:
    """What a server with TLS and a policy needs, and what Prometheus needs to read its metrics."""

    def __init__(self, program, folder):
        subprocess.run(["sh", ROOT / "tests/testing/make_certificates.sh", folder], check=True,
                       capture_output=True, timeout=LIMIT_S)
        token = subprocess.run([program, "token", "add", "scraper", "--tokens", folder / "tokens"],
                               check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout
        (folder / "token").write_text(token.strip(), encoding="ascii")
        (folder / "policy.toml").write_text(
            '[[client]]\nmatch = "token:scraper"\nroles = ["observe"]\n', encoding="ascii")
        self.arguments = ["--policy", folder / "policy.toml", "--tokens", folder / "tokens",
                          "--tls-certificate", folder / "server.pem", "--tls-key",
                          folder / "server.key"]
        self.settings = ("    scheme: https\n"
                         f"    tls_config: {{ca_file: {folder}/ca.pem, server_name: server.test}}\n"
                         f"    authorization: {{credentials_file: {folder}/token}}\n")


def scrape_with_token(prometheus, program, folder):
    """What is wrong with what Prometheus gets from a server with TLS and a policy, as docs/metrics.md has it."""
    guarded = Guarded(program, folder)
    with ServerProcess(program, folder, ["--devices", "none", "--metrics-listen", "127.0.0.1:0",
                                         *guarded.arguments]) as server:
        return run_prometheus(prometheus, server, folder, guarded.settings,
                              lambda port, process: [wait_for(port, process,
                                                              'up{job="opserve"}', "1")])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--command", required=True)
    arguments = parser.parse_args()
    prometheus, promtool = tool("prometheus"), tool("promtool")
    wrong = [check([promtool, "check", "rules", RULES]),
             check([promtool, "test", "rules", RULE_TESTS])]
    with tempfile.TemporaryDirectory(prefix="opserve-prometheus-") as name:
        folder = pathlib.Path(name)
        with ServerProcess(arguments.server, folder, ["--devices", "none", "--metrics-listen",
                                                      "127.0.0.1:0"]) as server:
            make_calls(arguments.command, server.address, folder)
            url = f"http://{metrics_address(server)}/metrics"
            with urllib.request.urlopen(url, timeout=LIMIT_S) as page:
                text = page.read().decode()
            if not re.search(r'^opserve_requests_total\{.*code="OK"\} 3$', text, re.M):
                wrong.append("the page does not tell of the calls")
            wrong.append(check([promtool, "check", "metrics"], text))
            wrong += run_prometheus(prometheus, server, folder, "", known_numbers)
        if server.exit_code != 0:
            wrong.append(f"the server ended with {server.exit_code}:\n{server.log()}")
        guarded = folder / "guarded"
        guarded.mkdir()
        wrong += scrape_with_token(prometheus, arguments.server, guarded)
    wrong = [line for line in wrong if line]
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
