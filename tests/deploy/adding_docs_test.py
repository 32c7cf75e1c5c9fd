#!/usr/bin/python3
"""Holds the rows that docs/adding-an-operator.md shows to the operator table: their shapes and bodies."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANYTHING = "(...)"


def parts(text):
    """The arguments of each OPSERVE_OPERATOR in a text, without white space, by operator."""
    rows = {}
    for match in re.finditer(r"^OPSERVE_OPERATOR\(", text, re.MULTILINE):
        arguments = [""]
        depth = 0
        quoted = False
        for character in text[match.end():]:
            quoted ^= character == '"'
            depth += 0 if quoted else "([{".count(character) - ")]}".count(character)
            if depth < 0:
                break
            if character == "," and depth == 0:
                arguments.append("")
            elif quoted or not character.isspace():
                arguments[-1] += character
        rows[arguments[0]] = arguments[1:]
    return rows


def table():
    files = sorted((ROOT / "kernels/operators").glob("*.def"))
    return {name: row for file in files for name, row in parts(file.read_text(encoding="utf-8")).items()}


def page():
    text = (ROOT / "docs/adding-an-operator.md").read_text(encoding="utf-8")
    shown = {}
    for block in re.findall(r"^```c\+\+\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        shown.update(parts(block))
    shown.pop("NAME")  # what the parts of a row are
    return shown


class RowsTest(unittest.TestCase):

    def test_the_table_is_read_whole(self):
        self.assertEqual(len(table()), 92)
        self.assertEqual({len(row) for row in table().values()}, {5})

    def test_rows_are_those_of_the_table(self):
        outside = parts((ROOT / "tests/outside/row.def").read_text(encoding="utf-8"))
        rows = {**table(), **outside}
        for name, shown in page().items():
            self.assertEqual(len(shown), 5, name)
            for part, right in zip(shown, rows[name]):
                self.assertIn(part, (ANYTHING, right), name)
        self.assertEqual(page()["ELEMENT_WISE_ZONE"], outside["ELEMENT_WISE_ZONE"])

    def test_there_is_a_row_of_each_shape_with_its_bodies(self):
        shapes = re.findall(r"^inline constexpr OpShape k(\w+)",
                            (ROOT / "kernels/op_shape.h").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual(set(shapes), {row[1] for row in table().values()})
        for shape in shapes:
            self.assertTrue(any(row[1] == shape and ANYTHING not in (row[2], row[4])
                                for row in page().values()), shape)


if __name__ == "__main__":
    unittest.main()
