#!/usr/bin/python3
"""Runs `opserve tensor`, and `opserve run` with resident tensors, shared memory and streams."""

import io
import json
import re
import subprocess

import numpy as np

import cli_fixture
from cli_fixture import (CALL_FAILED, CALL_LIMIT_S, FILE_ERROR, ROUND_AWAY, SUCCESS, UNREACHABLE,
                         USAGE, CliCase, ServerProcess, environment, on_terminal, opserve,
                         round_half_away)

UNKNOWN = "0" * 32


class TensorCase(CliCase):
    """Each test has its own tensors: they belong to a client's name."""

    def setUp(self):
        super().setUp()
        self.name = ["--client-name", self.id()]

    def create(self, *arguments):
        return self.succeed("tensor", "create", *arguments, *self.name).strip()

    def read(self, handle):
        output = self.folder / "read.npy"
        self.succeed("tensor", "read", handle, "--output", output, *self.name)
        return np.load(output)

    def tensors(self):
        return json.loads(self.succeed("tensor", "list", "--json", *self.name))["tensors"]


class TensorTest(TensorCase):

    def test_a_tensor_comes_back_as_it_was(self):
        for x in (self.random.normal(0, 9, (3, 4, 5)).astype(np.float32),
                  self.random.integers(-5, 5, 7, dtype=np.int8),
                  np.asfortranarray(self.random.normal(0, 9, (3, 4)))):
            handle = self.create(self.save("x.npy", x))
            self.assertRegex(handle, "^[0-9a-f]{32}$")
            self.assert_same(self.read(handle), np.ascontiguousarray(x))

    def test_zeros_of_a_shape(self):
        handle = self.create("--shape", "2x3", "--type", "float16")
        self.assert_same(self.read(handle), np.zeros((2, 3), np.float16))

    def test_create_for_programs(self):
        x = self.save("x.npy", np.ones(4, np.float32))
        options = ["tensor", "create", x, "--lease", "90s", "--skip-if-known", "--json", *self.name]
        first, second = (json.loads(self.succeed(*options)) for _ in range(2))
        self.assertEqual((first["ttl_s"], first["was_known"], first["device"]), (90, False, ""))
        self.assertIs(second["was_known"], True)
        self.assertNotEqual(first["handle"], second["handle"])

    def test_write_replaces_elements(self):
        handle = self.create("--shape", "6", "--type", "FLOAT32")
        part = self.save("part.npy", np.array([1, 2], np.float32))
        self.assertEqual(self.succeed("tensor", "write", handle, part, *self.name), "")
        done = self.succeed("tensor", "write", handle, part, "--offset", 3, "--json", *self.name)
        self.assertEqual(json.loads(done), {"offset": 12, "bytes": 8})
        self.assert_same(self.read(handle), np.array([1, 2, 0, 1, 2, 0], np.float32))

    def test_write_refuses_what_does_not_fit(self):
        handle = self.create("--shape", "2", "--type", "FLOAT32")
        wide = self.save("wide.npy", np.zeros(2))
        self.fail_with(CALL_FAILED, "FLOAT64 {2}, but the tensor is FLOAT32 {2}", "tensor", "write",
                       handle, wide, *self.name)
        long = self.save("long.npy", np.ones(3, np.float32))
        done = opserve("tensor", "write", handle, long, *self.name)
        self.assertEqual(done.returncode, CALL_FAILED, done)
        self.assert_same(self.read(handle), np.zeros(2, np.float32))

    def test_write_refuses_all_of_what_does_not_fit(self):
        # More than travels in one piece.
        elements = 3 << 20
        handle = self.create("--shape", str(elements), "--type", "FLOAT32")
        long = self.save("long.npy", np.ones(elements + 1, np.float32))
        self.fail_with(CALL_FAILED, f"has {elements + 1} elements, which from 0 on go beyond the tensor's {elements}",
                       "tensor", "write", handle, long, *self.name)
        fitting = self.save("fitting.npy", np.ones(elements, np.float32))
        for offset in (1, elements + 1, 1 << 53):
            self.fail_with(CALL_FAILED, f"which from {offset} on go beyond", "tensor", "write", handle, fitting,
                           "--offset", offset, *self.name)
        self.assertFalse(self.read(handle).any())

    def test_read_to_standard_output(self):
        x = np.array([[0.5, np.nan]], np.float32)
        handle = self.create(self.save("x.npy", x))
        shown = self.succeed("tensor", "read", handle, *self.name)
        self.assertEqual(shown, "FLOAT32 {1, 2}, 8 B\n[[0.5 nan]]\n")
        report = json.loads(self.succeed("tensor", "read", handle, "--json", *self.name))
        self.assertEqual((report["sizes"], report["first_values"]), ([1, 2], [0.5, "NaN"]))
        raw = subprocess.run([cli_fixture.program(), "tensor", "read", handle, "--output", "-",
                              *self.name], capture_output=True, check=True, timeout=CALL_LIMIT_S,
                             env=environment()).stdout
        self.assert_same(np.load(io.BytesIO(raw)), x)

    def test_list_fits_a_terminal(self):
        self.assertIn("0 tensors", self.succeed("tensor", "list", *self.name))
        label = "weights of the first layer, \u00fcbersetzt\n" * 2
        first = self.create("--shape", "2x3x4x5x6x7x2x2", "--type", "FLOAT32", "--label", label)
        second = self.create("--shape", "8", "--type", "UINT8", "--lease", "1h")
        lines = self.succeed("tensor", "list", *self.name).splitlines()
        self.assertEqual(lines[0].split(), ["HANDLE", "TENSOR", "LEASE", "DEVICE", "LABEL"])
        # What does not fit into a column goes on below.
        rows = [line.split()[0] for line in lines[1:-1] if not line.startswith(" ")]
        self.assertEqual(rows, [first, second])
        shown = re.sub(r"\s", "", "".join(line[lines[0].index("LABEL"):] for line in lines[1:-2]))
        self.assertEqual(shown, re.sub(r"[\s]", "", label.replace("\n", "\\n")))
        self.assertIn("2 tensors, ", lines[-1])
        self.assertLessEqual(max(map(len, lines)), 80)
        report = self.tensors()
        self.assertEqual([t["handle"] for t in report], [first, second])
        self.assertEqual((report[0]["label"], report[0]["sizes"]), (label, [2, 3, 4, 5, 6, 7, 2, 2]))
        self.assertEqual((report[1]["data_type"], report[1]["bytes"]), ("UINT8", 8))
        self.assertGreater(report[1]["ttl_s"], 3000)

    def test_renew_and_delete_take_several(self):
        handles = [self.create("--shape", "2", "--type", "INT8", "--lease", "60s") for _ in "abc"]
        self.assertEqual(self.succeed("tensor", "renew", *handles, "--lease", "30m", *self.name),
                         "3 tensors renewed for 30m\n")
        self.assertGreater(min(t["ttl_s"] for t in self.tensors()), 1700)
        renewed = self.succeed("tensor", "renew", handles[0], "--json", *self.name)
        self.assertEqual(json.loads(renewed), {"ttl_s": 300})
        self.assertEqual(self.succeed("tensor", "delete", *handles[:2], *self.name),
                         "2 tensors deleted\n")
        self.fail_with(CALL_FAILED, "of 2 tensors, 1 were there", "tensor", "delete", *handles[1:],
                       *self.name)
        self.assertEqual(self.tensors(), [])

    def test_tensors_that_there_are_not(self):
        x = self.save("x.npy", np.zeros(2, np.float32))
        for verb in (["write", UNKNOWN, x], ["read", UNKNOWN], ["renew", UNKNOWN],
                     ["delete", UNKNOWN]):
            done = opserve("tensor", *verb, "--json", *self.name)
            self.assertEqual(done.returncode, CALL_FAILED, done)
            self.assertIn(f"tensor {verb[0]}: NOT_FOUND", done.stderr)
            self.assertEqual(json.loads(done.stdout)["error"]["code"], "NOT_FOUND")

    def test_a_gpu_that_there_is_not(self):
        for device in ("gpu", "d3d12/none"):
            self.fail_with(CALL_FAILED, "tensor create: ", "tensor", "create", "--shape", "2",
                           "--type", "INT8", "--device", device, *self.name)

    def test_wrong_command_lines_and_files(self):
        x = self.save("x.npy", np.zeros(2, np.float32))
        for words, arguments in (("subcommand", []), ("needs FILE", ["create"]),
                                 ("needs FILE", ["create", "--shape", "2"]),
                                 ("brings its own", ["create", x, "--type", "INT8"]),
                                 ("--skip-if-known needs", ["create", "--shape", "2", "--type",
                                                            "INT8", "--skip-if-known"]),
                                 ("--volatile needs", ["create", x, "--volatile"]),
                                 ("HANDLE", ["delete"]), ("FILE", ["write", UNKNOWN]),
                                 ("--offset", ["write", UNKNOWN, x, "--offset", "-1"]),
                                 ("standard output", ["read", "x", "--json", "--output", "-"]),
                                 ("unknown: dance", ["dance"])):
            self.fail_with(USAGE, words, "tensor", *arguments)
        self.fail_with(FILE_ERROR, "cannot open /nowhere/x.npy", "tensor", "create",
                       "/nowhere/x.npy")
        handle = self.create(x)
        self.fail_with(FILE_ERROR, "cannot create /nowhere/x.npy", "tensor", "read", handle,
                       "--output", "/nowhere/x.npy", *self.name)
        self.fail_with(UNREACHABLE, "no connection to", "tensor", "list", "--address",
                       f"unix:{self.folder}/nobody")

    def test_long_transfers_show_their_progress_on_terminals_only(self):
        x = self.random.integers(0, 255, 20 << 20, dtype=np.uint8)
        file = self.save("x.npy", x)
        with open(self.folder / "handle", "w+", encoding="utf-8") as stdout:
            code, printed = on_terminal("tensor", "create", file, *self.name, stdout=stdout)
            self.assertEqual(code, SUCCESS, printed)
            self.assertIn("8 MiB of 20 MiB (40%)", printed)
            stdout.seek(0)
            handle = stdout.read().strip()
        self.assert_same(self.read(handle), x)
        quiet = opserve("tensor", "write", handle, file, *self.name)
        self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr), (SUCCESS, "", ""))


