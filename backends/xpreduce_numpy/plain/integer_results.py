"""Integer results of sums that fit 64 bits, or two halves of 64: without the limbs that any sum fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.dtypes import DType, in_namespace
from xpreduce.operators import Finish

_HALF = 32  # bits
_MASK = 2**_HALF - 1
_EXACT = 2**53


def of_int64(total: Any, bound: int, terms: int, last: Finish, result: DType) -> Any:
    """Return what becomes of int64 sums, none of which exceeds `bound` in size."""
    if last == "log":
        return of_logarithms(np.log(total.astype(np.float64)), result)
    if last == "sqrt":
        total = _root(total, bound)
    elif last == "mean":
        total = _mean(total, bound, terms)
    return _clipped(total, result)


def of_halves(low: Any, high: Any, terms: int, last: Finish, result: DType) -> Any | None:
    """Return what becomes of low + high * 2**32, of fewer than 2**31 terms; None for roots."""
    high = high + (low >> _HALF)
    low = low & _MASK
    if last == "log":
        return of_logarithms(np.log(high * 2.0**_HALF + low), result)
    if last == "sqrt":
        return None
    if last == "mean":
        below = high < 0
        upper = high // terms
        lower, rest = np.divmod((high - upper * terms) << _HALF | low, terms)
        lower += below & (rest != 0)  # toward zero
        high, low = upper + (lower >> _HALF), lower & _MASK
    unsigned = result.kind == "uint"
    least, most = (0, 2**_HALF) if unsigned else (-(2 ** (_HALF - 1)), 2 ** (_HALF - 1))
    value = high << _HALF | low
    value = value.view(np.uint64) if unsigned else value
    limits = np.iinfo(value.dtype)
    np.copyto(value, limits.max, where=high >= most)
    np.copyto(value, limits.min, where=high < least)
    return _clipped(value, result)


def of_logarithms(log: Any, result: DType) -> Any:
    """Round logarithms of integers toward zero: of 0 it is the least number, below that 0 for NaN."""
    value = np.where(log >= 0, log, 0.0).astype(np.int64)
    np.copyto(value, result.minimum, where=np.isneginf(log))
    return value.astype(in_namespace(np, result.name))


def _clipped(value: Any, result: DType) -> Any:
    limits = np.iinfo(value.dtype)
    if result.minimum > limits.min or result.maximum < limits.max:
        value = np.clip(value, max(result.minimum, limits.min), min(result.maximum, limits.max))
    return value.astype(in_namespace(np, result.name), copy=False)


def _root(total: Any, bound: int) -> Any:
    root = np.sqrt(total).astype(np.int64)
    if bound >= _EXACT // 2:  # below that, the float64 root, rounded down, is the integer root
        size = total.astype(np.uint64)
        root = root.astype(np.uint64)
        root -= root * root > size
        root += (root + np.uint64(1)) ** 2 <= size
        root = root.astype(np.int64)
    return root


def _mean(total: Any, bound: int, terms: int) -> Any:
    if bound < _EXACT:  # no quotient comes so close to the next integer that it rounds to it
        return np.trunc(total / terms).astype(np.int64)
    quotient, rest = np.divmod(total, terms)
    quotient += (total < 0) & (rest != 0)
    return quotient
