#!/usr/bin/python3
"""Writes opserve/_operators.py, a method for each operator, from the catalogue of a server.

Starts the server of the checkout and asks it, by `opserve operators --json`, what ListOperators answers.
`make python-operators` calls it; a test holds the file to what it would write.
"""

import argparse
import json
import keyword
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from server_process import ServerProcess  # noqa: E402  pylint: disable=wrong-import-position

TARGET = ROOT / "client" / "python" / "opserve" / "_operators.py"

WIDTH = 100
HEADER = '''"""The operators as methods. Made from the catalogue by `make python-operators`; do not edit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar, Unpack

from opserve._core import Operation
from opserve._types import CallSettings, DataTypeName, Operand, Out

R_co = TypeVar("R_co", covariant=True)
'''
CLASS = '''
class Operators(Generic[R_co]):
    """A method for each operator. What it returns depends on whose methods they are.

    Every method takes `out=` and the keywords of `CallSettings`. Arrays are broadcast as NumPy does
    it; a Python number takes the type of the arrays that it has to agree with.
    """

    def __init__(self, run: Callable[..., R_co]) -> None:
        self._run = run
'''


def snake(name):
    """AZeroPointTensor: a_zero_point; ScaleBias.Scale: scale_bias_scale; IF: if_."""
    name = name.removesuffix("Tensor").replace(".", "")
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return name + "_" if keyword.iskeyword(name) else name


def method_name(operator):
    name = operator["name"].removeprefix("ELEMENT_WISE_").lower()
    return name + "_" if keyword.iskeyword(name) else name


def enum_type(attribute):
    """Name of the type of an enum attribute: that of the attribute."""
    return attribute["name"].replace(".", "")


def argument_type(attribute):
    kinds = {"enum": enum_type(attribute) + " | int", "int": "int", "float": "float",
             "data_type": "DataTypeName | None", "scalar": "float", "activation": "str",
             "axes": "Sequence[int]"}
    text = kinds[attribute["kind"]]
    return text + " | None" if attribute["optional"] else text


def is_left_out(attribute):
    """Whether the method has a default for it."""
    return attribute["optional"] or attribute["kind"] == "data_type"


def groups_of(operator, tensor):
    """The other tensors that must have its data type."""
    return [other for group in operator["same_data_type"] if tensor in group
            for other in group if other != tensor]


def float_of(operator, tensor):
    """The tensors that must have its data type, but that FLOAT32 goes with their integers."""
    return [group[0] for group in operator["same_float_type"] if tensor in group[1:]]


def operation(operator):
    """The constant that describes an operator to opserve._core."""
    names = [tensor["name"] for tensor in operator["inputs"]]

    def numbers(tensor):
        return [names.index(other) for other in groups_of(operator, tensor) if other in names]

    inputs = [(tensor["name"], snake(tensor["name"]), tensor["one_element"], numbers(tensor["name"]),
               [names.index(other) for other in float_of(operator, tensor["name"])],
               tensor["name"] in operator["in_place"]) for tensor in operator["inputs"]]
    attributes = [(attribute["name"], attribute["kind"] == "data_type")
                  for attribute in operator["attributes"]]
    lines = [f"_{operator['name']} = Operation(", f'    "{operator["name"]}",', "    ["]
    lines += [f'        ("{name}", "{argument}", {one}, {same}, {floats}, {in_place}),'
              for name, argument, one, same, floats, in_place in inputs]
    lines += ["    ],", "    ["]
    lines += [f'        ("{name}", {is_type}),' for name, is_type in attributes]
    lines += ["    ],", f"    {numbers(operator['output']['name'])},", ")"]
    return "\n".join(lines).replace("[\n    ],", "[],")


def parameters(operator):
    required = [f"{snake(tensor['name'])}: Operand" for tensor in operator["inputs"] if not tensor["optional"]]
    optional = [f"{snake(tensor['name'])}: Operand | None = None"
                for tensor in operator["inputs"] if tensor["optional"]]
    attributes = sorted(operator["attributes"], key=is_left_out)
    keywords = [f"{snake(attribute['name'])}: {argument_type(attribute)}"
                + (" = None" if is_left_out(attribute) else "") for attribute in attributes]
    return ["self", *required, *optional, "*", *keywords, "out: Out | None = None",
            "**settings: Unpack[CallSettings]"]


def types_of(operator):
    """A line for each tensor with other types, of the highest feature level."""
    newest = operator["support"][-1]["tensors"]
    by_types = {}
    for tensor in newest:
        types = ", ".join(name.lower() for name in tensor["data_types"])
        by_types.setdefault(types, []).append(snake(tensor["name"]))
    if len(by_types) == 1:
        return [f"Types: {next(iter(by_types))}."]
    return [f"Types of {', '.join(names)}: {types}." for types, names in by_types.items()]