class RunTest(TensorCase):
    """Other ways for tensors to and from `opserve run`."""

    def setUp(self):
        super().setUp()
        self.x = self.random.normal(0, 9, (2, 3)).astype(np.float32)
        self.file = self.save("x.npy", self.x)

    def run_round(self, *options):
        output = self.folder / "y.npy"
        self.succeed("run", *ROUND_AWAY, "--output", output, *options, *self.name)
        return np.load(output)

    def test_inputs_at_the_server(self):
        x = f"tensor:{self.create(self.file)}"
        self.assert_same(self.run_round("--input", x), round_half_away(self.x))
        self.assert_same(self.run_round("--input", x, "--sizes", "3,2"),
                         round_half_away(self.x.reshape(3, 2)))
        output = self.folder / "z.npy"
        self.succeed("run", "ELEMENT_WISE_MODULUS_TRUNCATE", "--input", self.file, "--input", x,
                     "--output", output, *self.name)
        self.assert_same(np.load(output), np.fmod(self.x, self.x))

    def test_results_at_the_server(self):
        x, y = self.create(self.file), self.create("--shape", "2x3", "--type", "FLOAT32")
        shown = self.succeed("run", *ROUND_AWAY, "--input", f"tensor:{x}", "--output",
                             f"tensor:{y}", *self.name)
        self.assertEqual(shown.splitlines()[2:], ["FLOAT32 {2, 3}, 24 B", f"written to tensor:{y}"])
        self.assert_same(self.read(y), round_half_away(self.x))
        report = json.loads(self.succeed("run", *ROUND_AWAY, "--input", self.file, "--output",
                                         f"tensor:{x}", "--json", *self.name))
        self.assertEqual(report["output"], {"data_type": "FLOAT32", "sizes": [2, 3], "strides": [],
                                            "bytes": 24, "tensor": x})

    def test_violations_name_the_file_behind_a_resident_input(self):
        x = f"tensor:{self.create(self.file)}"
        done = self.fail_with(CALL_FAILED, f"payloads[0] ({self.file})", "run",
                              "ELEMENT_WISE_MODULUS_TRUNCATE", "--input", x, "--input", self.file,
                              "--strides", "-", "--strides", "9,9", *self.name)
        self.assertNotIn(f"payloads[0] ({x})", done.stderr)

    def test_shared_memory(self):
        for options in ([], ["--output-strides", "4,1"]):
            self.assert_same(self.run_round("--input", self.file, "--shared-memory", *options),
                             round_half_away(self.x))
        output = self.folder / "z.npy"
        handle = self.create(self.file)
        self.succeed("run", "ELEMENT_WISE_IS_INFINITY", "--attr", "InfinityMode=EITHER", "--input",
                     f"tensor:{handle}", "--shared-memory", "--output", output, *self.name)
        self.assert_same(np.load(output), np.zeros((2, 3), np.uint8))
        self.succeed("run", *ROUND_AWAY, "--input", self.file, "--shared-memory", "--output",
                     f"tensor:{handle}", *self.name)
        self.assert_same(self.read(handle), round_half_away(self.x))

    def test_shared_memory_where_there_is_none(self):
        with ServerProcess(cli_fixture.program().parent / "opserve-server", self.folder,
                           ["--devices", "none", "--regions", "off"]) as server:
            self.fail_with(CALL_FAILED, "memory", "run", *ROUND_AWAY, "--input", self.file,
                           "--shared-memory", "--address", server.address)

    def test_a_stream(self):
        self.assert_same(self.run_round("--input", self.file, "--stream"), round_half_away(self.x))
        x = f"tensor:{self.create(self.file)}"
        self.assert_same(self.run_round("--input", x, "--stream"), round_half_away(self.x))
        self.fail_with(CALL_FAILED, "attributes[0].value", "run", "ELEMENT_WISE_ROUND", "--attr",
                       "RoundingMode=UP", "--input", self.file, "--stream")

    def test_ways_that_do_not_go_together(self):
        for options in (["--shared-memory"], ["--output", "tensor:x"]):
            self.fail_with(USAGE, "--stream", "run", *ROUND_AWAY, "--input", self.file, "--stream",
                           *options)


