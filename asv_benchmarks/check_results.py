"""Fail where a benchmark failed: `python asv_benchmarks/check_results.py RESULTS_DIR`.

asv writes null for a benchmark or parameter that raised, and NaN for one that was skipped. Skipping is for
peers that can't serve a case, and for machines without a GPU; else a skipped xpreduce is a failure.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path


def faults(path: Path) -> tuple[int, list[str]]:
    """Return how many values one file of results holds, and what is wrong with them."""
    content = json.loads(path.read_text())
    names = content["result_columns"]
    count, wrong = 0, []
    for benchmark, row in content["results"].items():
        columns = dict(zip(names, row, strict=False))  # trailing empty columns are left out
        parameters = list(itertools.product(*columns["params"]))
        values = columns["result"]
        if values is None:
            wrong.append(f"{benchmark}: failed as a whole")
            continue
        if benchmark.startswith("gpu.") and all(value is not None and math.isnan(value) for value in values):
            continue  # there is none
        for chosen, value in zip(parameters, values, strict=True):
            count += 1
            label = f"{benchmark}({', '.join(chosen)})"
            if value is None:
                wrong.append(f"{label}: failed")
            elif math.isnan(value) and (not chosen or chosen[-1] == "'xpreduce'"):
                wrong.append(f"{label}: skipped")
    return count, wrong


def main() -> int:
    """Check every result file below the folder on the command line."""
    paths = [
        path
        for path in Path(sys.argv[1]).rglob("*.json")
        if path.name not in ("machine.json", "benchmarks.json")
    ]
    total, wrong = 0, []
    for path in paths:
        count, found = faults(path)
        total += count
        wrong += found
    print("\n".join(wrong) or f"{total} benchmark results, none failed")
    if not total and not wrong:
        print("no result was found")
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main())