def attribute_lines(operator):
    lines = []
    for attribute in operator["attributes"]:
        name = snake(attribute["name"])
        if attribute["kind"] == "enum":
            lines += [f'{name} "{value["name"]}": {value["meaning"]}.' for value in attribute["values"]]
        elif attribute["kind"] == "data_type":
            lines.append(f"{name}: the tensors' type; need not be given.")
        elif attribute["kind"] == "axes":
            lines.append(f"{name}: dimensions, the first is 0.")
        elif attribute["kind"] == "activation":
            lines.append(f'{name}: an activation that is computed of each result, such as "ACTIVATION_RELU".')
    return lines


def docstring(operator):
    """What a person wants to know of it, at most WIDTH wide."""
    error = "exact" if operator["max_ulp"] == 0 else f"off by at most {operator['max_ulp']} ULP"
    notes = [*attribute_lines(operator), *types_of(operator),
             f"Since feature level {operator['introduced']}; results are {error}."]
    formula = operator["formula"]
    for tensor in [*operator["inputs"], operator["output"]]:
        formula = re.sub(rf"\b{tensor['name']}\b", snake(tensor["name"]), formula)
    indent = " " * 8
    text = [*textwrap.wrap(f'{operator["summary"]}.', WIDTH - 11), "", *textwrap.wrap(
        formula, WIDTH - 12, initial_indent="    ", subsequent_indent="        "), ""]
    for note in notes:
        text += textwrap.wrap(note, WIDTH - 8, subsequent_indent="  ")
    text = [indent + line if line else "" for line in text]
    return '\n'.join([f'{indent}"""{text[0].strip()}', *text[1:], f'{indent}"""'])


def lines_of(parts, width):
    """Parts with commas between them, as many on each line as fit."""
    lines = [""]
    for part in [*(part + "," for part in parts[:-1]), parts[-1]]:
        if lines[-1] and len(lines[-1]) + 1 + len(part) > width:
            lines.append(part)
        else:
            lines[-1] = f"{lines[-1]} {part}".strip()
    return lines


def tuple_of(names):
    return "(" + ", ".join(names) + ("," if len(names) == 1 else "") + ")"


def method(operator):
    inputs = tuple_of([snake(tensor["name"]) for tensor in operator["inputs"]])
    attributes = tuple_of([snake(attribute["name"]) for attribute in operator["attributes"]])
    parts = f"_{operator['name']}, {inputs}, {attributes}, out, settings".split(", ")
    call = lines_of(parts, WIDTH - 12)
    return "\n".join([
        f"    def {method_name(operator)}(",
        *[" " * 8 + line for line in lines_of(parameters(operator), WIDTH - 8)],
        "    ) -> R_co:",
        docstring(operator),
        "        return self._run(",
        *[" " * 12 + line for line in call],
        "        )",
    ])


def enum_types(operators):
    types = {}
    for operator in operators:
        for attribute in operator["attributes"]:
            if attribute["kind"] == "enum":
                values = ", ".join(f'"{value["name"]}"' for value in attribute["values"])
                types[enum_type(attribute)] = f"{enum_type(attribute)} = Literal[{values}]"
    return [types[name] for name in sorted(types)]


def generate(catalogue):
    """The text of opserve/_operators.py."""
    operators = catalogue["operators"]
    parts = [HEADER, *enum_types(operators), "", *map(operation, operators), "", CLASS.rstrip("\n")]
    parts += ["\n" + method(operator) for operator in operators]
    return "\n".join(parts) + "\n"


def catalogue_of(programs):
    """What ListOperators answers, of a server that is started for it."""
    with tempfile.TemporaryDirectory(prefix="opserve-catalogue-") as folder:
        with ServerProcess(programs / "opserve-server", folder, ["--devices", "none"]) as server:
            return json.loads(subprocess.run(
                [programs / "opserve", "operators", "--json", "--address", server.address],
                capture_output=True, text=True, check=True, timeout=60).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--check", action="store_true", help="fail where the file is another one; do not write it")
    arguments = parser.parse_args()
    text = generate(catalogue_of(arguments.bin.resolve()))
    if not arguments.check:
        TARGET.write_text(text, encoding="utf-8")
    elif text != TARGET.read_text(encoding="utf-8"):
        sys.exit(f"{TARGET.relative_to(ROOT)} is not what the catalogue says; `make python-operators` writes it")


if __name__ == "__main__":
    main()
