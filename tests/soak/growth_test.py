#!/usr/bin/env python3
"""What soak.py calls growth."""

import unittest

from growth import LONG_RUN_REQUESTS, MIB, second_half, verdict_per_turn

LONG = LONG_RUN_REQUESTS
SHORT = LONG_RUN_REQUESTS - 1


def run(half, end):
    """Samples of a run whose memory goes from `half` to `end` MiB in the second half."""
    return ([(share / 100, half * MIB) for share in range(60)]
            + [(share / 100, end * MIB) for share in range(60, 101)])


class SecondHalfTest(unittest.TestCase):
    def test_flat_memory_passes(self):
        for requests in (SHORT, LONG):
            self.assertFalse(second_half(run(300, 300), requests)[1])
            self.assertFalse(second_half(run(300, 200), requests)[1])

    def test_a_long_run_goes_by_the_share(self):
        self.assertFalse(second_half(run(300, 305.9), LONG)[1])
        text, is_too_much = second_half(run(300, 306.1), LONG)
        self.assertTrue(is_too_much)
        self.assertIn("RSS 300.0 MiB at half, 306.1 MiB at the end: +2.0%; limit 2%", text)

    def test_a_short_run_tells_only_what_is_more_than_its_floor(self):
        self.assertFalse(second_half(run(300, 347), SHORT)[1])
        text, is_too_much = second_half(run(300, 349), SHORT)
        self.assertTrue(is_too_much)
        self.assertIn("limit 48 MiB", text)

    def test_a_peak_is_no_growth(self):
        peak = [(share, size + (100 * MIB if 0.94 < share < 0.96 else 0))
                for share, size in run(300, 300)]
        self.assertFalse(second_half(peak, LONG)[1])

    def test_too_few_samples_are_no_pass(self):
        self.assertTrue(second_half([], LONG)[1])
        self.assertTrue(second_half([(0.5, MIB)], LONG)[1])


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
