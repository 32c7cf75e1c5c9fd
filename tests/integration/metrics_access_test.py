#!/usr/bin/python3
"""Who may read the metrics port: the same callers as call methods that observe, by token, certificate or address."""

import argparse
import http.client
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/testing"))
from server_process import ServerProcess, metrics_address  # pylint: disable=wrong-import-position

LIMIT_S = 30
SERVER = None
POLICY = """\
[[client]]
match = ["token:scraper", "cert:client"]
roles = ["observe"]

[[client]]
match = "token:runner"
roles = ["execute"]
"""


def get(address, path="/metrics", token=None, context=None):
    """(status, body) of a page."""
    host, port = address.rsplit(":", 1)
    kind = http.client.HTTPConnection if context is None else http.client.HTTPSConnection
    options = {} if context is None else {"context": context}
    connection = kind(host, int(port), timeout=LIMIT_S, **options)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


class MetricsAccess(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tokens = {name: subprocess.run(
            [SERVER, "token", "add", name, "--tokens", self.folder / "tokens"], check=True,
            capture_output=True, text=True).stdout.strip() for name in ("scraper", "runner")}
        (self.folder / "policy.toml").write_text(POLICY, encoding="ascii")
        subprocess.run(["sh", ROOT / "tests/testing/make_certificates.sh", self.folder], check=True,
                       capture_output=True)

    def serve(self, *arguments):
        server = ServerProcess(SERVER, self.folder,
                               ["--devices", "none", "--metrics-listen", "127.0.0.1:0", *arguments])
        server.__enter__()
        self.addCleanup(server.__exit__)
        return server

    def with_identities(self, *arguments):
        return self.serve("--policy", self.folder / "policy.toml", "--tokens",
                          self.folder / "tokens", *arguments)

    def with_tls(self, *arguments):
        return self.with_identities("--tls-certificate", self.folder / "server.pem", "--tls-key",
                                    self.folder / "server.key", *arguments)

    def client(self, certificate=None):
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        # The certificate is for a name, the address is a number.
        context.check_hostname = False
        if certificate:
            context.load_cert_chain(self.folder / f"{certificate}.pem",
                                    self.folder / f"{certificate}.key")
        return context

    def test_without_a_policy_this_machine_may_read(self):
        self.assertEqual(get(metrics_address(self.serve()))[0], 200)

    def test_a_policy_is_for_the_pages_too(self):
        server = self.with_identities()
        address = metrics_address(server)
        for path in ("/metrics", "/status.json", "/"):
            status, body = get(address, path)
            self.assertEqual(status, 401)
            self.assertIn("The call needs the role observe", body)
            self.assertNotIn("opserve_build_info", body)
            self.assertEqual(get(address, path, self.tokens["scraper"])[0], 200)
        status, body = get(address, token=self.tokens["runner"])
        self.assertEqual(status, 403)
        self.assertIn("observe, which token:runner does not have", body)
        status, body = get(address, token="opserve_wrong")
        self.assertEqual(status, 401)
        self.assertIn("unknown, expired or revoked", body)
        self.assertIn("page denied", server.log())
        self.assertNotIn(self.tokens["runner"], server.log())

    def test_tls_has_the_same_certificate(self):
        address = metrics_address(self.with_tls())
        status, body = get(address, token=self.tokens["scraper"], context=self.client())
        self.assertEqual(status, 200)
        self.assertIn("opserve_build_info", body)
        self.assertEqual(get(address, context=self.client())[0], 401)
        strangers = ssl.create_default_context(cafile=self.folder / "other.pem")
        strangers.check_hostname = False
        with self.assertRaises(ssl.SSLError):
            get(address, context=strangers)
        # Plain text is no handshake.
        with self.assertRaises((http.client.HTTPException, ConnectionError)):
            get(address, token=self.tokens["scraper"])

    def test_pages_come_whole_over_tls(self):
        address = metrics_address(self.with_tls())
        status, body = get(address, "/", self.tokens["scraper"], self.client())
        self.assertEqual(status, 200)
        self.assertTrue(body.rstrip().endswith("</html>"))

    def test_certificates_of_clients_are_identities(self):
        address = metrics_address(self.with_tls("--tls-client-ca", self.folder / "ca.pem"))
        self.assertEqual(get(address, context=self.client("client"))[0], 200)
        # Proven, but with no role; and not proven at all.
        self.assertEqual(get(address, context=self.client("server"))[0], 403)
        for certificate in (None, "other"):
            with self.assertRaises((OSError, http.client.HTTPException)):
                get(address, token=self.tokens["scraper"], context=self.client(certificate))

    def test_a_handshake_that_goes_nowhere_keeps_no_scrape_waiting(self):
        address = metrics_address(self.with_tls())
        host, port = address.rsplit(":", 1)
        held = [socket.create_connection((host, int(port)), LIMIT_S) for _ in range(100)]
        for connection in held:
            connection.sendall(b"\x16\x03\x01\x02\x00\x01")
        self.assertEqual(get(address, token=self.tokens["scraper"], context=self.client())[0], 200)
        # The time limit is for the handshake as well.
        self.assertEqual(held[-1].recv(1), b"")
        for connection in held:
            connection.close()

    def test_a_certificate_that_is_replaced_is_the_next_ones(self):
        server = self.with_tls()
        address = metrics_address(server)
        self.assertEqual(get(address, token=self.tokens["scraper"], context=self.client())[0], 200)
        # The new one is signed by nobody whom the client knows.
        for end in ("pem", "key"):
            (self.folder / f"other.{end}").replace(self.folder / f"server.{end}")
        server.signal(1)
        # Between the two, they may be found not to match, and be kept until they do.
        deadline = time.monotonic() + LIMIT_S
        while "certificate read" not in server.log():
            self.assertLess(time.monotonic(), deadline, server.log())
            time.sleep(0.02)
        with self.assertRaises(ssl.SSLError):
            get(address, token=self.tokens["scraper"], context=self.client())

    def test_other_machines_are_not_to_be_reached_in_plain_text_by_mistake(self):
        done = subprocess.run([SERVER, "--listen", "127.0.0.1:0", "--metrics-listen", "0.0.0.0:0"],
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("0.0.0.0:0 can be reached by other machines", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True, type=pathlib.Path)
    SERVER = parser.parse_args().server.resolve()
    unittest.main(argv=sys.argv[:1])
