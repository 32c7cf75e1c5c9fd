#!/usr/bin/python3
"""Runs the real `opserve` with standard input and output as files, with full disks, and with large integers."""

import io
import json
import os
import shlex
import subprocess
import xml.etree.ElementTree

import numpy as np

import cli_fixture
from cli_fixture import (CALL_FAILED, CALL_LIMIT_S, FILE_ERROR, ROUND_AWAY, SUCCESS, UNREACHABLE,
                         USAGE, CliCase, environment, opserve, round_half_away)


def npy(tensor):
    """The bytes of a .npy file."""
    file = io.BytesIO()
    np.save(file, tensor)
    return file.getvalue()


def piped(*arguments, stdin=b""):
    """Runs `opserve` with bytes as its standard input."""
    return subprocess.run([cli_fixture.program(), *map(str, arguments)], input=stdin, check=False,
                          capture_output=True, timeout=CALL_LIMIT_S, env=environment())


def onto_full_disk(*arguments):
    """Runs `opserve` with a standard output that takes nothing."""
    with open("/dev/full", "wb") as full:
        return subprocess.run([cli_fixture.program(), *map(str, arguments)], stdin=subprocess.DEVNULL,
                              stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=CALL_LIMIT_S, env=environment())


class StandardStreams(CliCase):

    def test_run_reads_and_writes_them(self):
        x = self.random.normal(0, 9, (30, 40)).astype(np.float32)
        for options in ([], ["--shared-memory"], ["--stream"]):
            done = piped("run", *ROUND_AWAY, "--input", "-", "--output", "-", *options, stdin=npy(x))
            self.assertEqual(done.returncode, SUCCESS, done.stderr)
            self.assert_same(np.load(io.BytesIO(done.stdout)), round_half_away(x))
            self.assertEqual(done.stderr, b"")

    def test_the_output_of_one_is_the_input_of_the_next(self):
        x = np.array([-1.5, 0.25, 2.5], np.float32)
        rounded = piped("run", *ROUND_AWAY, "--input", "-", "--output", "-", stdin=npy(x)).stdout
        rest = piped("run", "ELEMENT_WISE_SUBTRACT", "--input", self.save("x.npy", x), "--input", "-",
                     "--output", "-", stdin=rounded)
        self.assert_same(np.load(io.BytesIO(rest.stdout)), x - round_half_away(x))

    def test_pack_writes_what_it_would_write_to_a_file(self):
        x = np.array([1.5], np.float32)
        request = self.folder / "request.bin"
        self.assertEqual(piped("pack", *ROUND_AWAY, "--input", "-", "--output", request,
                               stdin=npy(x)).returncode, SUCCESS)
        packed = piped("pack", *ROUND_AWAY, "--input", "-", "--output", "-", stdin=npy(x))
        self.assertEqual(packed.stdout, request.read_bytes())

    def test_compare_and_tensor_read_them(self):
        x = np.array([1.5, 2], np.float32)
        same = piped("compare", *ROUND_AWAY, "--input", self.save("x.npy", x), "--actual", "-",
                     stdin=npy(round_half_away(x)))
        self.assertEqual(same.returncode, SUCCESS, same.stderr)
        handle = piped("tensor", "create", "-", stdin=npy(x)).stdout.decode().strip()
        done = piped("tensor", "write", handle, "-", "--offset", 1, stdin=npy(x[:1]))
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        read = piped("tensor", "read", handle, "--output", "-")
        self.assert_same(np.load(io.BytesIO(read.stdout)), x[[0, 0]])
        self.succeed("tensor", "delete", handle)

    def test_compare_writes_its_xml_there_and_nothing_else(self):
        x = np.array([1.5, 2], np.float32)
        printed = self.succeed("compare", *ROUND_AWAY, "--input", self.save("x.npy", x), "--actual",
                               self.save("y.npy", round_half_away(x)), "--junit", "-")
        self.assertEqual(xml.etree.ElementTree.fromstring(printed).tag, "testsuites")

    def test_steps_of_a_sequence_read_and_write_them(self):
        x = np.array([1.5, -2.5], np.float32)
        step = {"operator": "ELEMENT_WISE_ROUND", "attributes": {"RoundingMode": "TOWARD_INFINITY"},
                "inputs": ["-"], "output": "-"}
        done = piped("sequence", "--step", json.dumps(step), stdin=npy(x))
        self.assertEqual(done.returncode, SUCCESS, done.stderr)
        self.assert_same(np.load(io.BytesIO(done.stdout)), round_half_away(x))
        words = "both write to standard output"
        self.fail_with(FILE_ERROR, words, "sequence", "--step", json.dumps(step), "--json")
        words = "can be the output of one step only"
        self.fail_with(FILE_ERROR, words, "sequence", "--step", json.dumps(step), "--step", json.dumps(step))
        words = "is the document already"
        self.fail_with(FILE_ERROR, words, "sequence", "-", stdin=json.dumps({"steps": [step]}))

    def test_an_input_that_cannot_be_read(self):
        # What is closed may be something else of the program, for which the system has another reason.
        for redirection, why in (("< .", "Is a directory\n"), ("<&-", "")):
            for arguments in (["run", *ROUND_AWAY, "--input", "-"], ["sequence", "-"]):
                command = shlex.join([str(cli_fixture.program()), *arguments])
                done = subprocess.run(["/bin/sh", "-c", f"{command} {redirection}"], check=False, cwd=self.folder,
                                      capture_output=True, text=True, timeout=CALL_LIMIT_S, env=environment())
                self.assertEqual(done.returncode, FILE_ERROR, done)
                self.assertIn(f"opserve: cannot read standard input: {why}", done.stderr)

    def test_what_cannot_be(self):
        x = self.save("x.npy", np.zeros(2, np.float32))
        self.fail_with(USAGE, "can be read only once", "run", "ELEMENT_WISE_ADD", "--input", "-",
                       "--input", "-")
        self.fail_with(USAGE, "can be read only once", "compare", *ROUND_AWAY, "--input", "-",
                       "--actual", "-")
        self.fail_with(USAGE, "both write to standard output", "run", *ROUND_AWAY, "--input", x,
                       "--output", "-", "--json")
        self.fail_with(FILE_ERROR, "standard input: not a .npy file", "run", *ROUND_AWAY, "--input",
                       "-", stdin="text")


