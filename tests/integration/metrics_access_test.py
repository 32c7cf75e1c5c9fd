#!/usr/bin/python3
"""Who may read the metrics port: the same callers as call methods that observe, by token, certificate or address."""

import argparse
import http.client
import os
import pathlib
import signal
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


def connection_to(address, context):
    """A connection of HTTP, which is not open yet."""
    if address.startswith("unix:"):
        connection = http.client.HTTPConnection("localhost", timeout=LIMIT_S)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(LIMIT_S)
        connection.sock.connect(address.removeprefix("unix:"))
        return connection
    host, port = address.rsplit(":", 1)
    if context is None:
        return http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
    return http.client.HTTPSConnection(host, int(port), timeout=LIMIT_S, context=context)


def get(address, path="/metrics", token=None, context=None):
    """(status, body) of a page."""
    connection = connection_to(address, context)
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

    def serve(self, *arguments, metrics="127.0.0.1:0"):
        server = ServerProcess(SERVER, self.folder,
                               ["--devices", "none", "--metrics-listen", metrics, *arguments])
        server.__enter__()
        self.addCleanup(server.__exit__)
        return server

    def with_identities(self, *arguments, **settings):
        return self.serve("--policy", self.folder / "policy.toml", "--tokens",
                          self.folder / "tokens", *arguments, **settings)

    def with_tls(self, *arguments, **settings):
        return self.with_identities("--tls-certificate", self.folder / "server.pem", "--tls-key",
                                    self.folder / "server.key", *arguments, **settings)

    def sign(self, name, authority, extension):
        """NAME.pem and NAME.key: a certificate that the authority signed."""
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)
        (self.folder / f"{name}.ext").write_text(extension + "\n", encoding="ascii")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", f"{name}.key", "-subj", f"/CN={name}", "-out", f"{name}.csr")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")

    def wait_for(self, condition, server):
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            self.assertLess(time.monotonic(), deadline, server.log())
            time.sleep(0.02)

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

    def test_an_authority_may_be_one_that_another_one_signed(self):
        # As --listen takes it, too. What signed the authority is told to nobody.
        self.sign("middle", "ca", "basicConstraints=critical,CA:TRUE")
        self.sign("worker", "middle", "subjectAltName=DNS:client")
        (self.folder / "policy.toml").write_text(POLICY.replace("cert:client", "cert:worker"), encoding="ascii")
        server = self.with_tls("--tls-client-ca", self.folder / "middle.pem")
        self.assertEqual(get(metrics_address(server), context=self.client("worker"))[0], 200)
        for certificate in (None, "client", "other"):
            with self.assertRaises((OSError, http.client.HTTPException)):
                get(metrics_address(server), context=self.client(certificate))

    def test_a_socket_file_speaks_plain_text(self):
        address = f"unix:{self.folder}/metrics.sock"
        server = self.with_tls("--tls-client-ca", self.folder / "ca.pem", metrics=address)
        self.assertEqual(metrics_address(server), address)
        # The policy says what the user may read, and what a token adds to that.
        status, body = get(address)
        self.assertEqual(status, 401)
        self.assertIn("The call needs the role observe", body)
        status, body = get(address, token=self.tokens["runner"])
        self.assertEqual(status, 403)
        self.assertIn("observe, which token:runner does not have", body)
        self.assertEqual(get(address, token=self.tokens["scraper"])[0], 200)
        (self.folder / "policy.toml").write_text(POLICY.replace("cert:client", f"uid:{os.getuid()}"), encoding="ascii")
        server.signal(signal.SIGHUP)
        self.wait_for(lambda: get(address)[0] == 200, server)

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
        server.signal(signal.SIGHUP)
        # Between the two, they may be found not to match, and be kept until they do.
        self.wait_for(lambda: "certificate read" in server.log(), server)
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
