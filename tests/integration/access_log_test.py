#!/usr/bin/python3
"""The access log and the trace log of a running server: members, traces, rotation, what is not in them."""

import argparse
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "testing"), str(ROOT / "tests" / "redteam")]
from operator_calls import OperatorCaller, field, uint8_desc, varint  # pylint: disable=wrong-import-position
from http2_caller import framed  # pylint: disable=wrong-import-position
from server_process import ServerProcess  # pylint: disable=wrong-import-position
from stalled_pipe import StalledPipe  # pylint: disable=wrong-import-position

SERVER = None
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
SECRET = b"contents-of-a-tensor"
LIMIT_S = 60


def call(server, method, message, headers):
    with OperatorCaller(server.address) as caller:
        return caller.wait(caller.call(f"/opserve.v1.OperatorService/{method}", framed(message),
                                       headers))


def modulus(request_id):
    """An Execute of ELEMENT_WISE_MODULUS_TRUNCATE whose payload can be found again."""
    tensor = uint8_desc(len(SECRET))
    ones = b"\x01" * len(SECRET)
    return b"".join((field(1, b"ELEMENT_WISE_MODULUS_TRUNCATE"), field(2, request_id),
                     field(5, tensor), field(5, tensor), field(16, SECRET), field(16, ones)))


