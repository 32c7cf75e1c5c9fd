#!/usr/bin/python3
"""Runs `opserve compare` against a real server: text, JSON, JUnit's XML, exit codes, what is refused."""

import json
import re
import xml.etree.ElementTree

import numpy as np

import cli_fixture
from cli_fixture import (CALL_FAILED, FILE_ERROR, ROUND_AWAY, SUCCESS, TEST_FAILED, UNREACHABLE, USAGE,
                         CliCase, on_terminal, opserve, round_half_away)

DIFFERENT = 8
COMPARE = ["compare", *ROUND_AWAY]
WHERE = ["compare", "ELEMENT_WISE_IF"]


class CompareCase(CliCase):
    """A call and its right result, in files."""

    def setUp(self):
        super().setUp()
        self.x = np.array([[0.5, 1.5, -2.5], [np.nan, np.inf, 7]], np.float32)
        self.right = round_half_away(self.x)
        self.call = [*COMPARE, "--input", self.save("x.npy", self.x)]

    def actual(self, name="z.npy", **elements):
        """Arguments for the right result but for elements, such as at_1_2=np.float32(8)."""
        changed = self.right.copy()
        for place, value in elements.items():
            changed[tuple(map(int, place.split("_")[1:]))] = value
        return ["--actual", self.save(name, changed)]

    def next_after(self, row, column, steps=1):
        """The right element, some ulp farther from zero."""
        there = self.right[row, column].view(np.uint32) + np.uint32(steps)
        return there.view(np.float32)

    def report(self, *arguments, code=SUCCESS):
        done = opserve(*self.call, *arguments, "--json")
        self.assertEqual(done.returncode, code, done)
        return json.loads(done.stdout)

    def junit(self, *arguments):
        """The only suite of the XML, which Python's parser accepts, and its test cases."""
        file = self.folder / "report.xml"
        done = opserve(*self.call, *arguments, "--junit", file)
        root = xml.etree.ElementTree.parse(file).getroot()
        self.assertEqual(root.tag, "testsuites")
        suite, = root
        self.assertEqual(suite.tag, "testsuite")
        self.assertEqual(int(suite.get("tests")), len(suite))
        return done, suite, list(suite)


