"""What bench_wire.py prints and draws."""

import statistics

from wire_rows import LARGE_GOAL_BYTES, MIB, ROWS, SIZES, TARGETS, TIME_TARGETS, size_text

# Per row of the table: colour-blind-safe (Okabe and Ito), marker, line.
LINES = {
    "raw": ("#000000", "o", "-"), "raw-unix": ("#000000", "s", "--"),
    "raw-chunked": ("#999999", "D", "--"),
    "proto": ("#D55E00", "v", "-"),
    "tcp": ("#0072B2", "o", "-"), "unix": ("#56B4E9", "s", "--"),
    "client": ("#F0E442", "h", "-"), "pipelined": ("#F0E442", "D", "-"),
    "stream": ("#009E73", "D", "-"), "shm": ("#CC79A7", "^", "-"),
    "kernel": ("#999999", "x", ":"), "resident": ("#E69F00", "P", "-"),
    "chain": ("#E69F00", "*", ":"), "calls8": ("#0072B2", "*", ":"),
}


class Results:
    """Measurements by row, size and concurrency; one per repeat, in the order of the repeats."""

    def __init__(self):
        self._lines = {}

    def add(self, row, size, concurrency, line):
        self._lines.setdefault((row, size, concurrency), []).append(line)

    def cells(self):
        """All (row, size, concurrency), in the order in which they were measured."""
        return list(self._lines)

    def median(self, row, size, concurrency):
        """Medians of all numbers, or None where nothing was measured."""
        lines = self._lines.get((row, size, concurrency))
        if not lines:
            return None
        return {key: statistics.median(line[key] for line in lines)
                for key, value in lines[0].items() if isinstance(value, (int, float))}

    def ratio(self, row, base, size, concurrency):
        """Median of the ratios of calls per second, each within one repeat; None where unknown."""
        ours = self._lines.get((row, size, concurrency), ())
        theirs = self._lines.get((base, size, concurrency), ())
        ratios = [a["calls_per_s"] / b["calls_per_s"] for a, b in zip(ours, theirs)]
        return statistics.median(ratios) if ratios else None

    def as_json(self):
        return [{"row": row, "bytes": size, "concurrency": concurrency,
                 "median": self.median(row, size, concurrency), "repeats": lines}
                for (row, size, concurrency), lines in self._lines.items()]


def judge(results):
    """Every goal that this run can tell about: (target, size, concurrency, ratio)."""
    judged = []
    for target in TARGETS:
        for size in target.sizes:
            for concurrency in target.concurrencies:
                ratio = results.ratio(target.row, target.base, size, concurrency)
                if ratio is not None:
                    judged.append((target, size, concurrency, ratio))
    return judged


def judge_times(results):
    """The same of times: (target, size, concurrency, median in microseconds)."""
    judged = []
    for target in TIME_TARGETS:
        for size in target.sizes:
            for concurrency in target.concurrencies:
                median = results.median(target.row, size, concurrency)
                if median is not None:
                    judged.append((target, size, concurrency, median["p50_us"]))
    return judged


def table(results, rows):
    """The lines of the table."""
    lines = []
    groups = dict.fromkeys((size, concurrency) for _, size, concurrency in results.cells())
    for size, concurrency in groups:
        lines.append("")
        lines.append(f"{size_text(size) + f', {concurrency} at a time':<30}{'calls/s':>10}"
                     f"{'GiB/s':>9}{'p50 us':>11}{'p99 us':>11}{'p99.9 us':>11}"
                     f"{'CPU s/GiB: client':>19}{'server':>9}{'peak MiB':>10}{'faults':>8}"
                     "  of ceiling")
        for row in rows:
            value = results.median(row.name, size, concurrency)
            if value is None:
                continue
            ratio = results.ratio(row.name, row.ceiling, size, concurrency)
            lines.append(
                f"  {row.label:<28}{value['calls_per_s']:>10,.0f}{value['gib_per_s']:>9.3f}"
                f"{value['p50_us']:>11,.0f}{value['p99_us']:>11,.0f}{value['p999_us']:>11,.0f}"
                f"{value['client_cpu_s_per_gib']:>19.3f}{value['server_cpu_s_per_gib']:>9.3f}"
                f"{value['server_peak_rss_bytes'] / MIB:>10.0f}"
                f"{value['server_page_faults_per_call']:>8.1f}"
                + (f"  {ratio:10.2f}" if ratio is not None else "           -"))
    return lines


