"""Measure how fast xpreduce and its peers are, and write the page that shows it.

    python asv_benchmarks/report.py measure              all figures, into docs/performance.json
    python asv_benchmarks/report.py measure sizes        one part again, the others stay
    python asv_benchmarks/report.py render               charts and page, from the figures there are

Measuring wants the machine for itself, and takes an hour or so. `--elements 2**22` is quicker, and measures
the cache.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from benchmarks import cases, other_libraries
from machine import commit, cpu_model, versions

from xpreduce.operators import OPERATORS

DOCS = Path(__file__).resolve().parents[1] / "docs"
PACKAGES = ("xpreduce", "numpy", "llvmlite", "ml_dtypes", *other_libraries.LIBRARIES)

#: What each part measures: a function of `ratios`, and what it is asked for.
PARTS: dict[str, dict[str, Any]] = {
    "layouts": {
        "what": "grid",
        "operators": ["ReduceL2"],
        "cases": list(cases.CASES),
        "dtypes": list(cases.DTYPES),
    },
    "operators": {
        "what": "grid",
        "operators": list(OPERATORS),
        "cases": ["full", "first wide"],
        "dtypes": ["float32"],
    },
    "sizes": {"what": "sizes", "operators": ["ReduceL2"], "cases": [], "dtypes": ["float32", "float64"]},
    "threads": {
        "what": "thread_counts",
        "operators": ["ReduceL2"],
        "cases": ["full", "last 8", "first wide", "middle"],
        "dtypes": ["float16", "float32", "float64"],
    },
}


def measure(options: argparse.Namespace) -> None:
    """Measure the parts that are asked for, and keep each as soon as it is there."""
    import ratios

    found = json.loads(options.output.read_text()) if options.output.exists() else {}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    for part in options.parts or PARTS:
        asked = PARTS[part]
        wanted = SimpleNamespace(
            **asked, elements=options.elements, rounds=options.rounds, data="wide", json=True
        )
        limit = ratios.read_limit()
        with np.errstate(all="ignore"):
            seconds = [ratios.seconds(limit) for _ in range(7)][1:]
            figures = []
            for record in getattr(ratios, asked["what"])(wanted):
                figures.append(record)
                print(ratios.line(record), file=sys.stderr, flush=True)
        found[part] = {
            "about": {
                "date": datetime.date.today().isoformat(),
                "processor": cpu_model(),
                "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
                "last-level cache": cases.last_level_cache(),
                "read limit": ratios.LIMIT_BYTES / statistics.median(seconds) / 1e9,
                "commit": commit(),
                "python": sys.version.split()[0],
                "versions": versions(PACKAGES),
                "elements": options.elements,
                "rounds": options.rounds,
                "command": " ".join(
                    [
                        "python asv_benchmarks/report.py measure",
                        part,
                        *given(options.elements, options.rounds),
                    ]
                ),
            },
            "figures": figures,
        }
        ordered = {name: found[name] for name in PARTS if name in found}
        options.output.write_text(json.dumps(ordered, indent=1) + "\n")


def given(elements: int | None, rounds: int) -> list[str]:
    """Return the options that differ from their defaults, as they were given."""
    found = [] if elements is None else [f"--elements {elements}"]
    return found if rounds == ROUNDS else [*found, f"--rounds {rounds}"]


def render(options: argparse.Namespace) -> None:
    """Write charts and page beside the figures."""
    from charts.page import page

    folder = options.output.parent
    accuracy = json.loads((DOCS / "accuracy.json").read_text())
    text, charts = page(json.loads(options.output.read_text()), accuracy)
    (folder / "performance").mkdir(exist_ok=True)
    for name, drawn in charts.items():
        (folder / "performance" / f"{name}.svg").write_text(drawn)
    (folder / "performance.md").write_text(text)


ROUNDS = 5


def main() -> None:
    """Do what the command line asks for."""
    from ratios import power

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("measure", "render"))
    parser.add_argument("parts", nargs="*", help=f"what to measure: {', '.join(PARTS)}; all by default")
    parser.add_argument(
        "--elements", type=power, help="per array; default: as many as 256 MiB and eight caches hold"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="alternations, at least 5 for figures")
    parser.add_argument("--output", type=Path, default=DOCS / "performance.json")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    (measure if options.what == "measure" else render)(options)


if __name__ == "__main__":
    main()
