"""A backend for masked arrays: `numpy.ma.MaskedArray`, of which only the values that count are reduced.

A result is masked where no value counts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import xpreduce
from xpreduce.protocol import Reduction, Status


def refusal(array_type: type) -> str | None:
    """Return why arrays of a type can't be served, or None."""
    if issubclass(array_type, np.ma.MaskedArray):
        return None
    return f"{array_type.__qualname__} is not a masked array; make one first, with numpy.ma.asarray(data)"


def reduce(x: Any, reduction: Reduction) -> Any:
    """Return the reduction of the whole of `x`."""
    plan, name = reduction.plan, reduction.operator.name
    # None is the dtype of the input, which Max and Min have more of than `dtype=` takes.
    dtype = None if reduction.result is reduction.dtype else reduction.result.name
    kept = tuple(x.shape[axis] for axis in plan.kept)
    terms = math.prod(x.shape[axis] for axis in plan.axes)
    sets = x.transpose(*plan.kept, *plan.axes).reshape(*kept, terms)
    empty = xpreduce.reduce(name, x.data.ravel()[:0], keepdims=False, dtype=dtype)
    results = np.ma.masked_all(kept, empty.dtype)
    for where in np.ndindex(kept):
        values = sets[where].compressed()
        if values.size:
            results[where] = xpreduce.reduce(name, values, keepdims=False, dtype=dtype)
    return results.reshape(plan.result_shape(x.shape))


def kernel(x: Any, reduction: Reduction) -> str:
    """Return in words what `reduce` would run on `x`."""
    return f"the {x.count()} values of {x.size} that count, one result at a time"


def status() -> Status:
    """Return that it can work, and with which version of NumPy."""
    return Status(np.__version__, True, "masked values do not count")