def target_lines(judged):
    if not judged:
        return []
    labels = {row.name: row.label for row in ROWS}
    lines = ["", f"{'target':<42}{'payload':>8}{'at a time':>11}{'goal':>7}{'ratio':>7}"]
    for target, size, concurrency, ratio in judged:
        name = f"{labels[target.row]} / {labels[target.base]}"
        lines.append(f"{name:<42}{size_text(size):>8}{concurrency:>11}{target.ratio:>7.2f}"
                     f"{ratio:>7.3f}  {'met' if ratio >= target.ratio else 'missed'}")
    return lines


def time_target_lines(judged):
    if not judged:
        return []
    labels = {row.name: row.label for row in ROWS}
    lines = ["", f"{'target, median time':<42}{'payload':>8}{'at a time':>11}{'goal us':>9}"
             f"{'p50 us':>9}"]
    for target, size, concurrency, p50_us in judged:
        lines.append(f"{labels[target.row]:<42}{size_text(size):>8}{concurrency:>11}"
                     f"{target.p50_us:>9,.0f}{p50_us:>9,.0f}"
                     f"  {'met' if p50_us <= target.p50_us else 'missed'}")
    return lines


def large_lines(large):
    """What a server takes while a large tensor goes through it; `large`: what measure_large gave."""
    if not large:
        return []
    name = f"{size_text(large['bytes'])} over a stream, to a server that takes 16 MiB"
    if "skipped" in large:
        return ["", f"{name}: not measured, as {large['skipped']}"]
    idle, peak = large["server_idle_rss_bytes"], large["server_peak_rss_bytes"]
    verdict = "met" if peak - idle <= LARGE_GOAL_BYTES else "missed"
    return ["", f"{name}: {large['p50_us'] / 1e6:.1f} s;",
            f"  its RSS {idle / MIB:.1f} MiB idle, {peak / MIB:.1f} MiB at most: "
            f"+{(peak - idle) / MIB:.1f} MiB (goal: {LARGE_GOAL_BYTES // MIB} MiB, {verdict})"]


def idle_lines(idle):
    """What idle connections cost; `idle`: what wire_idle printed, per kind of socket."""
    lines = []
    for name, line in idle.items():
        wanted = line["connections_wanted"]
        count = (f"{wanted:,}" if line["connections"] == wanted else
                 f"{line['connections']:,} of {wanted:,} (limit of files: {line['file_limit']:,})")
        lines += ["", f"{count} idle connections, {name}: {line['closed_by_server']} closed by the "
                  f"server; its RSS {line['server_rss_bytes_before'] / MIB:.1f} MiB -> "
                  f"{line['server_rss_bytes'] / MIB:.1f} MiB, "
                  f"{line['server_rss_bytes_per_connection'] / 1024:.1f} KiB per connection;",
                  f"  a 64 B call beside them: p50 {line['probe_p50_us_before']:.0f} us before, "
                  f"{line['probe_p50_us']:.0f} us then"]
    return lines


def _picked(results, row, pick):
    """One concurrency per size that was measured: the least or the most."""
    sizes = sorted({size for name, size, _ in results.cells() if name == row.name})
    return {size: pick(c for name, s, c in results.cells() if (name, s) == (row.name, size))
            for size in sizes}


def plot(results, rows, path):
    """Draws throughput and latency over the size of the payload."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    figure, axes = pyplot.subplots(1, 2, figsize=(14, 5), layout="constrained")
    panels = (
        (axes[0], max, "gib_per_s", "GiB/s, one way",
         "Throughput"),
        (axes[1], min, "p50_us", "median latency in µs", "Latency"),
    )
    for axis, pick, key, y_label, title in panels:
        concurrencies = set()
        for row in rows:
            if row.name not in LINES:
                continue
            picked = _picked(results, row, pick)
            concurrencies.update(picked.values())
            values = [results.median(row.name, size, c)[key] for size, c in picked.items()]
            color, marker, line = LINES[row.name]
            axis.plot(list(picked), values, line, color=color, marker=marker, markersize=5,
                      linewidth=1.6, label=row.label)
        at_a_time = " or ".join(str(c) for c in sorted(concurrencies, reverse=True))
        axis.set(xscale="log", yscale="log", xlabel="payload", ylabel=y_label,
                 title=f"{title}, {at_a_time} at a time")
        axis.set_xticks(SIZES, [size_text(size).replace(" ", "\n") for size in SIZES])
        axis.xaxis.set_minor_locator(ticker.NullLocator())
        axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.grid(True, which="major", color="#cccccc", linewidth=0.6)
        axis.grid(True, which="minor", axis="y", color="#eeeeee", linewidth=0.4)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[1].legend(loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
