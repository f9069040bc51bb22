"""Arrays of few elements: exact sums with Python's own numbers, for which NumPy calls cost too much."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from xpreduce.dtypes import DType
from xpreduce.operators import Operator
from xpreduce.protocol import Reduction

MOST = 2**11
"""Elements up to which this is faster than blocks, in at most `_MOST_ROWS` results; of float64 twice that."""

_MOST_ROWS = 2**7

_UP, _DOWN = 1 + 2.0**-50, 1 - 2.0**-50
_NARROW = {name: np.dtype(name) for name in ("float16", "float32")}

Row = list[float]


def serves(reduction: Reduction, size: int) -> bool:
    """Whether reductions by this operator of so many elements of this dtype are made this way."""
    dtype = reduction.dtype
    if not 0 < size <= most(dtype) or dtype is not reduction.result:
        return False
    return _functions(reduction.operator, dtype) is not None


def most(dtype: DType) -> int:
    """Return the most elements of a dtype that are reduced this way."""
    return 2 * MOST if dtype.name == "float64" else MOST


@cache
def _functions(operator: Operator, dtype: DType) -> tuple[Callable[..., Any], ...] | None:
    """Return what makes a row's result, and for floats what resolves ties; None where nothing can."""
    how = operator.lift, operator.finish
    if operator.combine != "sum" or how not in _FLOATS:
        return None
    if not dtype.is_float:
        return (_INTEGERS[how],)
    if dtype.bits == 64:
        # Squares of float64 are not exact, and a float64 mean would be rounded twice.
        return None if how in (("square", "identity"), ("identity", "mean")) else _FLOATS[how]
    return _FLOATS[how] if dtype.name in _NARROW else None


def reduce(x: Any, reduction: Reduction) -> Any | None:
    """Return the reduction of a small array that is not empty, or None where this way can't be sure.

    It is sure where the results are finite.
    """
    result, plan = reduction.result, reduction.plan
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
    functions = _functions(reduction.operator, result)
    assert functions is not None
    if not result.is_float:
        (integer,), low, high = functions, result.minimum, result.maximum
        return np.array([min(max(integer(row), low), high) for row in rows], result.name).reshape(shape)
    floating, beyond = functions
    try:
        values = [floating(row) for row in rows]
    except (OverflowError, ValueError):  # intermediate overflow; infinities of both signs
        return None
    # A sum of finite numbers, or of their sizes, that is finite holds no infinity and no NaN.
    if sum(values) * 0.0 != 0.0:
        return None
    if result.bits == 64:
        return np.array(values).reshape(shape)
    if max(values) > result.maximum or min(values) < result.minimum:
        return None
    both = np.array([[v * _DOWN for v in values], [v * _UP for v in values]], _NARROW[result.name])
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


def _mean(row: Row) -> float:
    return _sum(row) / len(row)


def _size(row: Row) -> float:
    return math.fsum(map(abs, row))


def _norm(row: Row) -> float:
    return math.hypot(*row)


def _squares(row: Row) -> float:
    return math.fsum([v * v for v in row])


# By how much, or with the same sign as, a result is larger in size than `value`, which has its sign.
# Squares of what is narrower than float64, and of a tie between two such numbers, are exact.


def _sum_beyond(row: Row, value: float) -> float:
    return math.fsum([*row, -value]) * math.copysign(1.0, value)


def _mean_beyond(row: Row, value: float) -> float:
    return math.fsum([*row, -value * len(row)]) * math.copysign(1.0, value)


def _size_beyond(row: Row, value: float) -> float:
    return math.fsum([*map(abs, row), -value])


def _norm_beyond(row: Row, value: float) -> float:
    return math.fsum([*(v * v for v in row), -value * value])


def _squares_beyond(row: Row, value: float) -> float:
    return math.fsum([*(v * v for v in row), -value])


def _integer_mean(row: list[int]) -> int:
    total = sum(row)
    return total // len(row) if total >= 0 else -(-total // len(row))


_FLOATS: dict[tuple[str, str], tuple[Callable[[Row], float], Callable[[Row, float], float]]] = {
    ("identity", "identity"): (_sum, _sum_beyond),
    ("identity", "mean"): (_mean, _mean_beyond),
    ("abs", "identity"): (_size, _size_beyond),
    ("square", "sqrt"): (_norm, _norm_beyond),
    ("square", "identity"): (_squares, _squares_beyond),
}
_INTEGERS: dict[tuple[str, str], Callable[[list[int]], int]] = {
    ("identity", "identity"): sum,
    ("identity", "mean"): _integer_mean,
    ("abs", "identity"): lambda row: sum(map(abs, row)),
    ("square", "sqrt"): lambda row: math.isqrt(sum(v * v for v in row)),
    ("square", "identity"): lambda row: sum(v * v for v in row),
}
