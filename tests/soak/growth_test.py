#!/usr/bin/env python3
"""What soak.py calls growth."""

import unittest

from growth import MIB, slope, verdict, verdict_per_turn


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


def rounds(*heap, turns=1000, **others):
    """Samples with these bytes on the heap after each round of `turns` turns."""
    return [(turns * (i + 1), {"bytes": size, "mappings": 400, "descriptors": 12, "threads": 14,
                               **{what: values[i] for what, values in others.items()}})
            for i, size in enumerate(heap)]


class VerdictPerTurnTest(unittest.TestCase):

    def test_flat_heap_passes(self):
        self.assertFalse(verdict_per_turn(rounds(5000, 5000, 5000, 5000))[1])
        self.assertFalse(verdict_per_turn(rounds(9000, 5000, 3000, 2000))[1])

    def test_a_hundred_bytes_per_turn_are_found(self):
        text, is_too_much = verdict_per_turn(rounds(0, 100_000, 200_000, 300_000))
        self.assertTrue(is_too_much)
        self.assertIn("per turn of 3000: 100 bytes (100 to 100)", text)

    def test_they_are_found_among_what_comes_and_goes(self):
        self.assertTrue(verdict_per_turn(rounds(0, 109_000, 195_000, 308_000))[1])

    def test_what_comes_once_is_no_leak(self):
        self.assertFalse(verdict_per_turn(rounds(0, 0, 0, 1 << 20))[1])
        self.assertFalse(verdict_per_turn(rounds(0, 1 << 20, 1 << 20, 1 << 20))[1])

    def test_one_mapping_descriptor_or_thread_per_turn_is_found(self):
        for what in ["mappings", "descriptors", "threads"]:
            found = rounds(5, 5, 5, 5, **{what: [1000, 2000, 3000, 4000]})
            self.assertTrue(verdict_per_turn(found)[1], what)

    def test_too_few_rounds_are_no_pass(self):
        self.assertTrue(verdict_per_turn([])[1])
        self.assertTrue(verdict_per_turn(rounds(5, 5))[1])
        self.assertTrue(verdict_per_turn(rounds(5, 5, 5, 5, turns=0))[1])


if __name__ == "__main__":
    unittest.main()
