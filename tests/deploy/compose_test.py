#!/usr/bin/python3
"""The Compose file with Prometheus and Grafana, as Debian's docker-compose reads it.

No container runs here. Each file that is mounted is there, at the path where its reader looks for it; the
server takes its arguments; Prometheus takes its configuration, which scrapes the server at its port. Skipped
where there is no docker-compose or promtool, unless OPSERVE_REQUIRE has docker-compose.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    # It comes with docker-compose.
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from required import skip_without  # pylint: disable=wrong-import-position

FOLDER = ROOT / "deploy/compose"
SERVER = None


def run(*command):
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)


def composed(*names):
    """What docker-compose makes of files, or its complaint."""
    files = [word for name in names for word in ("-f", FOLDER / name)]
    done = run("docker-compose", *files, "config")
    if done.returncode != 0:
        raise AssertionError(done.stdout)
    return yaml.safe_load(done.stdout)["services"]


def mounts(service):
    """{path in the container: file of the checkout} of a service's files."""
    pairs = (volume.split(":")[:2] for volume in service["volumes"])
    return {target: pathlib.Path(source) for source, target in pairs if source.startswith("/")}


class Compose(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.services = composed("compose.yaml")

    def test_services(self):
        self.assertEqual(sorted(self.services), ["grafana", "opserve", "prometheus"])
        for name, service in self.services.items():
            # What only this machine reaches is written as text, with its address.
            open_to_others = [port for port in service["ports"] if not str(port).startswith("127.0.0.1:")]
            self.assertEqual(open_to_others, [{"published": 50051, "target": 50051}] if name == "opserve" else [])

    def test_image_is_built_from_this_checkout(self):
        self.assertEqual(pathlib.Path(self.services["opserve"]["build"]["context"]).resolve(), ROOT)
        self.assertTrue((ROOT / "Dockerfile").exists())

    def test_mounted_files_are_there(self):
        for name in ("prometheus", "grafana"):
            for target, source in mounts(self.services[name]).items():
                self.assertTrue(source.is_file(), f"{source} for {target}")

    def test_server_takes_its_arguments(self):
        done = run(SERVER, *self.services["opserve"]["command"], "--print-config")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn('metrics-listen="0.0.0.0:9464"', done.stdout)

    def test_prometheus_takes_its_configuration(self):
        files = mounts(self.services["prometheus"])
        config = files["/etc/prometheus/prometheus.yml"].read_text(encoding="utf-8")
        scrape, = yaml.safe_load(config)["scrape_configs"]
        self.assertEqual(scrape["static_configs"][0]["targets"], ["opserve:9464"])
        self.assertEqual(scrape["job_name"], "opserve")
        with tempfile.TemporaryDirectory() as folder:
            for target, source in files.items():
                config = config.replace(target, str(source))
            checked = pathlib.Path(folder) / "prometheus.yml"
            checked.write_text(config, encoding="utf-8")
            done = run("promtool", "check", "config", checked)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("alerts.yml", done.stdout)

    def test_grafana_finds_prometheus_and_the_dashboard(self):
        files = mounts(self.services["grafana"])
        source, = yaml.safe_load(files["/etc/grafana/provisioning/datasources/opserve.yml"].read_text())["datasources"]
        self.assertEqual((source["type"], source["url"]), ("prometheus", "http://prometheus:9090"))
        provider, = yaml.safe_load(files["/etc/grafana/provisioning/dashboards/opserve.yml"].read_text())["providers"]
        boards = [target for target in files if pathlib.Path(target).parent == pathlib.Path(provider["options"]["path"])]
        self.assertEqual(boards, [self.services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]])
        self.assertEqual(json.loads(files[boards[0]].read_text(encoding="utf-8"))["title"], "opserve")

    def test_nvidia(self):
        service = composed("compose.yaml", "nvidia.yaml")["opserve"]
        self.assertEqual(service["command"], self.services["opserve"]["command"])
        device, = service["deploy"]["resources"]["reservations"]["devices"]
        self.assertEqual((device["driver"], device["capabilities"]), ("nvidia", ["gpu"]))

    def test_a_wrong_file_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            wrong = pathlib.Path(folder) / "compose.yaml"
            wrong.write_text('version: "3.8"\nservices: {opserve: {prots: ["1:1"]}}\n', encoding="utf-8")
            done = run("docker-compose", "-f", wrong, "config")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("prots", done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True, type=pathlib.Path)
    SERVER = parser.parse_args().server
    for tool in ("docker-compose", "promtool"):
        if shutil.which(tool) is None or yaml is None:
            skip_without("docker-compose", f"{tool} is not installed")
    unittest.main(argv=sys.argv[:1])
