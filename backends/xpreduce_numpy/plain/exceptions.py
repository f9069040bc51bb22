"""IEEE 754 exceptions: the processor notes for free whether anything overflowed or underflowed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


def in_range(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any | None:
    """Return what a ufunc makes of its arguments, or None where anything on the way left float64's range.

    What stays in range is exact up to one rounding an operation. A zero, or a subnormal number, that is
    exact is in range, and so are infinities and NaN that come from infinite arguments.
    """
    if not _reported():
        return None
    try:
        with np.errstate(over="raise", under="raise"):
            return function(*arguments, **options)
    except FloatingPointError:
        return None


@cache
def _reported() -> bool:
    """Whether NumPy learns of exceptions here; not so on WebAssembly."""
    one, tiny, huge = (np.full((3, 9), value) for value in (1.0, 2.0**-700, 2.0**700))
    for x in (tiny, huge):
        try:
            with np.errstate(over="raise", under="raise"):
                np.multiply.reduce(x, axis=0)
            return False
        except FloatingPointError:
            pass
    with np.errstate(over="raise", under="raise"):
        np.multiply.reduce(one, axis=0)
    return True
