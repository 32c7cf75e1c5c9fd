#!/usr/bin/python3
"""Runs the real `opserve` against a real server: results, reports, errors and exit codes."""

import json
import pathlib
import re
import signal
import subprocess
import time

import numpy as np

import cli_fixture
from cli_fixture import (CALL_FAILED, CALL_LIMIT_S, FILE_ERROR, ROOT, ROUND_AWAY, SUCCESS,
                         TEST_FAILED, UNREACHABLE, USAGE, CliCase, environment, on_terminal,
                         opserve, round_half_away)


class CliTest(CliCase):

    def run_operator(self, operator, tensors, *options):
        """The result of an operator on `tensors`, through files."""
        inputs = []
        for i, tensor in enumerate(tensors):
            inputs += ["--input", self.save(f"in{i}.npy", tensor)]
        output = self.folder / "out.npy"
        done = opserve("run", *operator, *inputs, "--output", output, *options)
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        return np.load(output)

    def test_all_operators_with_one_to_eight_dimensions(self):
        for rank in range(1, 9):
            shape = tuple(self.random.integers(1, 4, rank))
            for kind in (np.float32, np.float16):
                a = self.random.normal(0, 50, shape).astype(kind)
                b = self.random.normal(0, 5, shape).astype(kind)
                a.reshape(-1)[0] = np.inf
                condition = self.random.integers(0, 3, shape, dtype=np.uint8)
                with self.subTest(shape=shape, type=kind.__name__):
                    self.assert_same(self.run_operator(ROUND_AWAY, [a]), round_half_away(a))
                    self.assert_same(self.run_operator(["ELEMENT_WISE_IF"], [condition, a, b]),
                                     np.where(condition, a, b))
                    self.assert_same(
                        self.run_operator(
                            ["ELEMENT_WISE_IS_INFINITY", "--attr", "InfinityMode=EITHER"], [a]),
                        np.isinf(a).astype(np.uint8))
                    self.assert_same(
                        self.run_operator(["ELEMENT_WISE_MODULUS_TRUNCATE"], [b, b + kind(1.5)]),
                        np.fmod(b, b + kind(1.5)))

    def test_rows_along_lists_of_dimensions(self):
        x = self.random.permutation(60).reshape(3, 4, 5).astype(np.float32)
        for text, axes in (("Axes=2,0", (0, 2)), ("Axes=1", (1,)), ("Axes=", ())):
            expected = (x == x.max(axis=axes, keepdims=True)).astype(np.float32)
            rows = self.run_operator(["ACTIVATION_HARDMAX1", "--attr", text], [x])
            self.assert_same(rows, expected)

    def test_quantised_tensors(self):
        x = self.random.normal(0, 4, (5, 7)).astype(np.float32)
        scale = np.full_like(x, 0.25)
        for zero, kind in ((np.int8(-3), np.int8), (np.uint8(100), np.uint8)):
            zeros = np.full(x.shape, zero)
            limits = np.iinfo(kind)
            whole = np.clip(np.rint(x * 4) + zero, limits.min, limits.max).astype(kind)
            quantised = self.run_operator(["ELEMENT_WISE_QUANTIZE_LINEAR"], [x, scale, zeros])
            self.assert_same(quantised, whole)
            # Without a zero point nothing but the caller tells the type.
            self.assert_same(
                self.run_operator(["ELEMENT_WISE_QUANTIZE_LINEAR"], [x, scale], "--output-type",
                                  kind.__name__.upper()),
                np.clip(np.rint(x * 4), limits.min, limits.max).astype(kind))
            self.assert_same(
                self.run_operator(["ELEMENT_WISE_DEQUANTIZE_LINEAR"], [whole, scale, zeros]),
                (whole.astype(np.float32) - zero) / 4)

    def test_optional_tensors_are_left_out_by_name(self):
        a, b = (self.random.integers(0, 256, (3, 4)).astype(np.uint8) for _ in range(2))
        one = np.ones((1, 1), np.float32)
        files = {"BTensor": b, "ATensor": a, "AScaleTensor": one, "BScaleTensor": 2 * one,
                 "OutputScaleTensor": 4 * one, "OutputZeroPointTensor": np.full((1, 1), 5, np.uint8)}
        inputs = [option for name, tensor in files.items()
                  for option in ("--input", f"{name}={self.save(name + '.npy', tensor)}")]
        output = self.folder / "out.npy"
        for options in ([], ["--shared-memory"], ["--stream"]):
            done = opserve("run", "ELEMENT_WISE_QUANTIZED_LINEAR_ADD", *inputs, "--output", output,
                           *options)
            self.assertEqual(done.returncode, SUCCESS, done.stderr)
            total = np.rint((a.astype(np.float64) + 2.0 * b) / 4) + 5
            self.assert_same(np.load(output), np.clip(total, 0, 255).astype(np.uint8))
        done = opserve("run", "ELEMENT_WISE_QUANTIZED_LINEAR_ADD", *inputs[2:])
        self.assertEqual(done.returncode, CALL_FAILED)
        self.assertIn("The tensor BTensor is missing", done.stderr)

    def test_files_of_every_order(self):
        x = self.random.normal(0, 9, (3, 4, 5)).astype(np.float32)
        for stored in (np.asfortranarray(x), x.astype(">f4")):
            self.assert_same(self.run_operator(ROUND_AWAY, [stored]), round_half_away(x))
        condition = self.random.integers(0, 2, 6).astype(bool)
        a, b = np.arange(6, dtype=np.int64), -np.arange(6, dtype=np.int64)
        self.assert_same(self.run_operator(["ELEMENT_WISE_IF"], [condition, a, b]),
                         np.where(condition, a, b))
        self.assert_same(self.run_operator(ROUND_AWAY, [np.float32(2.5)]),
                         np.array([3], np.float32))

    def test_strides_broadcast_and_pad(self):
        x = np.array([0.5, 1.5, 2.5], np.float32)
        rows = self.run_operator(ROUND_AWAY, [x], "--sizes", "2,3", "--strides", "0,1",
                                 "--output-strides", "4,1")
        self.assert_same(rows, np.array([[1, 2, 3], [1, 2, 3]], np.float32))
        # The second input is broadcast, the first stays as it is in its file.
        a = np.arange(6, dtype=np.float32).reshape(2, 3)
        rest = self.run_operator(["ELEMENT_WISE_MODULUS_TRUNCATE"], [a, x], "--sizes", "-",
                                 "--sizes", "2x3", "--strides", "-", "--strides", "0,1")
        self.assert_same(rest, np.fmod(a, x))

    def test_report_for_programs(self):
        x = self.save("x.npy", np.array([[0.1, np.nan], [np.inf, 2.5]], np.float32))
        done = opserve("run", *ROUND_AWAY, "--input", x, "--json", "--request-id", "id")
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["operator"], "ELEMENT_WISE_ROUND")
        self.assertTrue(report["device"].startswith("cpu/"))
        self.assertEqual((report["batch_size"], report["attempts"], report["sends"]), (1, 1, 1))
        self.assertIs(report["verified"], False)
        self.assertGreater(report["run_time_ns"], 0)
        self.assertGreater(report["round_trip_ns"], report["run_time_ns"])
        self.assertEqual(report["output"], {
            "data_type": "FLOAT32", "sizes": [2, 2], "strides": [], "bytes": 16,
            "first_values": [0, "NaN", "Infinity", 3]})

    def test_report_for_people(self):
        x = self.save("x.npy", np.array([[0.5, 1.5], [2.5, -1]], np.float16))
        done = opserve("run", *ROUND_AWAY, "--input", x)
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0],
                         "^ELEMENT_WISE_ROUND ran for .*, queued for .*, round trip .*$")
        self.assertRegex(lines[1], r"^device: cpu/\S+, batch of 1, 1 attempt, not verified$")
        self.assertEqual(lines[2:], ["FLOAT16 {2, 2}, 8 B", "[[ 1.  2.]", " [ 3. -1.]]"])

    def test_every_violation_is_a_line_that_names_its_file(self):
        x = self.save("x.npy", np.zeros(4, np.float32))
        done = opserve("run", "ELEMENT_WISE_ROUND", "--attr", "RoundingMode=UP", "--attr", "X=1",
                       "--input", x, "--strides", "2", "--json")
        self.assertEqual(done.returncode, CALL_FAILED)
        lines = [line for line in done.stderr.splitlines() if line.startswith("  - ")]
        self.assertEqual(len(lines), 3, done.stderr)
        self.assertTrue(lines[0].startswith("  - attributes[0].value: "), lines[0])
        self.assertTrue(lines[1].startswith("  - attributes[1].name: "), lines[1])
        self.assertTrue(lines[2].startswith(f"  - payloads[0] ({x}): "), lines[2])
        error = json.loads(done.stdout)["error"]
        self.assertEqual((error["code"], error["reason"]), ("INVALID_ARGUMENT", "INVALID_REQUEST"))
        self.assertEqual([v["field"] for v in error["violations"]],
                         ["attributes[0].value", "attributes[1].name", "payloads[0]"])

    def test_files_that_are_at_fault(self):
        bad = self.folder / "bad.npy"
        bad.write_text("1 2 3", encoding="utf-8")
        good = self.save("good.npy", np.zeros(2, np.float32))
        cases = [
            (["run", *ROUND_AWAY, "--input", self.folder / "none.npy"],
             f"cannot open {self.folder}/none.npy: No such file"),
            (["run", *ROUND_AWAY, "--input", bad], f"{bad}: not a .npy file"),
            (["run", *ROUND_AWAY, "--input", self.save("c.npy", np.zeros(2, np.complex64))],
             "convert with astype()"),
            (["run", *ROUND_AWAY, "--input", good, "--output", "/nowhere/y.npy"],
             "cannot create /nowhere/y.npy"),
            (["pack", *ROUND_AWAY, "--input", good, "--output", "/nowhere/y.bin"],
             "cannot create /nowhere/y.bin"),
            (["info", "--tls-ca", "/nowhere/ca.pem"], "cannot open /nowhere/ca.pem"),
        ]
        for arguments, words in cases:
            done = opserve(*arguments)
            self.assertEqual(done.returncode, FILE_ERROR, done)
            self.assertIn(words, done.stderr)

    def test_wrong_command_lines(self):
        for arguments in ([], ["dance"], ["run"], ["info", "--nonsense"]):
            done = opserve(*arguments)
            self.assertEqual(done.returncode, USAGE, done)
            self.assertIn("--help", done.stderr)

    def test_refused_command_lines_are_errors_for_programs_too(self):
        for arguments, words in (
                (["run", "--json"], "OPERATOR is required"),
                (["info", "--nonsense", "--json"], "unknown option --nonsense"),
                (["info", "--json", "--address"], "--address"),
                (["info", "--json", "--timeout", "soon"], "'soon' is no positive duration"),
                (["--json", "info"], "--json belongs behind its verb, info"),
                (["tensor", "dance", "--json"], "unknown: dance"),
                (["run", *ROUND_AWAY, "--input", "x.npy", "--sizes", "1", "--sizes", "2", "--json"],
                 "--sizes is given 2 times")):
            done = opserve(*arguments)
            self.assertEqual(done.returncode, USAGE, done)
            self.assertTrue(done.stderr.endswith("Run with --help for more information.\n"), done)
            error = json.loads(done.stdout)["error"]
            self.assertEqual(error["code"], "INVALID_ARGUMENT")
            self.assertIn(words, error["message"])
            self.assertNotIn("--help", error["message"])
            self.assertNotIn("opserve:", error["message"])
        # What follows "--" is for the command that is run under the lease.
        for arguments in (["info", "--nonsense"],
                          ["lease", "gpu", "--nonsense", "--", "ctest", "--json"]):
            done = opserve(*arguments)
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""), done)

    def test_no_server(self):
        nobody = f"unix:{self.folder}/nobody"
        for verb in (["health"], ["info"], ["operators"], ["bench"], ["devices"]):
            done = opserve(*verb, "--address", nobody, "--json")
            self.assertEqual(done.returncode, UNREACHABLE, done)
            self.assertIn(f"no connection to {nobody}: there is no such socket file", done.stderr)
            self.assertEqual(json.loads(done.stdout)["error"]["code"], "UNAVAILABLE")

    def test_the_library_logs_only_where_it_is_asked_to(self):
        tls = ["info", "--address", cli_fixture.ADDRESS, "--tls"]
        done = opserve(*tls)
        self.assertEqual(done.returncode, UNREACHABLE, done)
        self.assertEqual(done.stderr.splitlines(), [
            f"opserve: no connection to {cli_fixture.ADDRESS}: the server speaks no TLS",
            "  leave out --tls and all --tls-... options"])
        asked = opserve(*tls, GRPC_VERBOSITY="ERROR")
        self.assertRegex(asked.stderr, r"(?m)^E\d+ .*andshake")

    def test_health(self):
        done = opserve("health")
        self.assertEqual((done.returncode, done.stdout), (SUCCESS, "SERVING\n"))
        done = opserve("health", "--json", "--service", "opserve.v1.OperatorService")
        self.assertEqual(json.loads(done.stdout)["status"], "SERVING")
        self.assertEqual(opserve("health", "--service", "none").returncode, CALL_FAILED)

    def test_info(self):
        done = opserve("info")
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        self.assertIn("feature level 6_4", done.stdout)
        report = json.loads(opserve("info", "--json").stdout)
        self.assertEqual(report["limits"]["max_dimension_count"], 8)
        self.assertEqual(report["limits"]["max_device_lease_s"], 600)
        self.assertEqual(report["limits"]["max_device_leases_per_client"], 4)
        self.assertRegex(done.stdout, r"(?m)^lease of a GPU, renewals included +10m$")
        self.assertRegex(done.stdout, r"(?m)^leases of GPUs of a client +4$")
        self.assertRegex(done.stdout, r"(?m)^lease of a resident tensor +1h$")
        self.assertIn(report["devices"][0]["name"], done.stdout)

    def test_devices(self):
        done = opserve("devices")
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        header, row, _, counted, counts = done.stdout.splitlines()
        self.assertEqual(re.split("  +", header), ["NAME", "KIND", "MEMORY", "STATE", "LOAD"])
        self.assertEqual(re.split("  +", counted),
                         ["NAME", "REQUESTS", "AVG BATCH", "VERIFIED", "MISMATCHES", "FAULTS"])
        self.assertTrue(row.startswith("cpu/"), row)
        self.assertEqual(row.split()[0], counts.split()[0])
        device, = json.loads(opserve("devices", "--json").stdout)["devices"]
        self.assertTrue(row.startswith(device["name"]))
        self.assertEqual((device["pending_requests"], device["counters"]["faults"]), (0, 0))
        self.assertEqual(opserve("devices", device["name"]).stdout.splitlines()[0].split()[0],
                         "NAME")
        other = opserve("devices", "d3d12/none")
        self.assertEqual(other.returncode, CALL_FAILED)
        self.assertIn(f"it has: {device['name']}", other.stderr)

    def test_self_test_without_a_gpu(self):
        done = opserve("devices", "--self-test")
        self.assertEqual((done.returncode, done.stdout), (TEST_FAILED, ""))
        self.assertIn("has no GPU", done.stderr)
        done = opserve("devices", "--self-test", "--json")
        self.assertEqual(done.returncode, TEST_FAILED)
        self.assertEqual(json.loads(done.stdout), {"passed": False, "results": []})

    def test_how_and_where_to_run(self):
        x = self.save("x.npy", np.array([0.5], np.float32))
        for options in (["--device", "cpu", "--priority", "low", "--verify"],
                        ["--device", "auto", "--priority", "high", "--client-name", "tests"]):
            done = opserve("run", *ROUND_AWAY, "--input", x, *options)
            self.assertEqual(done.returncode, SUCCESS, done.stderr)
            self.assertIn("device: cpu/", done.stdout)
        refused = opserve("run", *ROUND_AWAY, "--input", x, "--device", "gpu", "--json")
        self.assertEqual(refused.returncode, CALL_FAILED)
        self.assertEqual(json.loads(refused.stdout)["error"]["reason"], "DEVICE_UNAVAILABLE")
        done = opserve("bench", "--duration", "200ms", "--shape", "8", "--device", "cpu",
                       "--priority", "low", "--verify", "--client-name", "tests", "--json")
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["device"], report["priority"], report["verify"]),
                         ("CPU", "LOW", True))
        answers, = report["answers"]
        self.assertTrue(answers["device"].startswith("cpu/"), answers)
        self.assertEqual((answers["calls"], answers["mean_batch"], answers["verified"]),
                         (report["calls"], 1, 0))

    def test_operators(self):
        done = opserve("operators")
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        report = json.loads(opserve("operators", "--json").stdout)
        names = [operator["name"] for operator in report["operators"]]
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines() if "_" in line], names)
        self.assertGreater(len(names), 40)
        families = list(dict.fromkeys(operator["family"] for operator in report["operators"]))
        self.assertEqual([line for line in done.stdout.splitlines() if line in families], families)
        self.assertEqual(len(report["feature_levels"]), 15)
        one = opserve("operators", "ELEMENT_WISE_ROUND").stdout
        for words in ("RoundingMode", "TOWARD_ZERO", "FLOAT16", "since", "1 to 8"):
            self.assertIn(words, one)
        found = opserve("operators", "--search", "Modulus")
        self.assertEqual([line.split()[0] for line in found.stdout.splitlines() if "_" in line],
                         ["ELEMENT_WISE_MODULUS_FLOOR", "ELEMENT_WISE_MODULUS_TRUNCATE"])
        nothing = opserve("operators", "--search", "convolution")
        self.assertEqual((nothing.returncode, nothing.stdout), (SUCCESS, ""))
        self.assertIn("convolution", nothing.stderr)
        later = opserve("operators", "ACTIVATION_GELU", "--feature-level", "5_0")
        self.assertEqual((later.returncode, later.stdout), (SUCCESS, ""))
        self.assertIn("ACTIVATION_GELU is not there at feature level 5_0", later.stderr)
        missing = opserve("operators", "ELEMENT_WISE_ROUNDS")
        self.assertEqual(missing.returncode, CALL_FAILED)
        self.assertIn("ELEMENT_WISE_ROUND", missing.stderr)

    def test_pack_writes_the_request(self):
        x = self.save("x.npy", np.array([1.5], np.float32))
        request = self.folder / "request.bin"
        done = opserve("pack", *ROUND_AWAY, "--input", x, "--output", request)
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        text = subprocess.run(
            ["protoc", f"--proto_path={ROOT}/proto", "--decode=opserve.v1.ExecuteRequest",
             "opserve/v1/operator_service.proto"], input=request.read_bytes(), check=True,
            capture_output=True, timeout=CALL_LIMIT_S).stdout.decode()
        self.assertIn('operator: "ELEMENT_WISE_ROUND"', text)
        self.assertIn('enum_name: "TOWARD_INFINITY"', text)
        self.assertIn(r'payloads: "\000\000\300?"', text)

    def check_bench(self, report):
        self.assertEqual(report["errors"], {})
        self.assertGreater(report["calls"], 0)
        latency = report["latency_ns"]
        order = [latency[k] for k in ("min", "p50", "p90", "p95", "p99", "p99.9", "max")]
        self.assertEqual(order, sorted(order))
        self.assertAlmostEqual(report["calls_per_s"], report["calls"] / report["duration_s"],
                               delta=0.001 * report["calls_per_s"])

    def test_bench_closed_and_open_loop(self):
        for operator in ("ACTIVATION_HARDMAX1", "ELEMENT_WISE_IF", "ELEMENT_WISE_IS_INFINITY",
                         "ELEMENT_WISE_MODULUS_TRUNCATE", "ELEMENT_WISE_ROUND"):
            done = opserve("bench", operator, "--duration", "200ms", "--shape", "16x16", "--type",
                           "FLOAT16", "--concurrency", 2, "--json")
            self.assertEqual(done.returncode, SUCCESS, done.stderr)
            self.check_bench(json.loads(done.stdout))
        done = opserve("bench", "--duration", "500ms", "--shape", "8", "--rate", 20, "--json")
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        report = json.loads(done.stdout)
        self.check_bench(report)
        self.assertEqual(report["calls"] + report["not_started"], 10)

    def test_bench_over_connections_and_streams(self):
        for options, streams in ((["--channels", 2], False), (["--stream"], True),
                                 (["--stream", "--channels", 3], True)):
            done = opserve("bench", "--duration", "200ms", "--shape", "512x512", "--concurrency",
                           4, "--json", *options)
            self.assertEqual(done.returncode, SUCCESS, done.stderr)
            report = json.loads(done.stdout)
            self.check_bench(report)
            self.assertEqual(report["stream"], streams)
            answers, = report["answers"]
            self.assertEqual(answers["calls"], report["calls"])
        self.assertEqual(report["channels"], 3)
        printed = opserve("bench", "--duration", "200ms", "--shape", "8", "--stream").stdout
        self.assertIn("8 in flight, on 1 stream, closed loop", printed)
        for channels in (0, 65):
            refused = opserve("bench", "--channels", channels)
            self.assertEqual(refused.returncode, USAGE)
            self.assertIn("--channels", refused.stderr)

    def test_bench_refuses_what_cannot_work(self):
        self.assertEqual(opserve("bench", "NONE").returncode, CALL_FAILED)
        done = opserve("bench", "ELEMENT_WISE_ROUND", "--type", "INT8")
        self.assertEqual(done.returncode, CALL_FAILED)
        self.assertIn("can be INT8", done.stderr)

    def test_interrupted_bench_prints_what_it_has(self):
        with subprocess.Popen([cli_fixture.program(), "bench", "--duration", "300s", "--shape", "8", "--json"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              env=environment()) as bench:
            # It measures once it catches the signal.
            status = pathlib.Path(f"/proc/{bench.pid}/status")
            deadline = time.monotonic() + CALL_LIMIT_S
            caught = 0
            while not caught & (1 << (signal.SIGINT - 1)) and time.monotonic() < deadline:
                caught = int(status.read_text().split("SigCgt:")[1].split()[0], 16)
            bench.send_signal(signal.SIGINT)
            printed, _ = bench.communicate(timeout=CALL_LIMIT_S)
        self.assertEqual(bench.returncode, SUCCESS)
        self.assertLess(json.loads(printed)["duration_s"], 250)

    def test_colours_and_bars_are_for_terminals_only(self):
        code, printed = on_terminal("health")
        self.assertEqual((code, printed), (SUCCESS, "\033[32mSERVING\033[0m\r\n"))
        code, printed = on_terminal("health", NO_COLOR="1")
        self.assertEqual((code, printed), (SUCCESS, "SERVING\r\n"))
        bench = ["bench", "--duration", "300ms", "--shape", "8"]
        code, printed = on_terminal(*bench)
        self.assertEqual(code, SUCCESS, printed)
        self.assertIn("###", printed)
        self.assertIn("300 ms", printed)
        piped = opserve(*bench)
        self.assertNotIn("###", piped.stdout)
        self.assertNotIn("\033", piped.stdout + piped.stderr)


if __name__ == "__main__":
    cli_fixture.main(__doc__)
