#!/usr/bin/env python3
"""What soak.py calls growth."""

import unittest

from growth import MIB, slope, verdict


def line(seconds, start, rate):
    """A sample per tenth of a second of memory that grows by `rate` MiB/s."""
    return [(i / 10, (start + rate * i / 10) * MIB) for i in range(seconds * 10)]


class GrowthTest(unittest.TestCase):
    def test_slope_is_that_of_the_line(self):
        self.assertAlmostEqual(slope(line(60, 200, 0.5)) / MIB, 0.5)
        self.assertAlmostEqual(slope(line(60, 200, -1)) / MIB, -1)
        self.assertEqual(slope([(1, 5), (1, 7)]), 0)

    def test_flat_memory_passes(self):
        self.assertFalse(verdict(line(30, 300, 0))[1])
        self.assertFalse(verdict(line(30, 300, -2))[1])

    def test_a_leak_is_found_sooner_the_longer_it_is_looked_for(self):
        self.assertTrue(verdict(line(30, 300, 1.7))[1])
        self.assertFalse(verdict(line(30, 300, 0.1))[1])
        self.assertTrue(verdict(line(300, 300, 0.1))[1])
        self.assertTrue(verdict(line(3600, 300, 0.01))[1])

    def test_one_step_of_a_heap_is_no_leak(self):
        step = [(time, size + (10 * MIB if time > 15 else 0)) for time, size in line(30, 300, 0)]
        self.assertFalse(verdict(step)[1])

    def test_too_few_samples_are_no_pass(self):
        self.assertTrue(verdict([])[1])
        self.assertTrue(verdict([(1, MIB)])[1])


if __name__ == "__main__":
    unittest.main()
