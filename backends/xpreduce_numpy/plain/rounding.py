"""Float64 values rounded once to a narrower dtype, and where their error leaves that rounding open.

Ziv's strategy (ACM TOMS 17, 1991): where both ends of what a value may be round alike, the value is good
enough; the few others are computed again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import pairs
from xpreduce.dtypes import DType, in_namespace
from xpreduce_numpy.plain.blocks import Scratch

_SINGLE = 2.0**-21
"""More than what rounding to float32 on the way may add to a rounding to bfloat16, as a share."""


def cast(value: Any, result: DType) -> Any:
    """Round float64 once; NumPy's own cast to bfloat16 goes by way of float32."""
    if result.name == "bfloat16":
        return pairs.rounded(np, (value, np.zeros_like(value)), result)
    return value.astype(in_namespace(np, result.name))


def sums(value: Any, sizes: Any, error: float, result: DType, scratch: Scratch) -> tuple[Any, Any]:
    """Return the results, and where an error up to this share of `sizes` leaves them open.

    `sizes` is None where it is `value` itself.
    """
    below, above = scratch.array("below", value.shape), scratch.array("above", value.shape)
    if result.name == "bfloat16":
        # Stay clear of what the step over float32 may move onto a tie.
        sizes = (0.0 if sizes is None else sizes * error) + np.abs(value) * _SINGLE + 2.0**-148
        error = 1.0
    if sizes is None:
        np.multiply(value, 1 - error, out=below)
        np.multiply(value, 1 + error, out=above)
    else:
        np.subtract(value, sizes * error, out=below)
        np.add(value, sizes * error, out=above)
    return _ends(value, below, above, result)


def products(value: Any, error: float, result: DType, scratch: Scratch) -> tuple[Any, Any]:
    """Return the results, and where an error up to this share of `value` leaves them open.

    Zeros keep their signs, which an error that is no share would not let them.
    """
    if not error:
        return cast(value, result), np.zeros(value.shape, bool)
    bfloat16 = result.name == "bfloat16"
    below, above = scratch.array("below", value.shape), scratch.array("above", value.shape)
    np.multiply(value, 1 - error - _SINGLE * bfloat16, out=below)
    np.multiply(value, 1 + error + _SINGLE * bfloat16, out=above)
    results, open_ = _ends(value, below, above, result)
    if bfloat16:
        # Subnormal float32 are further apart than that share; far below them, all is zero.
        size = np.abs(value)
        open_ |= (size < 2.0**-120) & (size > 2.0**-136)
    return results, open_


def _ends(value: Any, below: Any, above: Any, result: DType) -> tuple[Any, Any]:
    dtype = in_namespace(np, result.name)
    least, most = below.astype(dtype), above.astype(dtype)
    open_ = least != most
    if open_.any():
        certain = ~np.isfinite(value)
        np.copyto(most, value.astype(dtype), where=certain)
        open_ &= ~certain
    return most, open_
