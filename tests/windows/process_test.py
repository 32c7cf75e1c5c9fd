#!/usr/bin/python3
"""opserve-server.exe under Wine, called by the command of Linux: what comes back is compared byte by byte."""

import argparse
import http.client
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import numpy

import wine_server
from wine_server import LIMIT_S, WINE, WineServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = None
CLIENT = None
COMMAND = None
SKIPPED = 77
POLICY = """\
[[client]]
match = ["token:runner", "cert:client"]
roles = ["execute", "observe"]
"""


class Programs(unittest.TestCase):
    """What tests of the programs share."""

    @classmethod
    def tearDownClass(cls):
        wine_server.end_wine()

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def serve(self, *arguments):
        server = WineServer(SERVER, self.folder, arguments)
        server.__enter__()
        self.addCleanup(server.__exit__)
        return server

    def call(self, server, *arguments, fails=False, program=None, limit=LIMIT_S):
        done = subprocess.run([*(program or [COMMAND]), *arguments, "--address", server.address], capture_output=True,
                              text=True, timeout=limit, check=False)
        self.assertEqual(done.returncode != 0, fails, f"{arguments}: {done.stdout}{done.stderr}\n{server.log()}")
        return done.stdout + done.stderr


class Process(Programs):
    def certificates(self):
        subprocess.run(["sh", ROOT / "tests/testing/make_certificates.sh", self.folder], check=True,
                       capture_output=True)
        return ["--tls-certificate", self.folder / "server.pem", "--tls-key", self.folder / "server.key"]

    def test_16_mib_of_random_bytes_come_back_as_they_went(self):
        server = self.serve("--devices", "none", "--max-tensor-bytes", str(64 << 20))
        generator = numpy.random.default_rng(17)
        data = generator.integers(0, 256, 16 << 20, dtype=numpy.uint8)
        numpy.save(self.folder / "x.npy", data)
        for program in ([COMMAND], [WINE, CLIENT]):
            output = self.folder / "y.npy"
            self.call(server, "run", "ELEMENT_WISE_IDENTITY", "--input", self.folder / "x.npy", "--output", output,
                      program=program)
            self.assertEqual(numpy.load(output).tobytes(), data.tobytes())
            output.unlink()
        a = generator.standard_normal(1 << 20, dtype=numpy.float32)
        b = generator.standard_normal(1 << 20, dtype=numpy.float32)
        numpy.save(self.folder / "a.npy", a)
        numpy.save(self.folder / "b.npy", b)
        self.call(server, "run", "ELEMENT_WISE_ADD", "--input", self.folder / "a.npy", "--input", self.folder / "b.npy",
                  "--output", self.folder / "sum.npy")
        self.assertEqual(numpy.load(self.folder / "sum.npy").tobytes(), (a + b).tobytes())
        self.assertEqual(server.stop(), 0)
        self.assertIn("drained", server.log())
        self.assertFalse((self.folder / "ready").exists())

    def test_health_and_metrics(self):
        server = self.serve("--devices", "none", "--metrics-listen", "127.0.0.1:0")
        self.assertIn("SERVING", self.call(server, "health"))
        metrics = re.search(r"\bmetrics=(\S+)", server.log()).group(1)
        host, port = metrics.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
        connection.request("GET", "/metrics")
        page = connection.getresponse().read().decode()
        connection.close()
        self.assertRegex(page, r"(?m)^opserve_build_info\{.*\} 1$")
        resident = re.search(r"(?m)^process_resident_memory_bytes (\S+)$", page)
        self.assertGreater(float(resident.group(1)), 1 << 20)

    def test_tls_and_certificates_of_clients(self):
        server = self.serve("--devices", "none", *self.certificates(), "--tls-client-ca", self.folder / "ca.pem")
        trust = ["--tls-ca", self.folder / "ca.pem", "--tls-server-name", "server.test"]
        shown = ["--tls-certificate", self.folder / "client.pem", "--tls-key", self.folder / "client.key"]
        self.call(server, "info", *trust, *shown)
        self.call(server, "info", *trust, *shown, program=[WINE, CLIENT])
        self.call(server, "info", *trust, fails=True)
        self.call(server, "info", "--tls-ca", self.folder / "other.pem", "--tls-server-name", "server.test", *shown,
                  fails=True)
        self.call(server, "info", fails=True)

    def test_tokens_that_the_server_made(self):
        tokens = self.folder / "tokens"
        token = subprocess.run([WINE, SERVER, "token", "add", "runner", "--tokens", tokens], check=True,
                               capture_output=True, text=True, timeout=LIMIT_S).stdout.strip()
        (self.folder / "policy.toml").write_text(POLICY, encoding="ascii")
        server = self.serve("--devices", "none", "--policy", self.folder / "policy.toml", "--tokens", tokens,
                            *self.certificates())
        trust = ["--tls-ca", self.folder / "ca.pem", "--tls-server-name", "server.test"]
        (self.folder / "token").write_text(token + "\n", encoding="ascii")
        self.call(server, "info", *trust, "--token-file", self.folder / "token")
        (self.folder / "token").write_text("opserve_wrong\n", encoding="ascii")
        self.assertIn("UNAUTHENTICATED",
                      self.call(server, "info", *trust, "--token-file", self.folder / "token", fails=True))

    def refused(self, *arguments):
        done = subprocess.run([WINE, SERVER, "--devices=none", *arguments], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        lines = [line for line in (done.stdout + done.stderr).splitlines()
                 if "cannot start" in line or line.startswith("opserve-server: ")]
        self.assertEqual(len(lines), 1, done.stdout + done.stderr)
        return done.returncode, lines[0]

    def test_bad_input_is_one_line(self):
        server = self.serve("--devices", "none")
        for arguments, code, words in (
                (["--listen", server.address], 1, f"cannot listen on {server.address}: bind: "),
                (["--listen", "unix:/tmp/socket"], 2, "is a socket file, which this server does not have on Windows"),
                (["--listen=127.0.0.1:0", "--tls-certificate", "none.pem", "--tls-key", "none.key"], 1, "none.pem"),
                (["--listen=127.0.0.1:0", "--access-log", "no/such/folder/log"], 1, "cannot open no/such/folder/log: ")):
            with self.subTest(arguments=arguments):
                got, line = self.refused(*arguments)
                self.assertIn(words, line)
                self.assertEqual(got, code)
        nobody = subprocess.run([WINE, SERVER, "stop", "1"], capture_output=True, text=True, timeout=LIMIT_S,
                                check=False)
        self.assertEqual(nobody.returncode, 2)
        self.assertIn("cannot reach a server with process id 1", nobody.stderr)

    def test_names_of_files_are_utf8(self):
        server = self.serve("--devices", "none")
        data = numpy.arange(6, dtype=numpy.float32)
        numpy.save(self.folder / "данные.npy", data)
        self.call(server, "run", "ELEMENT_WISE_NEGATE", "--input", self.folder / "данные.npy", "--output",
                  self.folder / "结果.npy", program=[WINE, CLIENT])
        self.assertEqual(numpy.load(self.folder / "结果.npy").tobytes(), (-data).tobytes())


class Gpu(Programs):
    def gpus(self, server):
        devices = json.loads(self.call(server, "devices", "--json"))["devices"]
        return [device for device in devices if device["kind"] == "GPU"]

    # Mesa compiles each kernel for the processor, in as many minutes as the machine has time for: the test has no
    # limit but CTest's, and the server's own for a device that does not go on.
    def test_every_kernel_passes_its_self_test(self):
        server = self.serve("--devices", "auto")
        # The server serves before it has looked for GPUs.
        latest = time.monotonic() + LIMIT_S
        gpus = []
        while not gpus and time.monotonic() < latest or any(gpu["state"] in ("STARTING", "RECREATING") for gpu in gpus):
            time.sleep(0.2)
            gpus = self.gpus(server)
        self.assertEqual([gpu["state"] for gpu in gpus], ["READY"], f"{gpus}\n{server.log()}")
        # The command itself would wait no longer than a minute.
        answer = self.call(server, "devices", "--self-test", "--json", "--timeout", "24h", limit=None)
        for result in json.loads(answer)["results"]:
            self.assertTrue(result["passed"], result)
            self.assertGreater(result["cases"], 0)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="programs of Windows")
    parser.add_argument("--command", required=True, type=pathlib.Path, help="opserve of Linux")
    parser.add_argument("--prefix", required=True, type=pathlib.Path, help="files of Wine")
    parser.add_argument("tests", choices=["Process", "Gpu"])
    parsed = parser.parse_args()
    SERVER, CLIENT = parsed.bin / "opserve-server.exe", parsed.bin / "opserve.exe"
    COMMAND = parsed.command
    if not COMMAND.exists():
        print(f"skipped: there is no {COMMAND}; `make build` makes it")
        sys.exit(SKIPPED)
    wine_server.use_prefix(parsed.prefix)
    unittest.main(argv=[sys.argv[0], parsed.tests])
