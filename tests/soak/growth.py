"""Whether a process's memory stays flat, as far as samples of it can tell."""

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
