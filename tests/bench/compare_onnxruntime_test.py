#!/usr/bin/python3
"""What compare_onnxruntime.py calls a difference, with results that are made up."""

import contextlib
import io
import unittest
from unittest import mock

import compare_onnxruntime
import numpy as np
from compare_onnxruntime import distant, find_faults
from demo import find_fault


def row(ours, theirs, dtype="float32"):
    """A row as if opserve had answered `ours` and ONNX Runtime `theirs`."""
    return {"op": "ELEMENT_WISE_ROUND", "type": dtype, "elements": len(ours), "threads": 2,
            "difference": find_fault(np.array(ours, dtype), np.array(theirs, dtype))}


SKIPPED_ROW = {"op": "ELEMENT_WISE_MODULUS_TRUNCATE", "type": "uint8", "skipped": "no kernel"}


class FindFaultsTest(unittest.TestCase):

    def test_equal_results_pass(self):
        nan = float("nan")
        self.assertEqual(find_faults([row([1, nan, 3], [1, -nan, 3]), SKIPPED_ROW]), [])
        self.assertEqual(find_faults([row([1, 0], [1, 0], "bool")]), [])

    def test_difference_names_operator_type_and_values(self):
        fault, = find_faults([row([1, 2, 4], [1, 2, 4]), row([1, 2, 4], [1, 2.5, 5])])
        self.assertEqual(fault, "ELEMENT_WISE_ROUND of float32, 3 elements, 2 threads: 2 elements "
                         "differ, first element 1: got 2.0, expected 2.5")

    def test_every_row_that_differs_is_named(self):
        faults = find_faults([row([1], [2], "uint8"), row([1], [1]), row([7], [9], "int64")])
        self.assertEqual([fault.split(",")[0] for fault in faults],
                         ["ELEMENT_WISE_ROUND of uint8", "ELEMENT_WISE_ROUND of int64"])

    def test_one_nan_is_a_difference(self):
        self.assertEqual(len(find_faults([row([float("nan")], [1])])), 1)

    def test_nothing_compared_is_no_pass(self):
        self.assertEqual(find_faults([]), ["no results were compared"])
        self.assertEqual(find_faults([SKIPPED_ROW]), ["no results were compared"])


class DistantTest(unittest.TestCase):
    """Results of functions that one side rounds otherwise."""

    def test_neighbours_are_near(self):
        for dtype in (np.float32, np.float16):
            ours = np.array([1, -2, np.inf, np.nan, 0], dtype)
            theirs = ours.copy()
            theirs[:2] = np.nextafter(ours[:2], dtype(0))
            self.assertEqual(distant(ours, theirs), "")

    def test_other_numbers_are_far(self):
        for ours, theirs in ((1, 1.0001), (np.inf, 3), (np.nan, 1), (1, np.nan), (0.5, -0.5)):
            found = distant(np.array([ours], np.float32), np.array([theirs], np.float32))
            self.assertIn("1 elements are far from each other, first element 0", found)


class MainTest(unittest.TestCase):
    """The program, with both competitors made up."""

    def run_main(self, measured):
        measured = {**measured, "opserve_us": 1, "onnxruntime_us": 1, "ratio": 1, "goal": 1}
        errors = io.StringIO()
        with mock.patch.multiple(compare_onnxruntime, ort=mock.Mock(__version__="0"),
                                 Library=mock.Mock(), measure=lambda *_: measured), \
             mock.patch("sys.argv", ["compare", "--filter", "ROUND float32"]), \
             contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            return compare_onnxruntime.main(), errors.getvalue()

    def test_differences_end_it_with_an_error(self):
        code, errors = self.run_main(row([1, 2], [1, 3]))
        self.assertEqual(code, 1)
        self.assertIn("ELEMENT_WISE_ROUND of float32", errors)
        self.assertIn("got 2.0, expected 3.0", errors)

    def test_equal_results_end_it_well(self):
        self.assertEqual(self.run_main(row([1, 2], [1, 2])), (0, ""))


if __name__ == "__main__":
    unittest.main()
