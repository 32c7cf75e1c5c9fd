"""The report of a load test: tables, plots, and a page that holds all of it and needs nothing else."""

import base64
import dataclasses
import html
import io

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot, ticker  # noqa: E402  pylint: disable=wrong-import-position


@dataclasses.dataclass(frozen=True)
class Look:
    """Colours of a plot, of which no two lines differ by colour alone."""

    text: str
    faint: str
    first: str
    second: str
    background: str


LIGHT = Look(text="#1b1f24", faint="#c9ced6", first="#0b5fa5", second="#b3420a", background="#ffffff")
DARK = Look(text="#e6e9ee", faint="#4a515c", first="#6cb6ff", second="#ff9d5c", background="#14171c")
# Inches: as wide as a page on a desk, and on a telephone.
WIDE = (9.5, 4.2)
NARROW = (3.7, 3.6)

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>opserve: load test</title>
<style>
:root {{ --text: {light.text}; --faint: {light.faint}; --background: {light.background}; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --text: {dark.text}; --faint: {dark.faint}; --background: {dark.background}; }}
}}
body {{ margin: 0 auto; max-width: 62rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif;
       color: var(--text); background: var(--background); }}
.answer {{ font-size: 1.25rem; }}
figure {{ margin: 1.5rem 0; }}
img {{ display: block; width: 100%; height: auto; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }}
th, td {{ padding: 0.2rem 0.8rem 0.2rem 0; text-align: right; border-bottom: 1px solid var(--faint); }}
th:first-child, td:first-child {{ text-align: left; }}
</style>
</head>
<body>
<h1>Load test</h1>
<p class="answer">{sentence}</p>
<p>{machine}</p>
{sections}
</body>
</html>
"""


def _style(axis, look, x_label, y_label):
    axis.set_xlabel(x_label, color=look.text)
    axis.set_ylabel(y_label, color=look.text)
    axis.tick_params(colors=look.text, which="both")
    axis.set_axisbelow(True)
    axis.grid(True, color=look.faint, linewidth=0.6)
    for side, spine in axis.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(look.faint)


def _legend(axis, look, lines=None):
    """Above the plot, where it hides nothing."""
    handles, labels = axis.get_legend_handles_labels()
    handles = lines or handles
    axis.legend(handles, [line.get_label() for line in lines] if lines else labels, frameon=False,
                labelcolor=look.text, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, columnspacing=1)


def _plain(axis):
    """Numbers as people write them."""
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))


def _logarithmic(axis):
    """The same on a logarithmic scale, with enough of them where it spans less than a power of ten."""
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(ticker.NullLocator())
    _plain(axis)


def _curve(figure, look, results, within_ms):
    axis = figure.add_subplot()
    steps = results["curve"]["paced"] + results["curve"]["closed"]
    for name, marker, line, color, value in (("p99", "s", "--", look.second, lambda step: step.p99_ms),
                                             ("p50", "o", "-", look.first, lambda step: step.p50_ms)):
        paced = sorted(results["curve"]["paced"], key=lambda step: step.rate)
        axis.plot([step.calls_per_s for step in paced], [value(step) for step in paced], line, marker=marker,
                  color=color, label=f"{name}, at a rate")
        axis.plot([step.calls_per_s for step in results["curve"]["closed"]],
                  [value(step) for step in results["curve"]["closed"]], linestyle="none", marker=marker,
                  markerfacecolor="none", color=color, label=f"{name}, closed loop")
    axis.axhline(within_ms, color=look.text, linewidth=1, linestyle=":")
    axis.annotate(f"{within_ms:g} ms", (0, within_ms), xytext=(4, 3), textcoords="offset points", color=look.text)
    axis.set_yscale("log")
    axis.set_xlim(left=0, right=1.08 * max(step.calls_per_s for step in steps))
    _style(axis, look, "right answers per second", "latency in ms")
    _plain(axis.xaxis)
    axis.xaxis.set_major_locator(ticker.MaxNLocator(5))
    _logarithmic(axis.yaxis)
    _legend(axis, look)


def _overload(figure, look, results, _):
    axis = figure.add_subplot()
    steps = list(results["overload"].values())
    names = [step.title for step in steps]
    right = [step.calls_per_s for step in steps]
    refused = [(step.calls - step.right) / step.seconds for step in steps]
    axis.bar(names, right, color=look.first, label="right", width=0.5)
    axis.bar(names, refused, bottom=right, color="none", edgecolor=look.second, hatch="//", label="refused",
             width=0.5)
    for name, step, above in zip(names, steps, (a + b for a, b in zip(right, refused))):
        axis.annotate(f"p99 {step.p99_ms:,.3g} ms", (name, above), xytext=(0, 4), textcoords="offset points",
                      ha="center", color=look.text)
    axis.margins(y=0.15)
    _style(axis, look, "", "calls per second")
    _plain(axis.yaxis)
    _legend(axis, look)


def _large(figure, look, results, _):
    axis = figure.add_subplot()
    sizes = list(results["large"])
    axis.plot(sizes, [gib_per_s(mib, step) for mib, step in results["large"].items()], "-o", color=look.first,
              label="GiB/s")
    axis.set_xscale("log")
    axis.set_ylim(bottom=0)
    _style(axis, look, "MiB per tensor", "GiB/s, one way")
    axis.set_xticks(sizes)
    _plain(axis.xaxis)
    axis.xaxis.set_minor_locator(ticker.NullLocator())
    above = axis.twinx()
    above.plot(sizes, [step.p99_ms for step in results["large"].values()], "--s", color=look.second, label="p99")
    above.set_yscale("log")
    _style(above, look, "", "p99 in ms")
    above.grid(False)
    _logarithmic(above.yaxis)
    _legend(axis, look, axis.get_lines() + above.get_lines())


def _soak(figure, look, results, _):
    latency, memory = figure.subplots(2, 1, sharex=True)
    spans = results["soak"]["windows"]
    latency.plot([span[0] for span in spans], [span[3] for span in spans], "--", color=look.second, label="p99")
    latency.plot([span[0] for span in spans], [span[2] for span in spans], "-", color=look.first, label="p50")
    latency.set_yscale("log")
    _style(latency, look, "", "latency in ms")
    _logarithmic(latency.yaxis)
    _legend(latency, look)
    memory.plot([at for at, _ in results["soak"]["memory"]], [mib for _, mib in results["soak"]["memory"]], "-",
                color=look.first)
    memory.set_ylim(bottom=0)
    _style(memory, look, "seconds", "RSS in MiB")


PLOTS = {
    "curve": ("Saturation", "Latency over the rate of right answers, 64 B per call.", _curve),
    "soak": ("Soak", "Half the peak's rate: latency, and the server's memory, over time.", _soak),
    "large": ("Large tensors", "Bytes per second, and latency, 4 calls at a time.", _large),
    "overload": ("Overload", "Many callers with 64 KiB each, and a server that has room for few at a time.", _overload),
}


def gib_per_s(mib, step):
    """Bytes of tensors per second, one way."""
    return step.calls_per_s * mib / 1024


def _draw(name, results, within_ms, look, size, kind, transparent):
    figure = pyplot.figure(figsize=size, layout="constrained")
    PLOTS[name][2](figure, look, results, within_ms)
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=120, transparent=transparent, facecolor=look.background)
    pyplot.close(figure)
    return file.getvalue()


def _rows(results):
    """(name, Step) of every run."""
    named = [(step.title, step) for step in results["curve"]["closed"] + results["curve"]["paced"]]
    named.append(("soak", results["soak"]["step"]))
    named += [(f"{mib} MiB, 4 at a time", step) for mib, step in results["large"].items()]
    return named + [(f"64 KiB, {step.title}", step) for step in results["overload"].values()]


HEADER = ("run", "asked calls/s", "right calls/s", "p50 ms", "p99 ms", "refused or failed")


def _cells(name, step):
    asked = f"{step.rate:,.0f}" if step.rate else "-"
    return (name, asked, f"{step.calls_per_s:,.1f}", f"{step.p50_ms:,.3g}", f"{step.p99_ms:,.3g}",
            f"{step.calls - step.right:,}")


def table(results):
    """All runs as text."""
    rows = [HEADER, *(_cells(*row) for row in _rows(results))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))) for row in rows)


def _picture(name, results, within_ms):
    def source(look, size, media):
        drawn = base64.b64encode(_draw(name, results, within_ms, look, size, "svg", True)).decode()
        data = f"data:image/svg+xml;base64,{drawn}"
        return f'<source media="{media}" srcset="{data}">' if media else data

    dark = "(prefers-color-scheme: dark)"
    narrow = "(max-width: 40rem)"
    title, what, _ = PLOTS[name]
    return (f"<h2>{title}</h2>\n<p>{what}</p>\n<figure><picture>"
            + source(DARK, NARROW, f"{narrow} and {dark}") + source(LIGHT, NARROW, narrow)
            + source(DARK, WIDE, dark)
            + f'<img src="{source(LIGHT, WIDE, "")}" alt="{html.escape(title + ": " + what)}"></picture></figure>')


def _html_table(results):
    head = "".join(f"<th>{html.escape(text)}</th>" for text in HEADER)
    body = "\n".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(*row)) + "</tr>"
                     for row in _rows(results))
    return f'<h2>All runs</h2>\n<div class="scroll"><table><tr>{head}</tr>\n{body}</table></div>'


def write(results, within_ms, folder):
    """Writes report.html and a PNG of each plot."""
    for name in PLOTS:
        (folder / f"{name}.png").write_bytes(_draw(name, results, within_ms, LIGHT, WIDE, "png", False))
    sections = "\n".join(_picture(name, results, within_ms) for name in PLOTS) + _html_table(results)
    (folder / "report.html").write_text(
        PAGE.format(light=LIGHT, dark=DARK, sentence=html.escape(results["sentence"]),
                    machine=html.escape(results["machine"]), sections=sections), encoding="utf-8")
