"""The charts: each takes the figures of `performance.json` or `accuracy.json` and returns an SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from charts.style import INK, MARKS, OURS, drawing, svg

Records = list[dict[str, Any]]

#: From far below the limit to the limit; both ends stand out on light and dark pages.
SHARES = LinearSegmentedColormap.from_list("shares", ["#8c2d04", "#e6a15c", "#e8e2c0", "#7fb8a4", "#0b6e5f"])


def unique(values: Iterable[Any]) -> list[Any]:
    """Return each value once, in the order in which they come first."""
    return list(dict.fromkeys(values))


def shares(records: Records, name: str) -> str:
    """Draw the share of the read limit of one operator, by axis pattern and dtype."""
    cases, dtypes = unique(r["case"] for r in records), unique(r["dtype"] for r in records)
    found = {(r["case"], r["dtype"]): r["share of limit"] for r in records}
    with drawing(name, 6.4, 0.9 + 0.3 * len(cases)) as figure:
        axes = figure.subplots()
        table = [[found.get((case, dtype), math.nan) for dtype in dtypes] for case in cases]
        axes.imshow(table, SHARES, vmin=0, vmax=1, aspect="auto")
        for row, values in enumerate(table):
            for column, value in enumerate(values):
                if not math.isnan(value):
                    ink = "#ffffff" if value < 0.2 or value > 0.8 else "#000000"
                    axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=ink)
        axes.set_xticks(range(len(dtypes)), dtypes)
        axes.set_yticks(range(len(cases)), cases)
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        return svg(figure, name, "Share of the read limit by axis pattern and dtype")


def beside(records: Records, rows: str, name: str) -> str:
    """Draw ours and the peers' share of the read limit; `rows` names what each line is for."""
    lines = unique(r[rows] for r in records)
    drawn: set[str] = set()
    with drawing(name, 6.4, 1.2 + 0.3 * len(lines)) as figure:
        axes = figure.subplots()
        for record in records:
            row = lines.index(record[rows])
            ours = record["share of limit"]
            values = {by: ours / ratio for by, ratio in record["ratios"].items()} | {OURS: ours}
            for by, share in values.items():
                marker, colour = MARKS[by]
                on_top = 3 if by == OURS else 2
                axes.plot(share, row, marker, color=colour, zorder=on_top, alpha=1 if by == OURS else 0.85)
            drawn.update(values)
        axes.set_yticks(range(len(lines)), lines)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.set_xscale("log")
        axes.set_xlabel("share of the read limit")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.axvline(1, color=INK, linewidth=0.8, linestyle=":")
        axes.grid()
        legend(figure, drawn)
        return svg(figure, name, "Share of the read limit, xpreduce beside other libraries")


def legend(figure: Any, names: set[str]) -> None:
    """Put the libraries that were drawn above a figure."""
    handles = [
        Line2D([], [], marker=marker, color=colour, linestyle="", label=name)
        for name, (marker, colour) in MARKS.items()
        if name in names
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=4, columnspacing=1, handletextpad=0.1)


def sizes(records: Records, limit: float, name: str) -> str:
    """Draw throughput against size, for each dtype; `limit` is the read limit in GB/s."""
    with drawing(name, 6.4, 3.8) as figure:
        axes = figure.subplots()
        colours = ["#d55e00", "#0072b2", "#009e73", "#cc79a7"]
        for colour, dtype in zip(colours, unique(r["dtype"] for r in records), strict=False):
            chosen = [r for r in records if r["dtype"] == dtype]
            at = [r["bytes"] for r in chosen]
            axes.plot(at, [r["GB/s"] for r in chosen], color=colour, label=f"{OURS}, {dtype}")
            peer = [r["GB/s"] / r["ratios"]["numpy formula"] for r in chosen]
            axes.plot(at, peer, color=colour, linestyle="--", label=f"numpy formula, {dtype}")
        axes.axhline(limit, color=INK, linewidth=0.8, linestyle=":")
        axes.text(at[0], limit, "read limit", va="bottom")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel("size of the array")
        axes.set_ylabel("GB/s")
        axes.grid()
        axes.legend()
        return svg(figure, name, "Throughput against the size of the array")


def size(count: float) -> str:
    """Return a power of two of bytes in words."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:g} {unit}"
        count /= 1024
    raise AssertionError


def threads(records: Records, name: str) -> str:
    """Draw the share of the read limit against the number of threads, for each dtype and case."""
    dtypes, cases = unique(r["dtype"] for r in records), unique(r["case"] for r in records)
    with drawing(name, 6.4, 3.2) as figure:
        panels = figure.subplots(1, len(dtypes), sharey=True, squeeze=False)[0]
        styles = list(zip(["#d55e00", "#0072b2", "#009e73", "#cc79a7"], "Dosv", strict=True))
        for axes, dtype in zip(panels, dtypes, strict=True):
            for (colour, marker), case in zip(styles, cases, strict=False):
                for record in [r for r in records if (r["dtype"], r["case"]) == (dtype, case)]:
                    shares = {int(k.split()[-1]): v for k, v in record.items() if k.startswith("share by")}
                    axes.plot(list(shares), list(shares.values()), marker=marker, color=colour, label=case)
            axes.axhline(1, color=INK, linewidth=0.8, linestyle=":")
            axes.set_ylim(bottom=0)
            axes.set_xticks(list(shares))
            axes.margins(x=0.2)
            axes.set_title(dtype, fontsize=10)
            axes.set_xlabel("threads")
            axes.grid(axis="y")
        panels[0].set_ylabel("share of the read limit")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=len(labels), columnspacing=1)
        return svg(figure, name, "Share of the read limit against the number of threads")


def errors(results: dict[str, Any], dtype: str, name: str) -> str:
    """Draw each library's largest error in ulp for every operator, and the share of results that are wrong.

    At the right edge of the errors is what is not finite.
    """
    operators = list(results)
    most, edge, seen = 10.0**20, 10.0**24, set()
    with drawing(name, 6.4, 1.2 + 0.3 * len(operators)) as figure:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        for row, operator in enumerate(operators):
            found = results[operator][dtype]
            for by, tally in found["libraries"].items():
                marker, colour = MARKS[by]
                order = 3 if by == OURS else 2
                at = edge if tally["not_finite"] else min(max(tally["largest"], 0.1), most)
                # Many are not finite: side by side they can be told apart.
                place = row + (list(MARKS).index(by) % 5 - 2) * 0.09 if at == edge else row
                left.plot(at, place, marker, color=colour, zorder=order)
                wrong = 100 * (1 - tally["right"] / found["reductions"])
                right.plot(wrong, row, marker, color=colour, zorder=order)
                seen.add(by)
        left.set_yticks(range(len(operators)), operators)
        left.set_ylim(len(operators) - 0.5, -0.5)
        left.set_xscale("log")
        left.set_xlim(0.05, edge * 10)
        ticks = {0.1: "0", 10.0: "10", 10.0**5: "10⁵", 10.0**10: "10¹⁰", 10.0**15: "10¹⁵"}
        left.set_xticks([*ticks, most, edge], [*ticks.values(), "≥ 10²⁰", "inf"])
        left.tick_params(axis="x", which="minor", length=0, labelbottom=False)
        left.axvline(0.5, color=INK, linewidth=0.8, linestyle=":")
        left.set_xlabel("largest error in ulp; dotted: ½")
        right.set_xlabel("results not right, %")
        left.grid()
        right.grid()
        legend(figure, seen)
        return svg(figure, name, f"Largest error in ulp and share of wrong results of each library, {dtype}")
