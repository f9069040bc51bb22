"""The page of the report: what was measured, the charts, and how each came about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from charts import drawings

HEAD = """\
# How fast it is

<!-- Written by asv_benchmarks/report.py from performance.json and accuracy.json: change those. -->

A reduction reads its input once, so the limit is the rate at which the machine reads memory. It is measured
as `np.dot(x, x)` over 256 MiB of float32, in as many threads as there are cores, in turn with what is
compared. A **share of the read limit** is the rate of bytes read and written over that limit: at 1 nothing
can be faster, but for what stays in a cache. Each figure is a median over rounds in which all that is
compared takes turns, in one process. {download}`The figures <performance.json>` are there for programs, too.

| pattern | what is reduced |
| --- | --- |
| full | one long dimension |
| last long, last 64, last 8 | rows of 8192, 64 and 8 elements |
| first wide, first few, first tall | columns: of a wide array, of 8 rows, of 128 columns |
| middle, middle small | the middle one of three dimensions, of 512 and of 8 |
| both ends, last two small, first two | two of three dimensions |
| transposed | the rows of a transposed array |
| every other | `x[::2]`; the bytes are those of the cache lines it touches |

"""

MEASURED = """\
::::{{container}} measured
`{command}` on {processor}, {cores} cores, last-level cache {cache} MiB, read limit {limit:.1f} GB/s; {size},
medians of {rounds} rounds; {date}, commit {commit}; Python {python}, {versions}
::::

"""

CHART = """\
:::{{container}} chart
```{{raw}} html
:file: performance/{name}.svg
```
:::

"""

SIZES = """\
## By size

ReduceL2 of one dimension. Small arrays pay for the call; what fits into a cache may pass the limit.

"""

EXACT = """\
## How exact

The same million random and adversarial inputs of each operator are reduced by every library, and compared
with exact arithmetic. On the left is the largest error in ulp: ½ is the best possible, and at the right edge
are results that are not finite where they should be, or the other way round. Inputs that cancel are among
them, of which a small rest remains: there xpreduce's own bounds, too, are many ulp of a sum or its logarithm.
On the right is the share of results that are not the nearest number. [How exact the results
are](accuracy.md) has the bounds, the method, and every dtype.

"""

TAIL = """\
## Measure it yourself

Measuring wants the machine for itself. The third command takes an hour or so; the fourth draws the charts and
writes this page.

<!-- needs: an hour or more -->
```bash
python3 -m venv .venv
.venv/bin/python -m pip install -e '.[report]' torch
.venv/bin/python asv_benchmarks/report.py measure
.venv/bin/python asv_benchmarks/report.py render
```
"""


def measured(about: dict[str, Any]) -> str:
    """Return where and how figures were measured, in words."""
    elements = about["elements"]
    size = f"arrays of {elements:,} elements" if elements else "arrays of 256 MiB or eight caches"
    return MEASURED.format(
        **about | {"versions": ", ".join(f"{name} {number}" for name, number in about["versions"].items())},
        cache=about["last-level cache"] // 2**20,
        limit=about["read limit"],
        size=size,
    )


def page(found: dict[str, Any], accuracy: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the page and its charts, by name, from what has been measured."""
    charts: dict[str, str] = {}
    parts = [HEAD]

    def chart(name: str, draw: Callable[..., str], *arguments: Any) -> None:
        charts[name] = draw(*arguments, name)
        parts.append(CHART.format(name=name))

    if layouts := found.get("layouts"):
        parts.append("## By axis pattern and dtype\n\nReduceL2, xpreduce:\n\n")
        chart("layouts", drawings.shares, layouts["figures"])
        parts.append(measured(layouts["about"]))
        parts.append(
            "## Beside other libraries\n\nReduceL2 by axis pattern; more to the right is faster.\n\n"
        )
        for dtype in ("float32", "float16", "float64", "int32"):
            chosen = [record for record in layouts["figures"] if record["dtype"] == dtype]
            if chosen:
                parts.append(f"{dtype}:\n\n")
                chart(f"beside-{dtype}", drawings.beside, chosen, "case")
        parts.append(measured(layouts["about"]))
    if operators := found.get("operators"):
        parts.append("## By operator\n\n")
        for case, words in (
            ("full", "All of one long dimension"),
            ("first wide", "Columns, of a wide array"),
        ):
            chosen = [record for record in operators["figures"] if record["case"] == case]
            if chosen:
                parts.append(f"{words}, float32:\n\n")
                chart(f"operators-{case.replace(' ', '-')}", drawings.beside, chosen, "operator")
        parts.append(measured(operators["about"]))
    if sizes := found.get("sizes"):
        parts.append(SIZES)
        chart("sizes", drawings.sizes, sizes["figures"], sizes["about"]["read limit"])
        parts.append(measured(sizes["about"]))
    if threads := found.get("threads"):
        parts.append("## By threads\n\nReduceL2; the limit is that of all cores.\n\n")
        chart("threads", drawings.threads, threads["figures"])
        parts.append(measured(threads["about"]))
    parts.append(EXACT)
    for dtype in ("float32", "float64"):
        parts.append(f"{dtype}:\n\n")
        chart(f"accuracy-{dtype}", drawings.errors, accuracy["results"], dtype)
    about = accuracy["about"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    parts.append(
        "::::{container} measured\n"
        f"`python asv_benchmarks/accuracy.py` on {about['processor']}; {about['date']}; "
        f"Python {about['python']}, {versions}\n::::\n\n"
    )
    parts.append(TAIL)
    return "".join(parts), charts
