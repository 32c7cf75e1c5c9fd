#!/usr/bin/python3
"""Runs `opserve inputs`, and the commands that it proposes."""

import json
import re
import shlex

import numpy as np

import cli_fixture
from cli_fixture import FILE_ERROR, SUCCESS, USAGE, CliCase, bits, opserve

DIFFERENT = 8
NOBODY = {"OPSERVE_ADDRESS": "unix:/nowhere/nobody"}


class InputsCase(CliCase):

    def write(self, name, *options):
        """The arrays that are written for an operator, by type."""
        self.succeed("inputs", name, "--hard", "--output", self.folder, *options, **NOBODY)
        files = self.folder.glob(f"{name}.*.npy")
        return {file.name.split(".")[1]: np.load(file) for file in files}


class ListTest(InputsCase):

    def test_every_function_of_one_input_is_listed(self):
        listed = json.loads(self.succeed("inputs", "--json", **NOBODY))["inputs"]
        self.assertEqual({entry["type"] for entry in listed}, {"FLOAT32", "FLOAT16"})
        names = {entry["operator"] for entry in listed}
        catalogue = json.loads(self.succeed("operators", "--search", "elementary functions", "--json"))
        unary = {op["name"] for op in catalogue["operators"] if len(op["inputs"]) == 1}
        self.assertEqual(unary - names, set())
        self.assertEqual(len(unary), 16)
        elu, = (entry for entry in listed
                if (entry["operator"], entry["type"]) == ("ACTIVATION_ELU", "FLOAT32"))
        self.assertEqual(elu["attributes"], {"Alpha": 1})
        self.assertGreater(elu["hard"], 40)

    def test_the_table_of_one_type(self):
        table = self.succeed("inputs", "--type", "float16", **NOBODY)
        self.assertRegex(table, r"(?m)^ELEMENT_WISE_EXP +FLOAT16 +\d+")
        self.assertRegex(table, r"(?m)^ACTIVATION_SWISH .* --attr SigmoidInputScale=1$")
        self.assertNotIn("FLOAT32", table)


class FilesTest(InputsCase):

    def test_a_file_per_type_with_traps_and_special_values(self):
        arrays = self.write("ACTIVATION_SIGMOID")
        self.assertEqual({name: x.dtype for name, x in arrays.items()},
                         {"FLOAT32": np.float32, "FLOAT16": np.float16})
        for x in arrays.values():
            self.assertEqual(x.ndim, 1)
            self.assertEqual(len(np.unique(bits(x))), x.size)
            for special in (np.inf, -np.inf, 0, np.finfo(x.dtype).max, np.finfo(x.dtype).smallest_subnormal):
                self.assertIn(special, x)
            self.assertTrue(np.isnan(x).any())
        self.assertIn(np.float32(3 * 2.0 ** -23), arrays["FLOAT32"])

    def test_what_is_printed_is_what_is_written(self):
        printed = self.succeed("inputs", "ELEMENT_WISE_TAN", "--hard", "--output", self.folder, "--json")
        answer = json.loads(printed)
        self.assertEqual((answer["operator"], answer["attributes"]), ("ELEMENT_WISE_TAN", {}))
        for entry in answer["files"]:
            self.assertEqual(np.load(entry["file"]).size, entry["hard"] + entry["special"])
        self.assertEqual([entry["type"] for entry in answer["files"]], ["FLOAT32", "FLOAT16"])

    def test_one_type_alone(self):
        self.assertEqual(set(self.write("ELEMENT_WISE_LOG", "--type", "FLOAT16")), {"FLOAT16"})

    def test_the_proposed_command_accepts_the_right_result_and_no_other(self):
        printed = self.succeed("inputs", "ACTIVATION_SCALED_ELU", "--hard", "--output", self.folder)
        _, *compare = shlex.split(re.search(r"^  (opserve compare .*)$", printed, re.MULTILINE)[1])
        right = self.folder / "right.npy"
        self.succeed("run", *compare[1:-2], "--output", right)
        compare[-1] = right
        self.assertEqual(opserve(*compare).returncode, SUCCESS)
        # The usual attributes, to the last bit.
        alpha, gamma = np.float32(1.67326319217681884765625), np.float32(1.05070102214813232421875)
        self.assertEqual({np.float32(text.partition("=")[2]) for text in compare if "=" in str(text)},
                         {alpha, gamma})
        x = np.load(compare[compare.index("--input") + 1])
        with np.errstate(all="ignore"):
            careless = gamma * np.where(x >= 0, x, alpha * (np.exp(x) - np.float32(1)))
        compare[-1] = self.save("careless.npy", careless)
        self.assertEqual(opserve(*compare).returncode, DIFFERENT)


class RefusalTest(InputsCase):

    def test_wrong_command_lines(self):
        for words, *arguments in (("no hard inputs for ELEMENT_WISE_ADD", "ELEMENT_WISE_ADD", "--hard"),
                                  ("'FLOAT64' is none of: float32, float16", "ELEMENT_WISE_EXP",
                                   "--hard", "--type", "FLOAT64"),
                                  ("'INT8' is none of: float32, float16", "--type", "INT8"),
                                  ("--output names no folder", "ELEMENT_WISE_EXP", "--hard", "--output", ""),
                                  ("needs the kind of inputs to write: --hard", "ELEMENT_WISE_EXP"),
                                  ("--hard needs an operator", "--hard"),
                                  ("'float' is none of", "ELEMENT_WISE_EXP", "--hard", "--type", "float")):
            self.fail_with(USAGE, words, "inputs", *arguments, **NOBODY)

    def test_programs_are_told_as_well(self):
        done = self.fail_with(USAGE, "no hard inputs for ELEMENT_WISE_ADD", "inputs", "ELEMENT_WISE_ADD", "--hard",
                              "--json", **NOBODY)
        self.assertEqual(json.loads(done.stdout)["error"],
                         {"code": "NOT_FOUND", "message": done.stderr.removeprefix("opserve: ").rstrip("\n")})

    def test_a_folder_that_is_not_there(self):
        self.fail_with(FILE_ERROR, f"cannot create {self.folder}/none/ELEMENT_WISE_EXP.FLOAT32.npy",
                       "inputs", "ELEMENT_WISE_EXP", "--hard", "--output", self.folder / "none", **NOBODY)


if __name__ == "__main__":
    cli_fixture.main(__doc__)
