"""Measure how exact xpreduce and its peers are, and write the page that says so.

    python asv_benchmarks/accuracy.py                           everything: figures and page in docs/
    python asv_benchmarks/accuracy.py --update --operators prod    one operator again, the others stay
    python asv_benchmarks/accuracy.py --render                  only the page, from the figures there are
    python asv_benchmarks/accuracy.py --reductions 2000 --output out.json    a quick look

Each operator and dtype reduces the same random and adversarial inputs with every library that is installed,
and compares with exact arithmetic. Exits with 1 if xpreduce breaks one of its bounds.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import platform
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from machine import cpu_model
from rounding import libraries, page
from rounding.formats import DTYPES
from rounding.measure import measure

from xpreduce.operators import OPERATORS

DOCS = Path(__file__).resolve().parents[1] / "docs"
SHORT = {operator.short: operator.name for operator in OPERATORS.values()}


def measured(options: argparse.Namespace) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield operator, dtype and figures, in the order of the command line."""
    pairs = [(op, dtype) for op in options.operators for dtype in options.dtypes]
    names = [libraries.OURS] if options.peers == "none" else list(libraries.LIBRARIES)
    how = (options.reductions, options.seed, names)
    if options.processes == 1:
        for op, dtype in pairs:
            yield op, dtype, measure(op, dtype, *how).as_json()
        return
    with ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(measure, op, dtype, *how) for op, dtype in pairs]
        for (op, dtype), future in zip(pairs, futures, strict=True):
            yield op, dtype, future.result().as_json()


def line(op: str, dtype: str, figures: dict[str, Any]) -> str:
    """Return the figures of one operator and dtype in one line."""
    parts = [f"{op:12} {dtype:9} {figures['reductions']:8}"]
    for name, tally in figures["libraries"].items():
        largest = "inf" if tally["not_finite"] else f"{tally['largest']:.4g}"
        parts.append(f"{name} {largest} {100 * tally['right'] / figures['reductions']:.4f} %")
    if figures["beyond"]:
        parts.append(f"BEYOND THE BOUNDS: {figures['beyond']}")
    return "  ".join(parts)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reductions", type=int, default=10**6, help="for each operator and dtype, at least")
    parser.add_argument("--operators", nargs="+", choices=SHORT, default=list(SHORT))
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
    parser.add_argument("--peers", choices=("all", "none"), default="all", help="none: only xpreduce")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=20240229)
    parser.add_argument("--output", type=Path, default=DOCS / "accuracy.json", help="where the figures go")
    parser.add_argument("--update", action="store_true", help="keep the output's figures of all others")
    parser.add_argument("--render", action="store_true", help="write the page from the output's figures only")
    options = parser.parse_args()
    options.page = options.output.with_suffix(".md")
    return options


def main() -> int:
    """Measure, write figures and page, and say whether xpreduce kept its bounds."""
    options = arguments()
    if not options.render:
        results: dict[str, Any] = {}
        if options.update:
            results = json.loads(options.output.read_text())["results"]
        for op, dtype, figures in measured(options):
            print(line(op, dtype, figures), flush=True)
            for breach in figures["breaches"]:
                print("   ", breach, flush=True)
            results.setdefault(SHORT[op], {})[dtype] = figures
        about = {
            "date": datetime.date.today().isoformat(),
            "processor": cpu_model(),
            "python": platform.python_version(),
            "versions": libraries.installed(),
            "seed": options.seed,
        }
        options.output.write_text(json.dumps({"about": about, "results": results}, indent=1) + "\n")
    found = json.loads(options.output.read_text())
    options.page.write_text(page.page(found))
    broken = sum(figures["beyond"] for dtypes in found["results"].values() for figures in dtypes.values())
    if broken:
        print(f"xpreduce broke its bounds {broken} times", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
