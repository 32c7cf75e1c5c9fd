"""Whether a process's memory stays flat, as far as samples of it can tell."""

import statistics

MIB = 1 << 20

# What the memory may grow by in the second half of a run. The second half has fewer clients than the
# first: the server then has all that it keeps for later.
ALLOWED_SHARE = 0.02
# A mix of sizes that the idle buffers, or a heap of the allocator, have not seen yet still comes on
# after a short first half, and is no leak: such growth ends, a leak does not. Below these bytes a run
# of less requests cannot tell the one from the other; a longer one goes by the share alone.
SHORT_RUN_FLOOR_BYTES = 48 * MIB
LONG_RUN_REQUESTS = 1_000_000
# Shares of the run that a sample speaks for: one alone may have caught a peak.
HALF, END = (0.5, 0.6), (0.9, 1.01)


def second_half(points, requests):
    """(what was found, whether it is too much) for (share of the run from 0 to 1, bytes)."""
    at_half, at_end = ([size for share, size in points if first <= share < last]
                       for first, last in (HALF, END))
    if not at_half or not at_end:
        return "too few samples of the memory", True
    half, end = statistics.median(at_half), statistics.median(at_end)
    limit = ALLOWED_SHARE * half
    told = f"{ALLOWED_SHARE:.0%}"
    if requests < LONG_RUN_REQUESTS and limit < SHORT_RUN_FLOOR_BYTES:
        limit = SHORT_RUN_FLOOR_BYTES
        told = (f"{limit / MIB:.0f} MiB, as less than {LONG_RUN_REQUESTS:,} requests cannot tell "
                "growth below that from what comes once")
    text = (f"RSS {half / MIB:.1f} MiB at half, {end / MIB:.1f} MiB at the end: "
            f"{(end - half) / half:+.1%}; limit {told}")
    return text, end - half > limit


# Per turn of a client that does the same again and again. What the heap holds between two rounds of
# turns is known to the byte, and a leak grows with each; what comes once, such as a table that
# doubles, is in one of the slopes between two rounds, and their median does not see it.
ALLOWED_PER_TURN = {"bytes": 50, "mappings": 0.01, "descriptors": 0.01, "threads": 0.01}


def slopes_between(points):
    """The slope from each point to the next one, in order of size."""
    return sorted((after[1] - before[1]) / (after[0] - before[0])
                  for before, after in zip(points, points[1:]))


def verdict_per_turn(samples):
    """(what was found, whether it is too much) for (turns so far, {what: how much of it})."""
    if len(samples) < 3 or samples[-1][0] <= samples[0][0]:
        return "too few turns", True
    parts, is_too_much = [], False
    for what, allowed in ALLOWED_PER_TURN.items():
        slopes = slopes_between([(turns, sample[what]) for turns, sample in samples])
        median = statistics.median(slopes)
        parts.append(f"{median:.3g} {what} ({slopes[0]:.3g} to {slopes[-1]:.3g})")
        is_too_much = is_too_much or median > allowed
    turns = samples[-1][0] - samples[0][0]
    return f"per turn of {turns}: " + ", ".join(parts), is_too_much
