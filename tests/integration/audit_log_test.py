#!/usr/bin/python3
"""The audit log of a running server: who did what, before the answer is there, and when files were read again."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "testing"), str(ROOT / "tests" / "redteam")]
from operator_calls import OperatorCaller, field  # pylint: disable=wrong-import-position
from http2_caller import framed  # pylint: disable=wrong-import-position
from server_process import ServerProcess  # pylint: disable=wrong-import-position
from stalled_pipe import StalledPipe  # pylint: disable=wrong-import-position

SERVER = None
LIMIT_S = 60
POLICY = """\
[[client]]
match = "token:ops"
roles = ["admin", "observe"]
"""


def call(server, method, message, token=None, service="AdminService"):
    """The status code of a call."""
    headers = [("authorization", f"Bearer {token}")] if token else []
    with OperatorCaller(server.address) as caller:
        return caller.wait(caller.call(f"/opserve.v1.{service}/{method}", framed(message),
                                       headers))


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


class AuditLog(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "audit.log"
        self.token = subprocess.run(
            [SERVER, "token", "add", "ops", "--tokens", self.folder / "tokens"], check=True,
            capture_output=True, text=True).stdout.strip()
        (self.folder / "policy.toml").write_text(POLICY, encoding="ascii")

    def serve(self, log, *arguments):
        server = ServerProcess(SERVER, self.folder,
                               ["--devices", "none", "--policy", self.folder / "policy.toml",
                                "--tokens", self.folder / "tokens", "--audit-log", log,
                                *arguments])
        server.__enter__()
        self.addCleanup(server.__exit__)
        return server

    def wait_for_lines(self, count):
        deadline = time.monotonic() + LIMIT_S
        while len(self.log.read_text(encoding="utf-8").splitlines()) < count:
            self.assertLess(time.monotonic(), deadline)
        return lines_of(self.log.read_text(encoding="utf-8"))

    def test_each_call_has_its_line_before_its_answer(self):
        server = self.serve(self.log)
        call(server, "ListLeases", b"", self.token)
        call(server, "SetDeviceAside", field(1, b"no-such\n\x1b") + field(2, b"fan"), self.token)
        call(server, "EndLease", b"\x08\x07", self.token)
        # Without a wait: the answers were there.
        lines = lines_of(self.log.read_text(encoding="utf-8"))
        for line in lines:
            self.assertRegex(line.pop("time"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
            self.assertEqual(line.pop("client"), "token:ops")
        self.assertEqual(lines[0], {"method": "ListLeases", "code": "OK"})
        self.assertEqual(lines[1]["method"], "SetDeviceAside")
        self.assertEqual(lines[1]["device"], "no-such\n\x1b")
        self.assertEqual(lines[1]["note"], "fan")
        self.assertNotEqual(lines[1]["code"], "OK")
        self.assertEqual((lines[2]["method"], lines[2]["lease"]), ("EndLease", 7))
        self.assertNotEqual(lines[2]["code"], "OK")
        self.assertEqual(len(lines), 3)

    def test_self_tests_have_their_lines(self):
        server = self.serve(self.log)

        def test(message, token):
            status = call(server, "SelfTestDevices", message, token, "OperatorService")
            line = lines_of(self.log.read_text(encoding="utf-8"))[-1] if token else None
            return status, line

        status, line = test(b"", self.token)
        line.pop("time")
        self.assertEqual((status, line),
                         (0, {"client": "token:ops", "method": "SelfTestDevices", "code": "OK"}))
        status, line = test(field(1, b"no-such\n"), self.token)
        self.assertNotEqual(status, 0)
        self.assertEqual((line["method"], line["device"], line["reason"]),
                         ("SelfTestDevices", "no-such\n", "DEVICE_NOT_FOUND"))
        # Not even a message.
        status, line = test(b"\xff", self.token)
        self.assertNotEqual(status, 0)
        self.assertEqual((line["method"], line["reason"]), ("SelfTestDevices", "INVALID_REQUEST"))
        self.assertEqual(len(lines_of(self.log.read_text(encoding="utf-8"))), 3)
        test(b"", None)
        line = self.wait_for_lines(4)[3]
        self.assertEqual((line["client"], line["method"], line["reason"]),
                         ("127.0.0.1", "SelfTestDevices", "CREDENTIALS_REQUIRED"))

    def test_those_who_are_turned_away_have_a_line(self):
        server = self.serve(self.log)
        call(server, "EndLease", b"\x08\x07")
        line = self.wait_for_lines(1)[0]
        self.assertEqual(line["client"], "127.0.0.1")
        self.assertEqual((line["code"], line["reason"]), ("UNAUTHENTICATED", "CREDENTIALS_REQUIRED"))
        self.assertNotIn("lease", line)

    def test_a_reload_has_a_line(self):
        server = self.serve(self.log)
        server.signal(signal.SIGHUP)
        line = self.wait_for_lines(1)[0]
        self.assertEqual((line["client"], line["method"], line["code"]),
                         ("signal", "ReloadFiles", "OK"))
        (self.folder / "policy.toml").write_text("roles = 1\n", encoding="ascii")
        server.signal(signal.SIGHUP)
        self.assertEqual(self.wait_for_lines(2)[1]["code"], "INVALID_ARGUMENT")

    def test_a_line_that_the_disk_does_not_take_is_in_the_servers_log(self):
        server = self.serve("/dev/full")
        call(server, "ListLeases", b"", self.token)
        self.assertIn("audit line not written", server.log())
        self.assertIn("ListLeases", server.log())

    def test_a_call_waits_for_its_line_and_nobody_else_does(self):
        pipe = StalledPipe(self.folder / "pipe")
        self.addCleanup(pipe.__exit__)
        server = self.serve(pipe.path)
        done = threading.Event()
        admin = threading.Thread(target=lambda: (call(server, "ListLeases", b"", self.token),
                                                 done.set()))
        admin.start()
        # Calls of others go on, one after the other, while that one waits.
        with OperatorCaller(server.address) as caller:
            for _ in range(20):
                caller.wait(caller.call("/opserve.v1.OperatorService/GetServerInfo", framed(b""),
                                        [("authorization", f"Bearer {self.token}")]))
        self.assertFalse(done.is_set())
        os.set_blocking(pipe.reader, True)
        text = b""
        while b"ListLeases" not in text or not text.endswith(b"\n"):
            text = (text + os.read(pipe.reader, 65536))[-1024:]
        admin.join(LIMIT_S)
        self.assertTrue(done.is_set())

    def drain_while_a_call_waits(self, arguments, signals):
        """The exit code of a server that gets so many signals while a call waits for its line, and how long it took."""
        socket = self.folder / "socket"
        with StalledPipe(self.folder / "pipe") as pipe:
            # In one thread, calls begin in their order.
            server = self.serve(pipe.path, "--listen", f"unix:{socket}", "--pollers", "1", *arguments)
            headers = [("authorization", f"Bearer {self.token}")]
            with OperatorCaller(server.address) as caller:
                waiting = caller.call("/opserve.v1.AdminService/ListLeases", framed(b""), headers)
                for _ in range(3):
                    caller.wait(caller.call("/opserve.v1.OperatorService/GetServerInfo", framed(b""),
                                            headers))
                self.assertNotIn(waiting, caller.statuses)
            start = time.monotonic()
            for number in range(signals):
                server.signal(signal.SIGTERM)
                while number == 0 and "draining" not in server.log():
                    self.assertLess(time.monotonic(), start + LIMIT_S)
            code = server.wait()
        self.assertIn("log lines not written log=audit", server.log())
        self.assertFalse(socket.exists() or pathlib.Path(f"{socket}.regions").exists())
        return code, time.monotonic() - start

    def test_a_call_that_waits_for_its_line_does_not_keep_a_drain(self):
        code, took = self.drain_while_a_call_waits(["--drain-timeout", "1"], signals=1)
        self.assertEqual(code, 3)
        self.assertLess(took, LIMIT_S / 2)

    def test_a_second_signal_ends_a_drain_while_a_call_waits_for_its_line(self):
        code, took = self.drain_while_a_call_waits(["--drain-timeout", "3600"], signals=2)
        self.assertEqual(code, 4)
        self.assertLess(took, LIMIT_S / 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True, type=pathlib.Path)
    SERVER = parser.parse_args().server.resolve()
    unittest.main(argv=sys.argv[:1])
