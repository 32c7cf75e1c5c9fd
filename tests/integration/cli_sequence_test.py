#!/usr/bin/python3
"""Runs `opserve sequence`: documents, inline steps, results, and errors that name the field."""

import json

import numpy as np

import cli_fixture
from cli_fixture import CALL_FAILED, FILE_ERROR, USAGE, CliCase, opserve

IS_INFINITY = {"operator": "ELEMENT_WISE_IS_INFINITY", "attributes": {"InfinityMode": "EITHER"}}
ROUND = {"operator": "ELEMENT_WISE_ROUND", "attributes": {"RoundingMode": "TOWARD_ZERO"}}


class SequenceTest(CliCase):

    def setUp(self):
        super().setUp()
        self.x = np.array([0.5, np.inf, -2.5], np.float32)
        self.file = str(self.save("x.npy", self.x))

    def steps(self, **last):
        """IF(IS_INFINITY(x), x, ROUND(x))."""
        return [{**IS_INFINITY, "inputs": [self.file]}, {**ROUND, "inputs": [self.file]},
                {"operator": "ELEMENT_WISE_IF", "inputs": ["step:0", self.file, "step:1"], **last}]

    def document(self, steps):
        path = self.folder / "sequence.json"
        path.write_text(json.dumps({"steps": steps}), encoding="utf-8")
        return path

    def expected(self):
        return np.where(np.isinf(self.x), self.x, np.trunc(self.x))

    def test_a_file_an_input_stream_and_inline_steps_do_the_same(self):
        output = str(self.folder / "y.npy")
        steps = self.steps(output=output)
        inline = [word for step in steps for word in ("--step", json.dumps(step))]
        for arguments, stdin in (([self.document(steps)], None),
                                 (["-"], json.dumps({"steps": steps})), (inline, None)):
            shown = self.succeed("sequence", *arguments, stdin=stdin)
            self.assertRegex(shown, "^3 steps ran for ")
            self.assertIn(f"written to {output}", shown)
            self.assert_same(np.load(output), self.expected())

    def test_without_an_output_the_last_result_is_shown(self):
        shown = self.succeed("sequence", self.document(self.steps()))
        self.assertEqual(shown.splitlines()[2:],
                         ["step 2, ELEMENT_WISE_IF: FLOAT32 {3}, 12 B", "[ 0. inf -2.]"])

    def test_report_for_programs(self):
        steps = self.steps()
        steps[1]["output"] = str(self.folder / "rounded.npy")
        report = json.loads(self.succeed("sequence", self.document(steps), "--json", "--device",
                                         "cpu", "--priority", "low"))
        self.assertEqual(report["steps"], 3)
        self.assertTrue(report["device"].startswith("cpu/"))
        self.assertEqual(report["outputs"], [
            {"step": 1, "data_type": "FLOAT32", "sizes": [3], "strides": [], "bytes": 12,
             "first_values": [0, "Infinity", -2], "file": steps[1]["output"]},
            {"step": 2, "data_type": "FLOAT32", "sizes": [3], "strides": [], "bytes": 12,
             "first_values": [0, "Infinity", -2]}])

    def test_a_stream(self):
        output = str(self.folder / "y.npy")
        steps = self.steps(output=output)
        shown = self.succeed("sequence", self.document(steps), "--stream")
        self.assertRegex(shown, "^3 steps ran for ")
        self.assert_same(np.load(output), self.expected())
        report = json.loads(self.succeed("sequence", self.document(steps), "--stream", "--json"))
        self.assertEqual([entry["step"] for entry in report["outputs"]], [2])
        steps[1]["output"] = str(self.folder / "rounded.npy")
        self.succeed("sequence", self.document(steps), "--stream")
        self.assert_same(np.load(steps[1]["output"]), np.trunc(self.x))
        self.assert_same(np.load(output), self.expected())

    def test_tensors_at_the_server(self):
        x = self.succeed("tensor", "create", self.file).strip()
        y = self.succeed("tensor", "create", "--shape", "3", "--type", "FLOAT32").strip()
        steps = [{**ROUND, "inputs": [f"tensor:{x}"], "output": f"tensor:{y}"}]
        report = json.loads(self.succeed("sequence", self.document(steps), "--json"))
        self.assertEqual(report["outputs"][0]["tensor"], y)
        output = self.folder / "y.npy"
        self.succeed("tensor", "read", y, "--output", output)
        self.assert_same(np.load(output), np.trunc(self.x))

    def test_other_sizes_and_strides(self):
        output = str(self.folder / "y.npy")
        rows = {"from": self.file, "sizes": [2, 3], "strides": [0, 1]}
        steps = [{**ROUND, "inputs": [rows], "output_strides": [4, 1]},
                 {**ROUND, "inputs": [{"from": "step:0", "sizes": [1, 2, 3], "strides": [8, 4, 1]}],
                  "output": output}]
        self.succeed("sequence", self.document(steps))
        self.assert_same(np.load(output), np.stack([np.trunc(self.x)] * 2)[None])

    def test_named_inputs_and_types_of_results(self):
        output = str(self.folder / "y.npy")
        scale = str(self.save("scale.npy", np.full(3, 2, np.float32)))
        steps = [{"operator": "ELEMENT_WISE_QUANTIZE_LINEAR", "output_type": "INT8",
                  "inputs": [{"from": scale, "name": "ScaleTensor"},
                             {"from": self.file, "name": "InputTensor"}]},
                 {"operator": "ELEMENT_WISE_DEQUANTIZE_LINEAR", "inputs": ["step:0", scale],
                  "output": output}]
        self.succeed("sequence", self.document(steps))
        whole = np.clip(np.rint(self.x / 2), -128, 127)
        self.assert_same(np.load(output), (whole * 2 + 0.0).astype(np.float32))

    def test_lists_and_large_integers_are_attributes(self):
        output = str(self.folder / "y.npy")
        words = np.array([5, 2**64 - 1], np.uint64)
        limits = {"MinMaxDataType": "UINT64", "Min": 2**64 - 2, "Max": 2**64 - 1}
        self.succeed("sequence", self.document([
            {"operator": "ELEMENT_WISE_CLIP1", "attributes": limits,
             "inputs": [str(self.save("words.npy", words))], "output": output}]))
        self.assert_same(np.load(output), np.maximum(words, np.uint64(2**64 - 2)))
        for axes, expected in (([0], [0, 1, 0]), ([], [1, 1, 1])):
            self.succeed("sequence", self.document([
                {"operator": "ACTIVATION_HARDMAX1", "attributes": {"Axes": axes},
                 "inputs": [self.file], "output": output}]))
            self.assert_same(np.load(output), np.array(expected, np.float32))

    def test_errors_name_the_field(self):
        step = {**ROUND, "inputs": [self.file]}
        cases = [
            ({**step, "inputs": ["step:1"]},
             "steps[1].inputs[0] is \"step:1\", not an earlier step: here only step:0"),
            ({**step, "inputs": ["step:x"]}, "steps[1].inputs[0] is \"step:x\""),
            ({**step, "inputs": [7]}, "steps[1].inputs[0] is 7, not \"FILE.npy\""),
            ({**step, "inputs": self.file}, "steps[1].inputs is "),
            ({**step, "inputs": [{"sizes": [2]}]}, "steps[1].inputs[0].from is missing"),
            ({**step, "inputs": [{"from": self.file, "sizes": [2, -1]}]},
             "steps[1].inputs[0].sizes[1] is -1, not an integer from 0 to 4294967295"),
            ({**step, "inputs": [{"from": self.file, "strides": [1]}]},
             "steps[1].inputs[0].strides needs sizes"),
            ({"inputs": [self.file]}, "steps[1].operator is missing"),
            ({**step, "operator": 3}, "steps[1].operator is 3, not the name of an operator"),
            ({**step, "atributes": {}}, "steps[1].atributes is unknown; allowed are operator, "),
            ({**step, "attributes": {"RoundingMode": [-1]}},
             "steps[1].attributes.RoundingMode is [-1], not the name of an enum value"),
            ({**step, "output": "step:0"}, "steps[1].output is \"step:0\", not \"FILE.npy\""),
            ({**step, "output_strides": []}, "steps[1].output_strides is []"),
            ({**step, "output_type": "INT9"}, "steps[1].output_type is \"INT9\", not the name of"),
            ({**step, "inputs": [{"from": self.file, "name": 3}]},
             "steps[1].inputs[0].name is 3, not the name of an input"),
            ("ROUND", "steps[1] is \"ROUND\", not an object"),
        ]
        for wrong, words in cases:
            document = self.document([step, wrong])
            self.fail_with(FILE_ERROR, f"{document}: {words}", "sequence", document)
            self.fail_with(USAGE, words, "sequence", "--step", json.dumps(step), "--step",
                           json.dumps(wrong))

    def test_documents_that_are_at_fault(self):
        for text, words in (("{", "standard input: no JSON: parse error at line 1, column 2"),
                            ('{"steps": [1e999]}', "standard input: no JSON: number overflow"),
                            ('{"steps": ' + "[" * 200_000 + "]" * 200_000 + "}", "nested more than 16 deep"),
                            ("[]", "the document is [], not an object"),
                            ("{}", "steps is missing"),
                            ('{"steps": []}', "steps is [], not a list with at least one step"),
                            ('{"steps": [], "step": 1}', "step is unknown; allowed are steps")):
            self.fail_with(FILE_ERROR, words, "sequence", "-", stdin=text)
        self.fail_with(FILE_ERROR, "cannot open /nowhere/s.json", "sequence", "/nowhere/s.json")
        missing = self.document([{**ROUND, "inputs": ["/nowhere/x.npy"]}])
        self.fail_with(FILE_ERROR, "cannot open /nowhere/x.npy", "sequence", missing)
        for arguments in ([], [missing, "--step", "{}"]):
            self.fail_with(USAGE, "needs either FILE or --step", "sequence", *arguments)

    def test_the_servers_violations_are_lines(self):
        steps = self.steps()
        steps[1]["attributes"] = {"RoundingMode": "UP"}
        done = opserve("sequence", self.document(steps), "--json")
        self.assertEqual(done.returncode, CALL_FAILED, done)
        self.assertIn("  - steps[1].attributes[0].value: ", done.stderr)
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "INVALID_ARGUMENT")


if __name__ == "__main__":
    cli_fixture.main(__doc__)
