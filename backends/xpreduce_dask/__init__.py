"""The Dask backend: a lazy reduction, one kernel per chunk, states merged in a tree.

It serves `dask.array.Array` with chunks of any array library that xpreduce serves: a chunk is reduced by
that library's own backend. Where a chunk holds all terms of its results it is reduced to them at once;
elsewhere chunks become states (see `xpreduce.protocol`), and the last merge finishes. Nothing is
computed to build the graph, so unknown and empty chunks work like any other.
"""

from __future__ import annotations

import functools
import math
from typing import Any, cast

import dask
import dask.array as da
from dask.array.utils import meta_from_array

from xpreduce import dispatch
from xpreduce.dtypes import in_namespace, name_of
from xpreduce.portable import quiet
from xpreduce.protocol import EagerBackend, Reduction, State, Status
from xpreduce.threads import use_num_threads

_MERGED_BYTES = 2**25
"""Bytes of states that one merge takes at most, while `_WIDTHS` allows."""

_WIDTHS = 4, 64
"""The fewest and the most states that one merge takes."""


def refusal(array_type: type) -> str | None:
    """Return why something other than a Dask array can't be served."""
    if issubclass(array_type, da.Array):
        return None
    name = f"{array_type.__module__}.{array_type.__qualname__}"
    return f"{name} is not a Dask array; make one first, with dask.array.from_array(data)"


def reduce(x: Any, reduction: Reduction) -> Any:
    """Return the lazy reduction of the whole of `x`."""
    dispatch.own_backend(x._meta)  # refuses chunks of unknown kind before anything runs
    plan = reduction.plan
    meta = _result_meta(x._meta, reduction)
    if _whole_in_chunks(x, reduction):
        kept = range(plan.ndim) if plan.keepdims else plan.kept
        return da.blockwise(
            _reduce_chunk,
            tuple(kept),
            x,
            tuple(range(plan.ndim)),
            adjust_chunks=dict.fromkeys(plan.axes, 1) if plan.keepdims else None,
            dtype=meta.dtype,
            meta=meta,
            concatenate=None,
            name=None,
            token=_name(reduction),
            reduction=reduction,
        )
    return da.reduction(
        x,
        chunk=functools.partial(_partial_chunk, reduction=reduction),
        combine=functools.partial(_combine_chunks, reduction=reduction),
        aggregate=functools.partial(_finish_chunks, reduction=reduction),
        axis=plan.axes,
        keepdims=plan.keepdims,
        dtype=meta.dtype,
        meta=meta,
        concatenate=False,
        split_every=_width(x, reduction),
        name=_name(reduction),
    )


def kernel(x: Any, reduction: Reduction) -> str:
    """Return in words what `reduce` would run on `x`."""
    chunks = f"{x.npartitions} chunks"
    backend = dispatch.name_of(dispatch.own_backend(x._meta))
    if _whole_in_chunks(x, reduction):
        return f"{chunks} reduced one by one by {backend}: each holds all terms of its results"
    return f"{chunks} made states by {backend}, merged by up to {_width(x, reduction)}, the last one finished"


def status() -> Status:
    """Return Dask's version."""
    return Status(dask.__version__, True, "chunks are reduced by their own library's backend")


def _name(reduction: Reduction) -> str:
    return f"reduce_{reduction.operator.short}"


def _result_meta(meta: Any, reduction: Reduction) -> Any:
    plan = reduction.plan
    swap = getattr(meta.dtype, "newbyteorder", None)
    dtype = swap("=") if swap else meta.dtype  # results have native byte order
    if reduction.result is not reduction.dtype:
        import array_api_compat

        dtype = in_namespace(array_api_compat.array_namespace(meta), reduction.result.name)
    with quiet():  # a meta of rank 0 holds one number, whatever it is, to be cast
        return meta_from_array(meta, ndim=plan.ndim if plan.keepdims else len(plan.kept), dtype=dtype)


def _whole_in_chunks(x: Any, reduction: Reduction) -> bool:
    return all(x.numblocks[axis] == 1 for axis in reduction.plan.axes)


def _width(x: Any, reduction: Reduction) -> int:
    """Return how many states one merge takes: many small ones, few large ones."""
    results = math.prod(max(x.chunks[axis], default=0) for axis in reduction.plan.kept)
    if math.isnan(results):
        return int(_WIDTHS[0] ** len(reduction.plan.axes))
    state_bytes = 24 * max(1, results)
    return int(min(max(_MERGED_BYTES // state_bytes, _WIDTHS[0]), _WIDTHS[1]))


def _reduce_chunk(chunk: Any, *, reduction: Reduction) -> Any:
    while isinstance(chunk, list):  # a list for each dimension that goes, of the one chunk along it
        (chunk,) = chunk
    with use_num_threads(1):  # Dask has threads of its own
        return dispatch.own_backend(chunk).reduce(_declared(chunk, reduction), reduction)


def _declared(chunk: Any, reduction: Reduction) -> Any:
    """Return a chunk if it has the dtype that the array was declared with, which nobody else checks."""
    name = name_of(chunk.dtype)
    if name != reduction.dtype.name:
        raise TypeError(
            f"{reduction.operator.name}: a chunk of a Dask array is {name}, and the array says "
            f"{reduction.dtype.name}; pass the right dtype or meta where the array is made"
        )
    return chunk


def _partial_chunk(
    chunk: Any, *, axis: Any, keepdims: bool, reduction: Reduction, computing_meta: bool = False
) -> Any:
    if computing_meta:
        return meta_from_array(chunk, ndim=reduction.plan.ndim)
    with use_num_threads(1):
        return _eager(chunk).partial(_declared(chunk, reduction), reduction)


def _combine_chunks(
    states: Any, *, axis: Any, keepdims: bool, reduction: Reduction, computing_meta: bool = False
) -> Any:
    if computing_meta:
        return meta_from_array(states, ndim=reduction.plan.ndim)
    return _merged(states, reduction)


def _finish_chunks(
    states: Any, *, axis: Any, keepdims: bool, reduction: Reduction, computing_meta: bool = False
) -> Any:
    if computing_meta:
        return _result_meta(states, reduction)
    merged = _merged(states, reduction)
    return _eager(merged[0]).finish(merged, reduction)


def _merged(states: Any, reduction: Reduction) -> State:
    """Merge a state, or any nesting of lists of states."""
    if isinstance(states, tuple):
        return states
    first, *rest = (_merged(each, reduction) for each in states)
    backend = _eager(first[0])
    for state in rest:
        first = backend.combine(first, state, reduction)
    return first


def _eager(x: Any) -> EagerBackend:
    backend = dispatch.own_backend(x)
    if not hasattr(backend, "partial"):
        raise TypeError(f"the chunks of a Dask array must be eager arrays, not {type(x).__qualname__}")
    return cast(EagerBackend, backend)
