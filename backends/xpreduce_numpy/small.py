"""Arrays of few elements: exact sums with Python's own numbers, for which NumPy calls cost too much."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xpreduce.protocol import Reduction

MOST = 2**11
"""Elements up to which this is faster than blocks, in at most `_MOST_ROWS` results."""

_MOST_ROWS = 2**7

_UP, _DOWN = 1 + 2.0**-50, 1 - 2.0**-50
_NARROW = {name: np.dtype(name) for name in ("float16", "float32")}

Row = list[float]


def reduce(x: Any, reduction: Reduction) -> Any | None:
    """Return the reduction of a small array that is not empty, or None where this way can't be sure.

    It is sure where the results are finite.
    """
    operator, result, plan = reduction.operator, reduction.result, reduction.plan
    shape = plan.result_shape(x.shape)
    if not plan.kept:
        rows = (x.reshape(-1).tolist(),)
    else:
        count = math.prod(shape)
        if count > _MOST_ROWS:
            return None
        if plan.kept[-1] >= len(plan.kept):  # a reduced dimension comes before a kept one
            x = x.transpose(plan.kept + plan.axes)
        rows = x.reshape(count, -1).tolist()
    how = operator.lift, operator.finish
    if not result.is_float:
        integer, low, high = _INTEGERS[how], result.minimum, result.maximum
        return np.array([min(max(integer(row), low), high) for row in rows], result.name).reshape(shape)
    floating, beyond = _FLOATS[how]
    try:
        values = [floating(row) for row in rows]
    except (OverflowError, ValueError):  # intermediate overflow; infinities of both signs
        return None
    # A sum of finite numbers, or of their sizes, that is finite holds no infinity and no NaN.
    if sum(values) * 0.0 != 0.0:
        return None
    if result.bits == 64:
        return np.array(values).reshape(shape)
    dtype = _NARROW.get(result.name)
    if dtype is None or max(values) > result.maximum or min(values) < result.minimum:
        return None
    both = np.array([[v * _DOWN for v in values], [v * _UP for v in values]], dtype)
    below, above = both.tolist()
    if below != above:
        for i, row in enumerate(rows):
            if below[i] != above[i]:
                tie = (below[i] + above[i]) / 2
                more = beyond(row, tie)  # how much larger in size than the tie the exact value is
                both[0, i] = above[i] if more > 0 else tie if more == 0 else below[i]
    return both[0].reshape(shape)


def _sum(row: list[float]) -> float:
    total = math.fsum(row)
    if total == 0 and all(v == 0 and math.copysign(1.0, v) < 0 for v in row):
        return -0.0
    return total


def _norm(row: list[float]) -> float:
    return math.hypot(*row)


def _sum_beyond(row: list[float], value: float) -> float:
    """Return by how much the sum is larger in size than `value`, which has its sign."""
    return math.fsum([*row, -value]) * math.copysign(1.0, value)


def _norm_beyond(row: list[float], value: float) -> float:
    """Return a number that has the sign of the norm less `value`, for squares that are exact."""
    return math.fsum([*(v * v for v in row), -value * value])


def _integer_norm(row: list[int]) -> int:
    return math.isqrt(sum(v * v for v in row))


_FLOATS: dict[tuple[str, str], tuple[Callable[[Row], float], Callable[[Row, float], float]]] = {
    ("identity", "identity"): (_sum, _sum_beyond),
    ("square", "sqrt"): (_norm, _norm_beyond),
}
_INTEGERS: dict[tuple[str, str], Callable[[list[int]], int]] = {
    ("identity", "identity"): sum,
    ("square", "sqrt"): _integer_norm,
}
