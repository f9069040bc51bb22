"""The right results for integers: exact, rounded toward zero, then saturated."""

from __future__ import annotations

import math

import numpy as np

from . import exact
from .formats import FLOATS
from .nearest import rounded


def right(op: str, x: np.ndarray) -> np.ndarray:
    """Return `op` of each row of an integer array of shape (rows, n), in its dtype."""
    if op in ("max", "min"):
        return exact.largest(x) if op == "max" else exact.smallest(x)
    limits = np.iinfo(x.dtype)
    numbers = [min(max(one, int(limits.min)), int(limits.max)) for one in unlimited(op, x)]
    return np.array(numbers, dtype=x.dtype)


def unlimited(op: str, x: np.ndarray) -> list[int]:
    """Return `op` of each row, rounded toward zero, as Python integers."""
    if op in ("log_sum", "log_sum_exp"):
        return logarithms(op, x)
    rows = exact.rows_of(x)
    if op == "prod":
        return exact.products(rows)[0].tolist()
    numbers = exact.totals(exact.lifted(op, rows))[0].tolist()
    if op == "l2":
        return [math.isqrt(number) for number in numbers]
    if op == "mean":
        return [toward_zero(number, rows.count) for number in numbers]
    return numbers


def toward_zero(number: int, divisor: int) -> int:
    """Return a quotient without what follows the point."""
    size = abs(number) // divisor
    return size if number >= 0 else -size


def logarithms(op: str, x: np.ndarray) -> list[int]:
    """Return the float64 results rounded toward zero: NaN gives 0, -inf saturates."""
    found = rounded(exact.values(op, x), FLOATS["float64"]).nearest
    lowest = int(np.iinfo(x.dtype).min)
    return [0 if math.isnan(one) else lowest if math.isinf(one) else int(one) for one in found.tolist()]


def errors(results: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the distance of results from the right ones, both of one integer dtype, as float64."""
    above = results >= right
    ours, theirs = right.astype(np.uint64), results.astype(np.uint64)
    # Unsigned differences wrap around to the true ones.
    apart = np.where(above, theirs - ours, ours - theirs)
    return apart.astype(np.float64)


def allowed(op: str, right: np.ndarray) -> np.ndarray:
    """Return the errors that docs/semantics.md allows: none but those of a float64 result before its cast."""
    if op != "log_sum_exp":
        return np.zeros(right.shape)
    size = np.maximum(abs(right.astype(np.float64)), 1.0)
    return np.floor(2 * np.spacing(size))
