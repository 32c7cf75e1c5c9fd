#!/usr/bin/python3
"""Holds the files of one Execute, as docs/ARCHITECTURE.md lists them, to the tree and to their limit."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/ARCHITECTURE.md"
MARK = f"<!-- {pathlib.Path(__file__).resolve().relative_to(ROOT)} reads the next paragraph. -->\n"
MOST_FILES = 18


class HotPath(unittest.TestCase):
    def setUp(self):
        _, *rest = (ROOT / PAGE).read_text(encoding="utf-8").split(MARK)
        self.assertEqual(len(rest), 1, f"{PAGE} must have one line: {MARK}")
        self.paragraph = rest[0].split("\n\n")[0]
        self.files = re.findall(r"`(\w+)`", self.paragraph)

    def test_the_number_told_is_that_of_the_files_and_within_the_limit(self):
        told = re.search(r"goes through (\d+) files", self.paragraph)
        self.assertIsNotNone(told, self.paragraph)
        self.assertEqual(int(told[1]), len(self.files))
        self.assertEqual(len(self.files), len(set(self.files)), "a file is named twice")
        self.assertLessEqual(len(self.files), MOST_FILES)

    def test_each_is_one_header_with_its_source(self):
        for name in self.files:
            for suffix in (".h", ".cc"):
                with self.subTest(file=name + suffix):
                    self.assertEqual(len(list((ROOT / "server").rglob(name + suffix))), 1)


if __name__ == "__main__":
    unittest.main()
