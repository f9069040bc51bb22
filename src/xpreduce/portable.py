"""The backend for any library that speaks the array API: PyTorch, JAX, array-api-strict and others.

It goes through the input by tiles, makes a state of each, combines them, and finishes: slower than a
backend of the library's own, and exact in the same way.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from xpreduce.algebra import algebra_of, merged
from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State, Status
from xpreduce.tiles import Box, box_size, tiles

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
    return reduce_many(x, (reduction,))[0]


def reduce_many(x: Any, reductions: Sequence[Reduction]) -> list[Any]:
    """Return several reductions of the whole of `x`."""
    import array_api_compat

    xp = array_api_compat.array_namespace(x)
    plan, result = reductions[0].plan, reductions[0].result
    kept = tuple(x.shape[axis] for axis in plan.kept)
    shape = plan.result_shape(tuple(x.shape))
    dtype = in_namespace(xp, result.name)
    with quiet():
        outs = [xp.empty(kept, dtype=dtype, device=x.device) for _ in reductions]
        writeable = array_api_compat.is_writeable_array(outs[0])
        flat: list[list[Any]] = [[] for _ in reductions]
        for box, states in _states(xp, x, reductions):
            for reduction, state, out, parts in zip(reductions, states, outs, flat, strict=True):
                found = algebra_of(reduction).finish(xp, state)
                if writeable:
                    out[box] = xp.reshape(found, tuple(part.stop - part.start for part in box))
                else:
                    parts.append(found)
        outs = [xp.concat(parts) if parts else out for out, parts in zip(outs, flat, strict=True)]
        return [xp.reshape(out, shape) for out in outs]


def partial(x: Any, reduction: Reduction) -> State:
    """Return the state of `x`."""
    return partial_many(x, (reduction,))[0]


def partial_many(x: Any, reductions: Sequence[Reduction]) -> list[State]:
    """Return the states of `x` for several reductions."""
    import array_api_compat

    xp = array_api_compat.array_namespace(x)
    axes = reductions[0].plan.axes
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    with quiet():
        boxes = [states for _, states in _states(xp, x, reductions)]
        if not boxes:
            return [algebra_of(reduction).identity(xp, shape, x.device) for reduction in reductions]
        # What has no dimensions in a state is the same for all results.
        return [
            tuple(
                xp.reshape(xp.concat(parts), shape) if parts[0].ndim else parts[0]
                for parts in zip(*states, strict=True)
            )
            for states in zip(*boxes, strict=True)
        ]


def combine(a: State, b: State, reduction: Reduction) -> State:
    """Return the state of the values of both."""
    import array_api_compat

    with quiet():
        return algebra_of(reduction).combine(array_api_compat.array_namespace(a[0]), a, b)


def merge(states: Sequence[State], reduction: Reduction) -> State:
    """Return the state of the values of all."""
    import array_api_compat

    with quiet():
        xp = array_api_compat.array_namespace(states[0][0])
        return merged(xp, algebra_of(reduction), states)


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


def _states(xp: Any, x: Any, reductions: Sequence[Reduction]) -> Iterator[tuple[Box, list[State]]]:
    """Yield, for each box of results in C order, the states of the box's results, flat."""
    plan = reductions[0].plan
    algebras = {reduction.operator.terms: algebra_of(reduction) for reduction in reductions}
    order = (*plan.kept, *plan.axes)
    for box, parts in tiles(tuple(x.shape), plan, _TILE):
        rows = box_size(box)
        states: dict[Any, State] = {}
        for part in parts:
            tile = xp.permute_dims(x[part], order)
            matrix = xp.reshape(tile, (rows, math.prod(tile.shape) // rows))
            for terms, algebra in algebras.items():
                seen = algebra.partial(xp, matrix)
                states[terms] = algebra.combine(xp, states[terms], seen) if terms in states else seen
        if not states:
            states = {terms: algebra.identity(xp, (rows,), x.device) for terms, algebra in algebras.items()}
        yield box, [states[reduction.operator.terms] for reduction in reductions]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep NumPy's floating-point warnings in: what they warn of is the defined result here."""
    numpy = sys.modules.get("numpy")
    with numpy.errstate(all="ignore") if numpy else contextlib.nullcontext():
        yield
