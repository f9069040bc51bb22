"""The Dask backend: a lazy reduction, one kernel per chunk, states merged in a tree.

It serves `dask.array.Array` with chunks of any array library that xpreduce serves: a chunk is reduced by
that library's own backend. Where a chunk holds all terms of its results it is reduced to them at once;
elsewhere chunks become states (see `xpreduce.protocol`), and the last merge finishes. Nothing is
computed to build the graph, so unknown and empty chunks work like any other.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da

from xpreduce import dispatch
from xpreduce.protocol import Reduction, Status
from xpreduce_dask.chunks import (
    Reductions,
    check_meta,
    combine_chunks,
    finish_chunks,
    partial_chunk,
    reduce_chunk,
    result_meta,
)

_MERGED_BYTES = 2**25
"""Bytes of states that one merge takes at most, while `_WIDTHS` allows."""

_WIDTHS = 4, 64
"""The fewest and the most states that one merge takes."""

_STATE_BYTES = 32
"""What a state takes for one result, about."""


def refusal(array_type: type) -> str | None:
    """Return why something other than a Dask array can't be served."""
    if issubclass(array_type, da.Array):
        return None
    name = f"{array_type.__module__}.{array_type.__qualname__}"
    return f"{name} is not a Dask array; make one first, with dask.array.from_array(data)"


def reduce(x: Any, reduction: Reduction) -> Any:
    """Return the lazy reduction of the whole of `x`."""
    return _reduced(x, (reduction,))


def reduce_many(x: Any, reductions: Sequence[Reduction]) -> list[Any]:
    """Return lazy reductions of the whole of `x` that read each chunk in one task."""
    together = _reduced(x, tuple(reductions))
    dimensions = tuple(range(together.ndim))
    results = []
    for index, reduction in enumerate(reductions):
        meta = result_meta(x._meta, reduction)
        results.append(
            da.blockwise(
                _chosen,
                dimensions,
                together,
                dimensions,
                dtype=meta.dtype,
                meta=meta,
                token=_name(reduction),
                index=index,
            )
        )
    return results


def kernel(x: Any, reduction: Reduction) -> str:
    """Return in words what `reduce` would run on `x`."""
    chunks = f"{math.prod(x.numblocks)} chunks"
    whole = _whole_in_chunks(x, reduction)
    check_meta(x._meta, reduction, whole)
    backend = dispatch.name_of(dispatch.own_backend(x._meta))
    if whole:
        return f"{chunks} reduced one by one by {backend}: each holds all terms of its results"
    width = math.prod(min(x.numblocks[axis], n) for axis, n in _split(x, (reduction,)).items())
    return f"{chunks} made states by {backend}, merged by up to {width}, the last one finished"


def status() -> Status:
    """Return Dask's version."""
    return Status(dask.__version__, True, "chunks are reduced by their own library's backend")


def _reduced(x: Any, reductions: Reductions) -> Any:
    """Return a lazy array of results; of several reductions its chunks are tuples, one result for each."""
    reduction, plan = reductions[0], reductions[0].plan
    whole = _whole_in_chunks(x, reduction)
    check_meta(x._meta, reduction, whole)  # before anything runs
    meta = result_meta(x._meta, reduction)
    name = _name(reduction) if len(reductions) == 1 else "reduce_many"
    if whole:
        kept = range(plan.ndim) if plan.keepdims else plan.kept
        return da.blockwise(
            reduce_chunk,
            tuple(kept),
            x,
            tuple(range(plan.ndim)),
            adjust_chunks=dict.fromkeys(plan.axes, 1) if plan.keepdims else None,
            dtype=meta.dtype,
            meta=meta,
            concatenate=None,
            name=None,
            token=name,
            reductions=reductions,
        )
    return da.reduction(
        x,
        chunk=functools.partial(partial_chunk, reductions=reductions),
        combine=functools.partial(combine_chunks, reductions=reductions),
        aggregate=functools.partial(finish_chunks, reductions=reductions),
        axis=plan.axes,
        keepdims=plan.keepdims,
        dtype=meta.dtype,
        meta=meta,
        concatenate=False,
        split_every=_split(x, reductions),
        name=name,
    )


def _name(reduction: Reduction) -> str:
    return f"reduce_{reduction.operator.short}"


def _chosen(results: tuple[Any, ...], *, index: int) -> Any:
    return results[index]


def _whole_in_chunks(x: Any, reduction: Reduction) -> bool:
    return all(x.numblocks[axis] == 1 for axis in reduction.plan.axes)


def _split(x: Any, reductions: Reductions) -> dict[int, int]:
    """Return how many chunks along each axis one merge takes; Dask takes the same root for every axis."""
    left, split = _width(x, reductions), {}
    axes = sorted(reductions[0].plan.axes, key=lambda axis: x.numblocks[axis])
    for done, axis in enumerate(axes):
        split[axis] = max(2, math.floor(left ** (1 / (len(axes) - done)) + 1e-9))
        left //= min(split[axis], max(1, x.numblocks[axis]))
    return split


def _width(x: Any, reductions: Reductions) -> int:
    """Return how many states one merge takes: many small ones, few large ones."""
    plan = reductions[0].plan
    results = math.prod(max(x.chunks[axis], default=0) for axis in plan.kept)
    if math.isnan(results):
        return _WIDTHS[0]
    states = len({reduction.operator.terms for reduction in reductions})
    return int(min(max(_MERGED_BYTES // (_STATE_BYTES * max(1, results) * states), _WIDTHS[0]), _WIDTHS[1]))
