"""One of the processes that take turns: it times reductions of the xpreduce that its path leads to.

It reads a line for each turn from its standard input, ``operator case dtype elements repeats`` between tabs,
and answers with the best time of one call in seconds.
"""

from __future__ import annotations

import sys
import time
from functools import lru_cache
from typing import Any

import numpy as np
from benchmarks import calls, cases, data

import xpreduce

CALL = "call"
"""The case of a call on a (3, 4) array, of which one is too short to time."""

CALLS = 500


@lru_cache(maxsize=1)
def array(case: str, dtype: str, elements: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return an array and the axes to reduce."""
    if case == CALL:
        return calls.tiny(dtype), (1,)
    chosen = cases.CASES[case]
    return chosen.look(data.filled(dtype, elements), elements), chosen.axes


def best(operator: str, x: Any, axes: tuple[int, ...], number: int, repeats: int) -> float:
    """Return the best time of a call."""
    found = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(number):
            xpreduce.reduce(operator, x, axes)
        found = min(found, (time.perf_counter() - start) / number)
    return found


def main() -> None:
    """Say which xpreduce this is, then time what each line asks for."""
    print(xpreduce.__file__, flush=True)
    with np.errstate(all="ignore"):
        for line in sys.stdin:
            operator, case, dtype, elements, repeats = line.rstrip("\n").split("\t")
            x, axes = array(case, dtype, int(elements))
            number = CALLS if case == CALL else 1
            print(best(operator, x, axes, number, int(repeats)), flush=True)


if __name__ == "__main__":
    main()
