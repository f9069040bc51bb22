"""The backend for any library that speaks the array API: PyTorch, JAX, array-api-strict and others.

It goes through the input by tiles, makes a state of each, combines them, and finishes: slower than a
backend of the library's own, and exact in the same way.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator
from typing import Any

from xpreduce.algebra import algebra_of
from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State, Status
from xpreduce.tiles import Box, box_size, boxes, extents

_TILE = 2**17
"""The most elements in a tile: its float64 temporaries take a few MiB."""


def refusal(array_type: type) -> str | None:
    """Return why arrays that do not hold their values can't be served."""
    if hasattr(array_type, "__dask_graph__"):
        return "the portable backend goes through an array's values, and a Dask array has none yet"
    if any(base.__module__ == "numpy" and base.__name__ == "ndarray" for base in array_type.__mro__):
        from xpreduce_numpy import refusal as numpy_refusal

        return numpy_refusal(array_type)
    return None


def reduce(x: Any, reduction: Reduction) -> Any:
    """Return the reduction of the whole of `x`."""
    import array_api_compat

    xp = array_api_compat.array_namespace(x)
    algebra, plan = algebra_of(reduction), reduction.plan
    kept = tuple(x.shape[axis] for axis in plan.kept)
    shape = plan.result_shape(tuple(x.shape))
    with quiet():
        results = ((box, algebra.finish(xp, state)) for box, state in _states(xp, x, reduction))
        out = xp.empty(kept, dtype=in_namespace(xp, reduction.result.name), device=x.device)
        if not array_api_compat.is_writeable_array(out):
            flat = [result for _, result in results]
            return xp.reshape(xp.concat(flat) if flat else out, shape)
        for box, result in results:
            out[box] = xp.reshape(result, tuple(part.stop - part.start for part in box))
        return xp.reshape(out, shape)


def partial(x: Any, reduction: Reduction) -> State:
    """Return the state of `x`."""
    import array_api_compat

    xp = array_api_compat.array_namespace(x)
    shape = tuple(1 if axis in reduction.plan.axes else size for axis, size in enumerate(x.shape))
    with quiet():
        states = [state for _, state in _states(xp, x, reduction)]
        if not states:
            return algebra_of(reduction).identity(xp, shape, x.device)
        # What has no dimensions in a state is the same for all results.
        return tuple(
            xp.reshape(xp.concat(parts), shape) if parts[0].ndim else parts[0]
            for parts in zip(*states, strict=True)
        )


def combine(a: State, b: State, reduction: Reduction) -> State:
    """Return the state of the values of both."""
    import array_api_compat

    with quiet():
        return algebra_of(reduction).combine(array_api_compat.array_namespace(a[0]), a, b)


def finish(state: State, reduction: Reduction) -> Any:
    """Return the result that `state` stands for."""
    import array_api_compat

    xp = array_api_compat.array_namespace(state[0])
    with quiet():
        result = algebra_of(reduction).finish(xp, state)
    return result if reduction.plan.keepdims else xp.squeeze(result, axis=reduction.plan.axes)


def kernel(x: Any, reduction: Reduction) -> str:
    """Return in words what `reduce` would run on `x`."""
    import array_api_compat

    xp = array_api_compat.array_namespace(x)
    return f"{type(algebra_of(reduction)).__name__} over tiles of {_TILE} elements, by {xp.__name__}"


def status() -> Status:
    """Return that it can always work, and with which version of array-api-compat."""
    import array_api_compat

    return Status(array_api_compat.__version__, True, "any library that array-api-compat knows")


def _states(xp: Any, x: Any, reduction: Reduction) -> Iterator[tuple[Box, State]]:
    """Yield, for each box of results in C order, the state of the box's results, flat."""
    algebra, plan = algebra_of(reduction), reduction.plan
    kept = tuple(x.shape[axis] for axis in plan.kept)
    reduced = tuple(x.shape[axis] for axis in plan.axes)
    order = (*plan.kept, *plan.axes)
    terms = math.prod(reduced)
    rows = extents(kept, _TILE // max(1, min(terms, _TILE)))
    columns = extents(reduced, _TILE // math.prod(rows))
    where: list[slice] = [slice(None)] * plan.ndim
    for box in boxes(kept, rows):
        for axis, part in zip(plan.kept, box, strict=True):
            where[axis] = part
        state = algebra.identity(xp, (box_size(box),), x.device) if not terms else None
        for inner in boxes(reduced, columns) if terms else ():
            for axis, part in zip(plan.axes, inner, strict=True):
                where[axis] = part
            tile = xp.permute_dims(x[tuple(where)], order)
            seen = algebra.partial(xp, xp.reshape(tile, (box_size(box), box_size(inner))))
            state = seen if state is None else algebra.combine(xp, state, seen)
        assert state is not None
        yield box, state


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep NumPy's floating-point warnings in: what they warn of is the defined result here."""
    numpy = sys.modules.get("numpy")
    with numpy.errstate(all="ignore") if numpy else contextlib.nullcontext():
        yield
