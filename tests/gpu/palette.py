"""Arrays of few distinct values: their exact reductions follow from how often each value is there.

So the oracle is exact whatever the number of terms, and costs nothing where there are billions of them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import exact
import numpy as np

SIZE = 31
"""How many values there are: a prime, so that few strides fall in step with them."""

Counts = dict[exact.Number, int]


def palette(op: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return SIZE values of a dtype whose reduction by `op` says something about all of them."""
    rng = np.random.default_rng(SIZE)
    if dtype.kind == "b":
        return np.arange(SIZE) % 5 == 0
    integers = dtype.kind in "iu"
    if op == "prod":  # of powers of two, so that the product is known
        few = [1] if dtype.kind == "u" else [1, -1] if integers else [2, -0.5, 0.5, -2, 1, -1]
        return np.asarray([*np.resize(few, SIZE - 1), 1], dtype)
    if integers:
        limits = np.iinfo(dtype)
        low, high = int(limits.min), int(limits.max)
        if op == "log_sum":
            low = 0
        elif op == "log_sum_exp":
            low, high = max(low, -60), 60
        return rng.integers(low, high, SIZE, dtype, endpoint=True)
    if op == "log_sum_exp":
        return rng.uniform(-20, 20, SIZE).astype(dtype)
    values = rng.standard_normal(SIZE) * 4.0 ** rng.integers(-3, 4, SIZE)
    return (np.abs(values) if op == "log_sum" else values).astype(dtype)


def tallied(values: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> Counts:
    """Return how often each value is there, equal ones together."""
    found: Counts = {}
    number = int if values.dtype.kind in "iub" else float
    for value, count in zip(values, counts, strict=True):
        if count:
            found[number(value)] = found.get(number(value), 0) + int(count)
    return found


def counted(values: np.ndarray[Any, Any], index: np.ndarray[Any, Any]) -> Counts:
    """Return how often each value is there, where `index` says which one each term is."""
    return tallied(values, np.bincount(index.ravel(), minlength=SIZE))


def progression(values: np.ndarray[Any, Any], start: int, step: int, length: int) -> Counts:
    """Return how often each value is among the terms start, start + step, … of endless repetitions."""
    if step % SIZE == 0:
        counts = np.zeros(SIZE, np.int64)
        counts[start % SIZE] = length
    else:
        cycles, rest = divmod(length, SIZE)
        counts = np.bincount((start + step * np.arange(rest)) % SIZE, minlength=SIZE) + cycles
    return tallied(values, counts)


def unrounded(op: str, counts: Counts) -> Fraction:
    """Return `op` of the finite values, as `exact.unrounded` does."""
    if op in ("max", "min"):
        return exact.unrounded(op, list(counts))
    if op == "log_sum_exp":
        return exact.log_sum_exp({Fraction(value): count for value, count in counts.items()})
    if op == "prod":
        return _product(counts)
    total = _sum(counts, {"l1": 1, "l2": 2, "sum_square": 2}.get(op, 0))
    if op == "mean":
        return total / sum(counts.values())
    if op == "l2":
        return exact.root(total)
    return exact.unrounded("log_sum", [total]) if op == "log_sum" else total


def problem(op: str, counts: Counts, dtype: str, got: Any) -> str | None:
    """Return what is wrong with a result of `dtype`, or None."""
    value = unrounded(op, counts)
    if dtype not in exact.PRECISION:
        logarithm = op in exact.LOGARITHMS
        right = exact.saturated(exact.rounded(value, "float64") if logarithm else value, dtype)
        slack = math.ceil(abs(right) * 2.0**-51) if logarithm else 0
        return None if abs(int(got) - right) <= slack else f"{int(got)} and not {right}"
    right, number = exact.rounded(value, dtype), float(got)
    if number == right:
        return None
    if math.isfinite(right) and math.isfinite(number):
        size = _sum(counts, 1)
        if op == "mean":
            size /= sum(counts.values())
        elif op == "log_sum":
            size /= _sum(counts, 0)
        elif op not in ("sum", "l1"):
            size = Fraction(1) if op == "log_sum_exp" else abs(value)
        allowed = exact.bound(op, value, sum(counts.values()), size, dtype)
        if abs(Fraction(number) - value) <= allowed:
            return None
    return f"{number!r} and not {right!r}"


def _sum(counts: Counts, power: int) -> Fraction:
    """Return the sum of the values (power 0), of their sizes (1) or of their squares (2)."""
    lift = {0: lambda v: v, 1: abs, 2: lambda v: v * v}[power]
    return sum((lift(Fraction(value)) * count for value, count in counts.items()), Fraction(0))


def _product(counts: Counts) -> Fraction:
    """Return the product of powers of two with signs; far out of every range it is cut."""
    exponent = sum((math.frexp(value)[1] - 1) * count for value, count in counts.items())
    odd = sum(count for value, count in counts.items() if value < 0) % 2
    return Fraction(2) ** max(-5000, min(exponent, 5000)) * (-1 if odd else 1)