class CompareTest(CompareCase):

    def test_equal_results(self):
        printed = self.succeed(*self.call, *self.actual())
        self.assertRegex(printed, r"^ELEMENT_WISE_ROUND ran for .*\ndevice: cpu/")
        self.assertIn("FLOAT32 {2, 3}, 24 B\ntolerance: 0 ulp\n", printed)
        self.assertRegex(printed, r"(?m)^\S*z\.npy +0 +0 +0 +PASS$")
        self.assertNotIn("ELEMENTS", printed)
        report = self.report(*self.actual())
        self.assertTrue(report["passed"])
        result, = report["results"]
        self.assertEqual((result["verdict"], result["elements"], result["different"], result["worst"],
                          result["largest_ulp_index"]), ("PASS", 6, 0, [], None))
        self.assertTrue(report["expected"]["device"].startswith("cpu/"))
        self.assertEqual(report["expected"]["output"]["sizes"], [2, 3])

    def test_what_differs_is_shown_within_80_columns(self):
        wrong = self.actual(at_0_1=self.next_after(0, 1, 3), at_1_0=np.float32(1))
        done = opserve(*self.call, *wrong)
        self.assertEqual((done.returncode, done.stderr), (DIFFERENT, ""))
        lines = done.stdout.splitlines()
        self.assertLessEqual(max(map(len, lines[2:])), 80)
        self.assertIn("2 of 6 elements differ, 2 beyond the tolerance", lines)
        self.assertIn("1 disagree in NaN", lines)
        self.assertRegex(done.stdout, r"(?m)^0 +4 +#{20}$\n^3 to 4 +1 +#{5}$")
        self.assertRegex(done.stdout, r"(?m)^\{0, 1\} +expected +0x40000000 +2$\n"
                                      r"^  3 ulp +actual +0x40000003 +2\.0000007$\n"
                                      r"^ +input 0 +0x3fc00000 +1\.5$")
        self.assertNotIn("\033", done.stdout)

    def test_colours_are_for_terminals_only(self):
        wrong = self.actual(at_0_1=np.float32(9))
        code, printed = on_terminal(*self.call, *wrong)
        self.assertEqual(code, DIFFERENT)
        self.assertIn("\033[31mFAIL\033[0m", printed)
        self.assertIn("\033[32mPASS\033[0m", on_terminal(*self.call, *self.actual())[1])

    def test_report_for_programs(self):
        wrong = self.actual(at_0_1=self.next_after(0, 1, 3), at_1_1=np.float32(-np.inf))
        report = self.report(*wrong, "--max-ulp", 3, code=DIFFERENT)
        self.assertEqual(report["tolerance"], {"ulp": 3, "absolute": 0})
        self.assertFalse(report["passed"])
        result, = report["results"]
        self.assertEqual(result["result"], str(self.folder / "z.npy"))
        self.assertEqual((result["verdict"], result["different"], result["beyond_tolerance"],
                          result["first_different"], result["infinity_disagreements"],
                          result["sign_disagreements"]), ("FAIL", 2, 1, 1, 1, 1))
        self.assertEqual((result["largest_ulp"], result["largest_ulp_index"]), (2 * 0x7f800000, 4))
        self.assertEqual(result["ulp_histogram"][1], {"least": 3, "most": 4, "elements": 1})
        worst, second = result["worst"]
        self.assertEqual(worst["expected"], {"value": "Infinity", "bits": "0x7f800000"})
        self.assertEqual(worst["actual"], {"value": "-Infinity", "bits": "0xff800000"})
        self.assertEqual((second["coordinates"], second["beyond_tolerance"]), ([0, 1], False))
        self.assertEqual(second["inputs"], [{"value": 1.5, "bits": "0x3fc00000"}])

    def test_tolerances(self):
        near = self.actual(at_0_1=self.next_after(0, 1, 3))
        for options, code in ((["--max-ulp", 2], DIFFERENT), (["--max-ulp", 3], SUCCESS),
                              (["--max-absolute", 7e-7], DIFFERENT), (["--max-absolute", 1e-6], SUCCESS),
                              (["--max-ulp", 2**64 - 1], SUCCESS)):
            self.assertEqual(opserve(*self.call, *near, *options).returncode, code, options)
        nan = self.actual(at_1_0=np.uint32(0xffc00001).view(np.float32))
        self.assertEqual(opserve(*self.call, *nan).returncode, SUCCESS)
        self.assertEqual(opserve(*self.call, *nan, "--same-nans").returncode, DIFFERENT)
        call = [*COMPARE, "--input", self.save("zero.npy", np.zeros(3, np.float32)),
                "--actual", self.save("minus.npy", -np.zeros(3, np.float32))]
        self.assertEqual(opserve(*call).returncode, SUCCESS)
        done = opserve(*call, "--signed-zeros")
        self.assertEqual(done.returncode, DIFFERENT)
        self.assertIn("sign of zero", done.stdout)

    def test_large_tolerances_are_exact_for_programs(self):
        for most, shown in ((2**53, 2**53), (2**64 - 1, str(2**64 - 1))):
            self.assertEqual(self.report(*self.actual(), "--max-ulp", most)["tolerance"]["ulp"], shown)

    def test_how_many_of_the_worst_are_listed(self):
        self.right = np.full((2, 3), 100, np.float32)
        for most in (0, 2, 6):
            result, = self.report(*self.actual(), "--worst", most, code=DIFFERENT)["results"]
            self.assertEqual(len(result["worst"]), most)

    def test_large_and_wide_tensors_stay_within_80_columns(self):
        shape = (1, 1, 1, 1, 1, 1000, 1000, 2)
        a = np.full(shape, np.iinfo(np.int64).min)
        b = np.full(shape, np.iinfo(np.int64).max)
        condition = self.save("condition.npy", np.ones(shape, np.uint8))
        done = opserve(*WHERE, "--input", condition, "--input", self.save("a.npy", a), "--input",
                       self.save("b.npy", b), "--actual", self.save("actual.npy", b))
        self.assertEqual(done.returncode, DIFFERENT, done.stderr)
        self.assertLessEqual(max(map(len, done.stdout.splitlines()[2:])), 80)
        self.assertIn("1.84e+19 ulp", done.stdout)
        result, = json.loads(opserve(*WHERE, "--input", condition, "--input", self.folder / "a.npy",
                                     "--input", self.folder / "b.npy", "--actual",
                                     self.folder / "actual.npy", "--json").stdout)["results"]
        self.assertEqual(result["largest_ulp"], str(2**64 - 1))
        self.assertEqual(result["worst"][0]["actual"]["value"], str(2**63 - 1))

    def test_several_results_have_a_row_each(self):
        results = [*self.actual("phone.npy"), *self.actual("laptop.npy", at_0_0=np.float32(3))]
        done = opserve(*self.call, *results)
        self.assertEqual(done.returncode, DIFFERENT)
        self.assertRegex(done.stdout, r"(?m)phone\.npy +0 +0 +0 +PASS$\n^\S*laptop\.npy .* FAIL$")
        self.assertEqual([result["verdict"] for result in
                          self.report(*results, code=DIFFERENT)["results"]], ["PASS", "FAIL"])

    def test_layouts_of_files_may_differ(self):
        self.save("z.npy", np.asfortranarray(self.right))
        self.succeed(*self.call, "--actual", self.folder / "z.npy")

    def test_a_resident_tensor_may_be_an_input(self):
        handle = self.succeed("tensor", "create", self.folder / "x.npy").strip()
        done = opserve(*COMPARE, "--input", f"tensor:{handle}", *self.actual(at_0_0=np.float32(2)), "--json")
        self.assertEqual(done.returncode, DIFFERENT, done)
        result, = json.loads(done.stdout)["results"]
        self.assertEqual(result["worst"][0]["inputs"], [None])