def lines_of(path, count):
    """Waits for so many lines of a log; the objects that they are."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if len(lines) >= count:
            return [json.loads(line) for line in lines]
    raise TimeoutError(f"{path} has {len(lines)} lines, not {count}")


def wait_for_log(server, event):
    deadline = time.monotonic() + LIMIT_S
    while event not in server.log():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the server did not log {event}:\n{server.log()}")


class Journal(unittest.TestCase):

    def setUp(self):
        # Closed by the test's end.
        self._folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)
        self.access, self.trace = self.folder / "access.log", self.folder / "trace.log"

    def server(self, *arguments):
        return ServerProcess(SERVER, self.folder,
                             ["--devices", "none", "--access-log", self.access, "--trace-log",
                              self.trace, *arguments])

    def test_each_request_has_a_line(self):
        with self.server() as server:
            self.assertEqual(call(server, "Execute", modulus(b"first"),
                                  [("opserve-client", "test")]), 0)
            self.assertEqual(call(server, "Execute", field(1, b"NO_SUCH"), []), 5)
            self.assertEqual(call(server, "ListTensors", b"", []), 0)
            self.assertEqual(call(server, "ListTensors", b"",
                                  [("authorization", "Bearer not-for-logs")]), 16)
            first, second, third, fourth = lines_of(self.access, 4)
        self.assertEqual({key: first[key] for key in
                          ("id", "client", "method", "operator", "type", "code")},
                         {"id": "first", "client": "127.0.0.1/test", "method": "Execute",
                          "operator": "ELEMENT_WISE_MODULUS_TRUNCATE", "type": "UINT8",
                          "code": "OK"})
        self.assertEqual(first["bytes_in"], len(modulus(b"first")))
        self.assertTrue(first["device"].startswith("cpu/"))
        self.assertGreaterEqual(first["total_us"], first["queued_us"] + first["run_us"])
        self.assertEqual((second["code"], second["reason"]), ("NOT_FOUND", "OPERATOR_NOT_FOUND"))
        self.assertNotIn("device", second)
        self.assertEqual((third["method"], third["code"]), ("ListTensors", "OK"))
        self.assertEqual({key: fourth[key] for key in ("client", "method", "code", "reason")},
                         {"client": "127.0.0.1", "method": "ListTensors",
                          "code": "UNAUTHENTICATED", "reason": "CREDENTIALS_INVALID"})
        self.assertEqual(self.trace.read_text(encoding="utf-8"), "")
        for log in (self.access.read_bytes(), server.log().encode()):
            self.assertNotIn(SECRET, log)
            self.assertNotIn(b"not-for-logs", log)

    def test_a_stream_that_is_given_up_has_no_line_of_its_own(self):
        half = b"".join((field(1, 1), field(3, varint(len(SECRET))), field(16, SECRET[:5]),
                         field(2, field(1, b"ELEMENT_WISE_IDENTITY") + field(2, b"half") +
                               field(5, uint8_desc(len(SECRET))))))
        refused = field(1, 2) + field(2, field(1, b"NO_SUCH") + field(2, b"refused"))
        with self.server() as server, OperatorCaller(server.address) as caller:
            for is_given_up in (True, False):
                stream = caller.open("/opserve.v1.OperatorService/ExecuteStream")
                caller.send(stream, framed(half) + framed(refused), is_end=not is_given_up)
                # With the refusal what came before it has been dealt with.
                caller.wait_for_answer(stream)
                if is_given_up:
                    caller.cancel(stream)
                else:
                    self.assertEqual(caller.wait(stream), 3)
                lines_of(self.access, 2 if is_given_up else 5)
        lines = lines_of(self.access, 5)
        self.assertEqual(sorted((line.get("id", ""), line["code"]) for line in lines),
                         [("", "INVALID_ARGUMENT"), ("half", "CANCELLED"), ("half", "CANCELLED"),
                          ("refused", "NOT_FOUND"), ("refused", "NOT_FOUND")])

    def test_a_lease_that_is_refused_has_a_line(self):
        with self.server() as server:
            self.assertEqual(call(server, "LeaseDevice", b"", []), 9)
            line, = lines_of(self.access, 1)
        self.assertEqual((line["method"], line["code"]), ("LeaseDevice", "FAILED_PRECONDITION"))

    def test_a_trace_has_spans_where_its_caller_records_it(self):
        with self.server() as server:
            for flags in ("00", "01"):
                call(server, "Execute", modulus(b"traced"),
                     [("traceparent", f"00-{TRACE}-{PARENT}-{flags}")])
            for wrong in ([("traceparent", f"00-{TRACE}-{PARENT}-0")],
                          [("traceparent", f"00-{TRACE}-{PARENT}-01")] * 2):
                call(server, "Execute", modulus(b"not traced"), wrong)
            requests = lines_of(self.access, 4)
            spans = lines_of(self.trace, 3)
        self.assertEqual([line.get("trace_id") for line in requests], [TRACE, TRACE, None, None])
        self.assertEqual([span["name"] for span in spans], ["request", "queue", "run"])
        self.assertEqual({span["trace_id"] for span in spans}, {TRACE})
        self.assertEqual(spans[0]["parent_span_id"], PARENT)
        for span in spans[1:]:
            self.assertEqual(span["parent_span_id"], spans[0]["span_id"])
            self.assertGreaterEqual(span["start_unix_ns"], spans[0]["start_unix_ns"])
            self.assertLessEqual(span["end_unix_ns"], spans[0]["end_unix_ns"])

    def test_sighup_begins_a_new_file(self):
        with self.server() as server:
            call(server, "ListTensors", b"", [])
            lines_of(self.access, 1)
            old = self.folder / "access.log.1"
            self.access.rename(old)
            call(server, "ListTensors", b"", [])
            self.assertEqual(len(lines_of(old, 2)), 2)
            os.kill(server.pid, signal.SIGHUP)
            wait_for_log(server, "log reopened log=access")
            call(server, "ListTensors", b"", [])
            self.assertEqual(len(lines_of(self.access, 1)), 1)
        self.assertEqual(len(lines_of(old, 2)), 2)
        self.assertEqual(server.exit_code, 0)

    def test_a_file_that_cannot_be_opened_keeps_the_server_from_starting(self):
        self.access = self.folder / "no" / "such" / "folder"
        with self.assertRaisesRegex(RuntimeError, "cannot start.*cannot open .*no/such/folder"):
            with self.server():
                pass

    def test_a_file_that_stalls_does_not_keep_the_server(self):
        with StalledPipe(self.folder / "pipe") as pipe:
            self.access = pipe.path
            with self.server() as server:
                self.assertEqual(call(server, "ListTensors", b"", []), 0)
        self.assertEqual(server.exit_code, 0)
        self.assertIn("log lines not written log=access", server.log())
        self.assertNotIn("driver", server.log())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    arguments, others = parser.parse_known_args()
    SERVER = arguments.server
    unittest.main(argv=[sys.argv[0], *others])
