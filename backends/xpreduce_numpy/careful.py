"""Chosen results computed again by the algebra, compensated and scaled: slow, and right in every case."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy.walk import Walk


def state(walk: Walk, reduction: Reduction, box: Box, chosen: Any) -> State:
    """Return the state of the results of `box` that the flat indices `chosen` name."""
    algebra = algebra_of(reduction)
    runs = []
    for rows in walk.rows(box, chosen):
        total: Any = None
        for part in rows:
            seen = algebra.partial(np, part)
            total = seen if total is None else algebra.combine(np, total, seen)
        runs.append(total)
    return tuple(np.concatenate(parts) if parts[0].ndim else parts[0] for parts in zip(*runs, strict=True))


def mended(results: Any, walk: Walk, reduction: Reduction, box: Box, wrong: Any) -> Any:
    """Return `results` with those that the mask `wrong` names computed again."""
    if wrong.any():
        chosen = np.flatnonzero(wrong)
        found = state(walk, reduction, box, chosen)
        if reduction.operator.combine == "sum" and reduction.operator.lift == "identity":
            _cancelled(found, walk, box, chosen)
        results[chosen] = algebra_of(reduction).finish(np, found)
    return results


def _cancelled(found: State, walk: Walk, box: Box, chosen: Any) -> None:
    """Put exact sums in the place of those in which so much cancelled that pairs may have lost bits.

    Pairs are accurate to 2**-95 of the terms' sizes, which is more than the result's precision unless
    less than 2**-40 of them is left. What is left must not depend on the order in memory.
    """
    high, low = found[0], found[1]
    sizes = np.concatenate(
        [sum(np.abs(part.astype(np.float64)).sum(axis=1) for part in rows) for rows in walk.rows(box, chosen)]
    )
    lost = np.isfinite(high) & np.isfinite(sizes) & (np.abs(high) < sizes * 2.0**-40)
    if len(found) == 4:
        lost &= found[3] == 0

    def terms(index: int) -> Iterator[float]:
        for rows in walk.rows(box, chosen[index : index + 1]):
            for part in rows:
                yield from part.astype(np.float64).ravel().tolist()

    for index in np.flatnonzero(lost).tolist():
        high[index] = math.fsum(terms(index))
        low[index] = math.fsum(chain([-high[index]], terms(index)))
