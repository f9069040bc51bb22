"""Chosen results computed again by the algebra, compensated and scaled: slow, and right in every case."""

from __future__ import annotations

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
        results[chosen] = algebra_of(reduction).finish(np, state(walk, reduction, box, chosen))
    return results
