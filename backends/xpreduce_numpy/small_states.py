"""States of arrays of few elements and one result, made of exact sums by Python's own numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of, limbs
from xpreduce.algebra.integer_sums import IntegerSum
from xpreduce.protocol import Reduction, State

MOST = 2**8
"""Elements up to which this is faster than what else there is."""

_LARGEST = 2.0**900
"""Sums of sizes up to which float64 needs no scale."""

_MIDDLE = 2.0**-400, 2.0**480
"""Sizes of the largest value between which squares of float64 need none."""

_SPLITTER = 2.0**27 + 1

_FLOATS = ("float16", "float32", "float64")

_LIFTS: dict[str, Callable[[Any], list[Any]]] = {
    "identity": lambda row: row,
    "abs": lambda row: list(map(abs, row)),
    "square": lambda row: [v * v for v in row],
}


def partial(x: Any, reduction: Reduction) -> State | None:
    """Return the state of a small array that is not empty, or None where this way can't be sure."""
    operator, dtype = reduction.operator, reduction.dtype
    if operator.lift not in _LIFTS or (dtype.is_float and dtype.name not in _FLOATS):
        return None
    shape = (1,) * x.ndim
    if any(x.shape[axis] != 1 for axis in reduction.plan.kept):
        return None
    if operator.combine != "sum":
        return _extreme(x, reduction, shape) if operator.combine != "product" else None
    if not dtype.is_float:
        return _integers(x, reduction, shape)
    row, wide = x.reshape(-1).tolist(), dtype.bits == 64
    terms = _exact_squares(row) if wide and operator.lift == "square" else _LIFTS[operator.lift](row)
    try:
        high = math.fsum(terms)
        low = math.fsum([-high, *terms])
    except (OverflowError, ValueError):  # intermediate overflow; infinities of both signs
        return None
    # Zero may have a sign; what is not finite, or large, is the algebra's business.
    if high == 0.0 or low - low != 0.0:
        return None
    pair = np.array(high).reshape(shape), np.array(low).reshape(shape)
    if not wide:
        return *pair, np.array(x.size)
    if operator.lift == "square":
        if not _MIDDLE[0] < max(map(abs, row)) < _MIDDLE[1]:
            return None
    elif math.fsum(map(abs, terms)) > _LARGEST:
        return None
    return *pair, np.array(x.size), np.zeros(shape, np.int8)


def _exact_squares(row: list[float]) -> list[float]:
    """Return the squares of float64, each with its rounding error, by Dekker's product."""
    terms: list[float] = []
    for v in row:
        square, c = v * v, _SPLITTER * v
        upper = c - (c - v)
        lower = v - upper
        terms += (square, ((upper * upper - square) + 2 * upper * lower) + lower * lower)
    return terms


def _integers(x: Any, reduction: Reduction, shape: tuple[int, ...]) -> State:
    algebra = algebra_of(reduction)
    assert isinstance(algebra, IntegerSum)
    total = sum(_LIFTS[reduction.operator.lift](x.reshape(-1).tolist()))
    parts = []
    for _ in range(algebra.size - 1):
        parts.append(total & limbs.MASK)
        total >>= limbs.BITS
    return *(np.array(part, np.int64).reshape(shape) for part in (*parts, total)), np.array(x.size)


def _extreme(x: Any, reduction: Reduction, shape: tuple[int, ...]) -> State | None:
    found = x.max() if reduction.operator.combine == "maximum" else x.min()
    if not reduction.dtype.is_float:
        if reduction.dtype.name == "uint64":
            return None
        return np.array(found, np.int64).reshape(shape), np.array(x.size)
    if found == 0.0:
        return None
    held = np.float64 if reduction.dtype.bits == 64 else np.float32
    return np.array(found, held).reshape(shape), np.zeros(shape, np.bool_), np.array(x.size)