class ProfileTest(CompareCase):

    def compare_where(self, kind, *options):
        a, b = np.arange(4).astype(kind), np.zeros(4, kind)
        condition = self.save("condition.npy", np.ones(4, np.uint8))
        return opserve(*WHERE, "--input", condition, "--input", self.save("a.npy", a), "--input",
                       self.save("b.npy", b), "--actual", self.folder / "a.npy", *options)

    def test_an_operator_of_the_profile(self):
        for kind in (np.float32, np.float16):
            self.assertEqual(self.compare_where(kind, "--profile", "webnn").returncode, SUCCESS)

    def test_what_has_no_tolerance_is_refused(self):
        done = opserve(*self.call, *self.actual(), "--profile", "webnn")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("--profile webnn has no tolerance for ELEMENT_WISE_ROUND; give one with --max-ulp",
                      done.stderr)
        done = self.compare_where(np.float64, "--profile", "webnn")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("no tolerance for ELEMENT_WISE_IF with results of FLOAT64", done.stderr)

    def test_programs_are_told_as_well(self):
        done = self.compare_where(np.float64, "--profile", "webnn", "--json")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("no tolerance for ELEMENT_WISE_IF", json.loads(done.stdout)["error"]["message"])

    def test_an_unknown_profile_is_refused(self):
        done = opserve(*self.call, *self.actual(), "--profile", "onnx")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("'onnx' is none of: none, webnn", done.stderr)


