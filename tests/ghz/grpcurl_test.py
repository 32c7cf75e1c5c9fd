#!/usr/bin/python3
"""Runs the real grpcurl against a real server, without any .proto file: all that it knows is from reflection.

Installs grpcurl by its module path, so it needs Go; skipped where there is none, or no network to fetch
modules from, unless OPSERVE_REQUIRE has grpcurl.
"""

import argparse
import base64
import json
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
import go_tool  # pylint: disable=wrong-import-position
from server_process import ServerProcess  # pylint: disable=wrong-import-position

SERVICE = "opserve.v1.OperatorService"
RUN_LIMIT_S = 60
# grpcurl adds gRPC's code to it.
STATUS_EXIT_CODE = 64
INVALID_ARGUMENT = 3


def round_request(mode, payload):
    """A request of ELEMENT_WISE_ROUND for two values, as JSON."""
    return json.dumps({
        "operator": "ELEMENT_WISE_ROUND",
        "attributes": [{"name": "RoundingMode", "enum_name": mode}],
        "inputs": [{"data_type": "DATA_TYPE_FLOAT32", "sizes": [2]}],
        "payloads": [base64.b64encode(payload).decode()]})


class GrpcurlTest(unittest.TestCase):
    program = None
    address = None

    def grpcurl(self, *arguments, options=()):
        return subprocess.run([self.program, "-plaintext", *options, self.address, *arguments],
                              capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False,
                              stdin=subprocess.DEVNULL)

    def succeed(self, *arguments, options=()):
        done = self.grpcurl(*arguments, options=options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_lists_services_and_methods(self):
        services = self.succeed("list").split()
        for service in (SERVICE, "opserve.v1.AdminService", "grpc.health.v1.Health"):
            self.assertIn(service, services)
        self.assertIn(f"{SERVICE}.Execute", self.succeed("list", SERVICE).split())

    def test_describes_services_and_messages(self):
        self.assertIn("rpc Execute ( .opserve.v1.ExecuteRequest ) returns ( .opserve.v1.ExecuteResponse );",
                      self.succeed("describe", SERVICE))
        self.assertIn("repeated bytes payloads = 16;",
                      self.succeed("describe", "opserve.v1.ExecuteRequest"))

    def test_every_command_of_the_pages_works(self):
        commands = [shlex.split(text.replace("\\\n", " "))
                    for page in ("docs/api.md", "docs/operations.md")
                    for block in re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
                    for text in re.findall(r"^grpcurl (?:'[^']*'|[^\n'])*", block, re.M)]
        self.assertEqual(len(commands), 2)
        for command in commands:
            words = [self.address if word == "127.0.0.1:50051" else word for word in command[1:]]
            self.assertIn(self.address, words)
            done = subprocess.run([self.program, *words], capture_output=True, text=True, check=False,
                                  timeout=RUN_LIMIT_S, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(json.loads(done.stdout))

    def test_calls_an_operator(self):
        answer = json.loads(self.succeed(f"{SERVICE}/Execute", options=[
            "-d", round_request("TOWARD_ZERO", struct.pack("<2f", 1.5, -2.5))]))
        self.assertEqual(struct.unpack("<2f", base64.b64decode(answer["payload"])), (1, -2))

    def test_prints_every_violation_of_a_refused_call(self):
        done = self.grpcurl(f"{SERVICE}/Execute", options=[
            "-format-error", "-d", round_request("UPWARDS", b"\0" * 4)])
        self.assertEqual(done.returncode, STATUS_EXIT_CODE + INVALID_ARGUMENT, done.stderr)
        details = {detail["@type"].rsplit("/", 1)[1]: detail
                   for detail in json.loads(done.stderr)["details"]}
        self.assertEqual(details["google.rpc.ErrorInfo"]["reason"], "INVALID_REQUEST")
        violations = {violation["field"]: violation["description"]
                      for violation in details["google.rpc.BadRequest"]["field_violations"]}
        self.assertEqual(set(violations), {"attributes[0].value", "payloads[0]"})
        self.assertIn('The value "UPWARDS" of RoundingMode is not allowed',
                      violations["attributes[0].value"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of opserve-server")
    parser.add_argument("--tools", type=pathlib.Path, required=True,
                        help="folder that grpcurl is installed into, and kept in")
    arguments, rest = parser.parse_known_args()
    GrpcurlTest.program = go_tool.install("grpcurl", arguments.tools)
    with tempfile.TemporaryDirectory(prefix="opserve-grpcurl-") as folder:
        server = ServerProcess(arguments.bin.resolve() / "opserve-server", folder,
                               ["--devices", "none"])
        with server:
            GrpcurlTest.address = server.address
            result = unittest.main(argv=[sys.argv[0], *rest], exit=False).result
    return 0 if result.wasSuccessful() and server.exit_code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
