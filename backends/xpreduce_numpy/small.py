"""Arrays of few elements: exact sums with Python's own numbers, for which NumPy calls cost too much."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xpreduce.protocol import Reduction

MOST = 2**8
"""Elements up to which this is faster than blocks."""

_UP, _DOWN = 1 + 2.0**-50, 1 - 2.0**-50
_ROUNDED = {name: np.dtype(name) for name in ("float16", "float32")}


def reduce(x: Any, reduction: Reduction) -> Any | None:
    """Return the reduction of a small array that is not empty, or None where this way can't be sure.

    It is sure where the results are finite and none is next to a tie of the result's dtype.
    """
    operator, result, plan = reduction.operator, reduction.result, reduction.plan
    shape = plan.result_shape(x.shape)
    if plan.kept:
        if x.ndim > 1:
            x = x.transpose(plan.kept + plan.axes)
        rows = x.reshape(math.prod(shape), -1).tolist()
    else:
        rows = (x.reshape(-1).tolist(),)
    if not result.is_float:
        integer = _INTEGERS[operator.lift, operator.finish]
        low, high = result.minimum, result.maximum
        values = [min(max(integer(row), low), high) for row in rows]
        return np.array(values, result.name).reshape(shape)
    try:
        values = [_FLOATS[operator.lift, operator.finish](row) for row in rows]
    except (OverflowError, ValueError):  # intermediate overflow; infinities of both signs
        return None
    # A sum of finite numbers, or of their absolute values, that is finite holds no infinity and no NaN.
    largest = max(map(abs, values))
    if not sum(values) * 0.0 == 0.0 or largest > result.maximum:
        return None
    if result.name == "float64":
        return np.array(values).reshape(shape)
    dtype = _ROUNDED.get(result.name)
    if dtype is None:
        return None
    both = np.array([[v * _DOWN for v in values], [v * _UP for v in values]], dtype)
    below, above = both.tolist()
    return both[0].reshape(shape) if below == above else None


def _sum(row: list[float]) -> float:
    total = math.fsum(row)
    if total == 0 and all(v == 0 and math.copysign(1.0, v) < 0 for v in row):
        return -0.0
    return total


def _norm(row: list[float]) -> float:
    return math.hypot(*row)


def _integer_norm(row: list[int]) -> int:
    return math.isqrt(sum(v * v for v in row))


_FLOATS: dict[tuple[str, str], Callable[[list[float]], float]] = {
    ("identity", "identity"): _sum,
    ("square", "sqrt"): _norm,
}
_INTEGERS: dict[tuple[str, str], Callable[[list[int]], int]] = {
    ("identity", "identity"): sum,
    ("square", "sqrt"): _integer_norm,
}
