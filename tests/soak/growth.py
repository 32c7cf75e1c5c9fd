"""Whether a process's memory stays flat, as far as samples of it can tell."""

import statistics

MIB = 1 << 20

# What may still come on after the warm-up and is no leak: a mix of sizes that the idle buffers, or a
# heap of the allocator, have not seen yet. The same for any time: such growth ends, a leak does not.
ALLOWED_BYTES = 24 * MIB
# On a busy machine the warm-up of a short run fills little, so that more comes on: such a run only
# finds what leaks fast.
SHORT_RUN_S = 120
ALLOWED_BYTES_SHORT = 48 * MIB


def slope(points):
    """Bytes per second: the line through (seconds, bytes) with the least squares."""
    count = len(points)
    mean_time = sum(time for time, _ in points) / count
    mean_bytes = sum(size for _, size in points) / count
    spread = sum((time - mean_time) ** 2 for time, _ in points)
    if spread == 0:
        return 0.0
    return sum((time - mean_time) * (size - mean_bytes) for time, size in points) / spread


def verdict(points):
    """(what was found, whether it is too much) for (seconds, bytes) after the warm-up."""
    if len(points) < 2:
        return "too few samples of the memory", True
    seconds = points[-1][0] - points[0][0]
    rate = slope(points)
    limit = ALLOWED_BYTES if seconds >= SHORT_RUN_S else ALLOWED_BYTES_SHORT
    text = (f"after the warm-up the memory grew by {rate * seconds / MIB:.1f} MiB in "
            f"{seconds:.0f} s ({rate / MIB:.3f} MiB/s); limit {limit / MIB:.0f} MiB")
    return text, rate * seconds > limit


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