class NamesThatAreNoUtf8(CliCase):

    def test_json_shows_them_as_well_as_it_can(self):
        x = self.save("x.npy", np.zeros(2, np.float32))
        name = self.folder / os.fsdecode(b"\xff.npy")
        shown = str(self.folder / "\ufffd.npy")
        report = json.loads(self.succeed("run", *ROUND_AWAY, "--input", x, "--output", name, "--json"))
        self.assertEqual(report["output"]["file"], shown)
        handle = self.succeed("tensor", "create", name).strip()
        read = json.loads(self.succeed("tensor", "read", handle, "--output", name, "--json"))
        self.assertEqual(read["file"], shown)
        self.succeed("tensor", "delete", handle)
        folder = self.folder / os.fsdecode(b"\xfe")
        folder.mkdir()
        written = self.succeed("inputs", "ELEMENT_WISE_EXP", "--hard", "--output", folder, "--json")
        self.assertIn("/\ufffd/ELEMENT_WISE_EXP.", written)


class FullDisks(CliCase):

    def test_a_file_on_one(self):
        x = self.save("x.npy", np.zeros(2, np.float32))
        for arguments in (["run", *ROUND_AWAY, "--input", x, "--output", "/dev/full"],
                          ["pack", *ROUND_AWAY, "--input", x, "--output", "/dev/full"],
                          ["compare", *ROUND_AWAY, "--input", x, "--actual", x, "--junit", "/dev/full"]):
            self.fail_with(FILE_ERROR, "cannot write /dev/full: No space left on device", *arguments)

    def test_standard_output_on_one(self):
        x = self.save("x.npy", np.zeros(2, np.float32))
        for arguments in (["--help"], ["info"], ["devices", "--json"], ["inputs", "--type", "FLOAT32"],
                          ["run", *ROUND_AWAY, "--input", x],
                          ["run", *ROUND_AWAY, "--input", x, "--output", "-"]):
            done = onto_full_disk(*arguments)
            self.assertEqual(done.returncode, FILE_ERROR, arguments)
            self.assertEqual(done.stderr,
                             "opserve: cannot write standard output: No space left on device\n")

    def test_what_failed_before_is_told_first(self):
        done = onto_full_disk("info", "--address", f"unix:{self.folder}/nobody", "--json")
        self.assertEqual(done.returncode, UNREACHABLE)
        self.assertIn("there is no such socket file", done.stderr)


class LargeIntegers(CliCase):

    def test_programs_that_read_all_numbers_as_float64_lose_nothing(self):
        for kind, values in ((np.uint64, [0, 2**53, 2**53 + 1, 2**64 - 1]),
                             (np.int64, [-2**53, -2**53 - 1, 2**53 + 1, -2**63])):
            x = self.save("x.npy", np.array(values, kind))
            printed = self.succeed("run", "ELEMENT_WISE_IDENTITY", "--input", x, "--json")
            # As jq does.
            report = json.loads(printed, parse_int=float)
            self.assertEqual([int(value) for value in report["output"]["first_values"]], values)


class Limits(CliCase):

    def test_bench_asks_before_it_takes_memory(self):
        done = self.fail_with(CALL_FAILED, "so --shape must be smaller", "bench", "--shape", "99999x99999")
        self.assertIn("this server takes 268435456 (see `opserve info`)", done.stderr)
        self.fail_with(CALL_FAILED, "64 bits", "bench", "--shape", "4294967295x4294967295x9")

    def test_the_largest_tensor_fits_into_a_message(self):
        limits = json.loads(self.succeed("info", "--json"))["limits"]
        self.assertEqual(limits["max_tensor_bytes"], 8192 * 4096 * 8)
        for way in ("--messages", "--stream"):
            self.succeed("bench", "ELEMENT_WISE_IDENTITY", "--type", "FLOAT64", "--shape", "8192x4096",
                         way, "--concurrency", 1, "--duration", "1ms")

    def test_a_bad_address_is_a_wrong_command_line(self):
        for address in ("host", "http://host:1", ":1"):
            self.fail_with(USAGE, "see --address", "info", "--address", address)

    def test_tables_fit_a_terminal(self):
        for arguments in (["devices"], ["info"], ["operators"], ["operators", "ELEMENT_WISE_ROUND"],
                          ["operators", "ELEMENT_WISE_QUANTIZED_LINEAR_ADD"], ["leases"],
                          ["bench", "--duration", "50ms", "--shape", "8"]):
            for line in self.succeed(*arguments).splitlines():
                self.assertLessEqual(len(line), 80, line)


if __name__ == "__main__":
    cli_fixture.main(__doc__)
