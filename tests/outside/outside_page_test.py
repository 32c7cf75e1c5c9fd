#!/usr/bin/python3
"""Holds the page that is written of the table with one row more to that of the table: see CMakeLists.txt."""

import argparse
import subprocess
import sys
import unittest

PROGRAMS = None


def page(program):
    return subprocess.run([program], capture_output=True, text=True, timeout=60, check=True).stdout


class PageTest(unittest.TestCase):

    def test_the_page_has_one_operator_more_and_nothing_else(self):
        whole = page(PROGRAMS.outside_opdoc)
        entry, = (line for line in whole.splitlines() if line.startswith("| [ELEMENT_WISE_ZONE]"))
        self.assertEqual(entry, "| [ELEMENT_WISE_ZONE](#element_wise_zone) | 5_1 | "
                         "Replaces what is nearer to zero than Threshold by Level |")
        before, _, rest = whole.partition("## ELEMENT_WISE_ZONE\n")
        section, _, after = rest.partition("\n## ")
        self.assertIn("abs(InputTensor) < Threshold ? Level : InputTensor", section)
        self.assertIn("- `Threshold`: a number\n- `Level`: a number\n", section)
        self.assertIn("| 5_1 | 1 to 8 | FLOAT32, FLOAT16 | FLOAT32, FLOAT16 |", section)
        without = f"{before}## {after}".replace(f"{entry}\n", "")
        self.assertEqual(without, page(PROGRAMS.opdoc))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opdoc", required=True)
    parser.add_argument("--outside-opdoc", required=True)
    PROGRAMS, rest_of_line = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest_of_line])