class JunitTest(CompareCase):

    def test_a_test_case_per_result(self):
        wrong = self.actual("laptop.npy", at_0_1=self.next_after(0, 1))
        done, suite, cases = self.junit(*self.actual("phone.npy"), *wrong)
        self.assertEqual(done.returncode, DIFFERENT)
        self.assertEqual({name: suite.get(name) for name in ("name", "failures", "errors", "skipped")},
                         {"name": "ELEMENT_WISE_ROUND", "failures": "1", "errors": "0", "skipped": "0"})
        phone, laptop = cases
        self.assertRegex(phone.get("name"), r"phone\.npy against cpu/\S+$")
        self.assertEqual(list(phone), [])
        failure, = laptop
        self.assertEqual(failure.tag, "failure")
        self.assertEqual(failure.get("message"),
                         "1 of 6 elements differ, 1 by more than 0 ulp; the worst, at {0, 1}: 1 ulp")
        self.assertRegex(failure.text, r"(?m)^  1 ulp +actual +0x40000001 +2\.0000002$")
        self.assertGreaterEqual(float(laptop.get("time")), 0)

    def test_any_file_name_makes_valid_xml(self):
        for name in ("a<b>&\"c'.npy", "tab\tbell\a.npy", "ä\u20ac.npy"):
            with self.subTest(name=name):
                _, _, cases = self.junit(*self.actual(name))
                self.assertEqual(len(cases), 1)
        self.assertIn("ä\u20ac.npy", cases[0].get("name"))

    def test_a_file_that_cannot_be_written(self):
        self.fail_with(FILE_ERROR, "cannot create /nowhere/report.xml", *self.call, *self.actual(),
                       "--junit", "/nowhere/report.xml")


class RefusalTest(CompareCase):

    def test_files_that_are_at_fault(self):
        self.fail_with(FILE_ERROR, f"cannot open {self.folder}/none.npy", *self.call, "--actual",
                       self.folder / "none.npy")
        for tensor, words in ((self.right.reshape(3, 2), "the actual tensor is FLOAT32 {3, 2}"),
                              (self.right.astype(np.float16), "the actual tensor is FLOAT16 {2, 3}")):
            file = self.save("other.npy", tensor)
            done = self.fail_with(FILE_ERROR, words, *self.call, "--actual", file, "--json")
            self.assertIn(f"{file}: ", done.stderr)
            self.assertEqual(json.loads(done.stdout)["error"]["code"], "INVALID_ARGUMENT")

    def test_wrong_command_lines(self):
        z = self.actual()
        for options, words in (([], "--actual FILE, or --devices all"),
                               ([*z, "--max-ulp", "-1"], "'-1' is no whole number"),
                               ([*z, "--max-ulp", "1.5"], "'1.5' is no whole number"),
                               ([*z, "--max-absolute", "nan"], "'nan' is no number from 0 on"),
                               ([*z, "--worst", "-1"], "'-1' is no number from 0 to 10000"),
                               (["--actual", "tensor:abc"], "--actual must be a file"),
                               ([*z, "--profile", "webnn", "--max-ulp", 1], "leave out --max-ulp"),
                               ([*z, "--junit", "-", "--json"], "both write to standard output"),
                               (["--devices", "all", "--device", "gpu"], "leave out --device"),
                               (["--devices", "all", "--verify"], "--verify")):
            self.fail_with(USAGE, words, *self.call, *options)

    def test_calls_that_fail(self):
        self.fail_with(CALL_FAILED, "RoundingMode", "compare", "ELEMENT_WISE_ROUND", "--input",
                       self.folder / "x.npy", *self.actual())
        self.fail_with(UNREACHABLE, "no connection", *self.call, *self.actual(), "--address",
                       f"unix:{self.folder}/nobody")

    def test_a_server_without_gpus(self):
        self.fail_with(TEST_FAILED, "nothing was compared: the server has no GPU", *self.call, "--devices",
                       "all")
        self.assertEqual(opserve(*self.call, *self.actual(), "--devices", "all").returncode, SUCCESS)
        self.fail_with(CALL_FAILED, "the server has no GPU 'd3d12/0'; it has: none", *self.call, "--devices",
                       "d3d12/0")

    def test_help_has_examples_and_exit_codes(self):
        text = self.succeed("compare", "--help")
        self.assertGreaterEqual(len(re.findall(r"^  opserve compare ", text, re.MULTILINE)), 3)
        self.assertIn("8: it is not", text)
        self.assertRegex(text, r"--device auto\|gpu\|cpu +Where to run \[cpu\]")


if __name__ == "__main__":
    cli_fixture.main(__doc__)