class SeveralHostsTest(TensorCase):
    """A handle tells its host, so commands about a tensor go there of their own accord."""

    def setUp(self):
        super().setUp()
        self.hosts = []
        for name in ("a", "b"):
            folder = self.folder / name
            folder.mkdir()
            address = f"unix:{folder}/socket"
            self.enterContext(ServerProcess(
                cli_fixture.program().parent / "opserve-server", folder,
                ["--devices", "none", "--advertise", address], listen=(address,)))
            self.hosts.append(address)
        self.name += ["--address", ",".join(self.hosts)]
        self.x = self.random.normal(0, 9, (2, 3)).astype(np.float32)
        self.file = self.save("x.npy", self.x)

    def test_a_tensor_is_found_where_it_is(self):
        for host in self.hosts:
            x = self.succeed("tensor", "create", self.file, *self.name, "--address", host).strip()
            self.assertTrue(x.endswith(f"@{host}"), x)
            self.assert_same(self.read(x), self.x)
            self.succeed("tensor", "write", x, self.save("one.npy", np.float32([7])), *self.name)
            self.assertEqual(self.read(x)[0, 0], 7)
            self.assertIn("30m", self.succeed("tensor", "renew", x, "--lease", "30m", *self.name))

            output = self.folder / "y.npy"
            for options in (["--sizes", "3,2"], ["--shared-memory"],
                            ["--sizes", "3,2", "--shared-memory"]):
                self.succeed("run", *ROUND_AWAY, "--input", f"tensor:{x}", "--output", output,
                             *options, *self.name)
            self.assert_same(np.load(output), round_half_away(self.read(x)).reshape(3, 2))
            self.succeed("compare", *ROUND_AWAY, "--input", f"tensor:{x}", "--sizes", "3,2",
                         "--actual", output, *self.name)
            self.succeed("run", *ROUND_AWAY, "--input", self.file, "--shared-memory", "--output",
                         f"tensor:{x}", *self.name)
            self.assert_same(self.read(x), round_half_away(self.x))
            self.succeed("tensor", "delete", x, *self.name)

    def test_a_host_that_is_not_listed_is_named_with_what_to_do(self):
        a, b = self.hosts
        for handle, words in ((f"{UNKNOWN}@unix:/elsewhere", "is at unix:/elsewhere, which"),
                              (UNKNOWN, "its handle does not tell which")):
            for verb in (["tensor", "read", handle], ["tensor", "write", handle, self.file],
                         ["run", *ROUND_AWAY, "--input", f"tensor:{handle}", "--sizes", "6"]):
                done = self.fail_with(CALL_FAILED, words, *verb, "--json", *self.name)
                self.assertEqual(done.stderr.splitlines()[-1],
                                 f"  the target is {a}, {b}: name one with --address")
                error = json.loads(done.stdout)["error"]
                self.assertEqual(error["reason"], "ONE_HOST_NEEDED")
                self.assertIn("--address", error["message"])


if __name__ == "__main__":
    cli_fixture.main(__doc__)
