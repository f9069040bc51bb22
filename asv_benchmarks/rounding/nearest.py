"""From exact values to a dtype: the nearest number, the errors of results in ulp, and what is allowed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .exact import HALF, Values
from .formats import Format

#: Errors above it are not told apart.
HIGHEST = 1e300
#: Errors are computed in float64.
SLACK = 1e-6


@dataclass
class Right:
    """The right results of rows in one format, as float64.

    Attributes
    ----------
    nearest : array
        The exact value rounded once.
    unit : array of int
        The exponent of an ulp around the exact value.
    rest : array
        The exact value less the nearest, in ulp.
    """

    nearest: np.ndarray
    unit: np.ndarray
    rest: np.ndarray


def rounded(values: Values, to: Format) -> Right:
    """Round to nearest, ties to even."""
    unit = np.maximum(values.exponent + HALF - to.digits, to.lowest)
    unit = np.where(values.high == 0, to.lowest, unit)
    dropped = np.where(values.high == 0, HALF, unit - values.exponent)  # digits of `high` below an ulp
    short = np.minimum(dropped, HALF + 2).astype(np.int64)
    count = values.high >> short
    below = values.high - (count << short)
    half = np.int64(1) << (short - 1)
    up = (below > half) | ((below == half) & ((values.low > 0) | (count % 2 == 1)))
    size = np.ldexp((count + up).astype(np.float64), unit)
    nearest = np.where(size > to.maximum, np.inf, size) * values.sign
    # Digits that lie far below an ulp are no part of `up`, so `short` is the true distance where `up` is set.
    less = (below - (up.astype(np.int64) << short)).astype(np.float64) + np.ldexp(
        values.low.astype(np.float64), -HALF
    )
    rest = np.ldexp(less, -dropped) * values.sign
    nearest = np.where(values.other == 0, nearest, values.other)
    return Right(nearest, unit, rest)


def errors(results: np.ndarray, right: Right) -> np.ndarray:
    """Return the distance of results from the exact values in ulp.

    It is inf where a result is NaN or infinite and the right one is another, or the other way round; 0 where
    both are the same NaN or infinity.
    """
    results = results.astype(np.float64)
    same = (results == right.nearest) | (np.isnan(results) & np.isnan(right.nearest))
    finite = np.isfinite(results) & np.isfinite(right.nearest)
    ours, theirs = np.where(finite, right.nearest, 0.0), np.where(finite, results, 0.0)
    # Halves, where the difference of two large numbers would overflow.
    scale = np.maximum(abs(ours), abs(theirs)) > 2.0**1000
    apart = np.where(scale, theirs / 2 - ours / 2, np.where(scale, 0.0, theirs) - np.where(scale, 0.0, ours))
    with np.errstate(over="ignore"):
        apart = np.ldexp(apart, scale - right.unit)
    size = np.minimum(abs(apart - right.rest), HIGHEST)
    return np.where(finite, size, np.where(same, 0.0, np.inf))


def allowed(op: str, values: Values, right: Right, to: Format, count: int) -> np.ndarray:
    """Return the errors in ulp that docs/semantics.md allows for reductions of `count` terms."""
    if op in ("max", "min"):
        return np.zeros(len(right.unit))
    if op == "log_sum":
        return allowed_log_sum(values, right, to, count)
    with np.errstate(over="ignore"):
        terms = np.ldexp(values.terms, np.minimum(values.terms_exponent - right.unit, 3000))
    if to.name != "float64":
        return 0.5 + 2.0**-43 * terms + SLACK
    if op == "log_sum_exp":
        whole = np.maximum(abs(right.nearest), 1.0)
        unit = np.frexp(whole)[1].astype(np.int64) - to.digits
        with np.errstate(over="ignore"):
            return np.ldexp(2.0 + SLACK, unit - right.unit)
    return (2.0 if op == "prod" else 1.0) + count * 2.0**-104 * terms + SLACK


def allowed_log_sum(values: Values, right: Right, to: Format, count: int) -> np.ndarray:
    """Return what is allowed for the logarithm of a sum: an error of the sum may be all that it is."""
    own, relative = (2.0, count * 2.0**-104) if to.name == "float64" else (0.5, 2.0**-43)
    share = np.minimum(relative * values.terms, 1.0)  # of the sum
    return own + np.ldexp(-np.log1p(-share), -right.unit) + SLACK
