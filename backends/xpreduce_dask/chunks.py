"""What the tasks of a lazy reduction do: with chunks, with states, and with zero-size stand-ins for both.

`dask.array.reduction` also says which axes and whether they are kept, which the reductions know.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

from dask.array.utils import meta_from_array

from xpreduce import dispatch
from xpreduce.dtypes import in_namespace, name_of
from xpreduce.portable import quiet
from xpreduce.protocol import EagerBackend, Reduction, State
from xpreduce.threads import use_num_threads

Reductions = tuple[Reduction, ...]
States = tuple[State, ...]
"""A state for each kind of terms that the reductions have, in the order in which they come."""


def reduce_chunk(chunk: Any, *, reductions: Reductions) -> Any:
    """Return the result of a chunk that holds all terms, or a tuple of several."""
    while isinstance(chunk, list):  # a list for each dimension that goes, of the one chunk along it
        (chunk,) = chunk
    backend = dispatch.own_backend(chunk)
    _check(chunk, reductions[0])
    with use_num_threads(1):  # Dask has threads of its own
        if len(reductions) == 1:
            return backend.reduce(chunk, reductions[0])
        many = getattr(backend, "reduce_many", None)
        if many is not None:
            return tuple(many(chunk, reductions))
        return tuple(backend.reduce(chunk, reduction) for reduction in reductions)


def partial_chunk(chunk: Any, *, reductions: Reductions, computing_meta: bool = False, **_: Any) -> Any:
    """Return the states of a chunk."""
    if computing_meta:
        return meta_from_array(chunk, ndim=reductions[0].plan.ndim)
    backend = _eager(chunk)
    _check(chunk, reductions[0])
    alike = _alike(reductions)
    with use_num_threads(1):
        many = getattr(backend, "partial_many", None) if len(alike) > 1 else None
        if many is not None:
            return tuple(many(chunk, alike))
        return tuple(backend.partial(chunk, reduction) for reduction in alike)


def combine_chunks(states: Any, *, reductions: Reductions, computing_meta: bool = False, **_: Any) -> Any:
    """Return the states of all chunks whose states are in a nesting of lists."""
    if computing_meta:
        return meta_from_array(states, ndim=reductions[0].plan.ndim)
    every = list(_leaves(states))
    return tuple(
        _merged([each[index] for each in every], reduction)
        for index, reduction in enumerate(_alike(reductions))
    )


def finish_chunks(states: Any, *, reductions: Reductions, computing_meta: bool = False, **_: Any) -> Any:
    """Return the result of all chunks, or a tuple of several."""
    if computing_meta:
        return result_meta(states, reductions[0])
    merged = combine_chunks(states, reductions=reductions)
    known = {
        reduction.operator.terms: state for reduction, state in zip(_alike(reductions), merged, strict=True)
    }
    backend = _eager(merged[0][0])
    results = [backend.finish(known[reduction.operator.terms], reduction) for reduction in reductions]
    return results[0] if len(results) == 1 else tuple(results)


def result_meta(meta: Any, reduction: Reduction) -> Any:
    """Return a stand-in for results, as Dask asks for when a graph is built, of the library of `meta`."""
    plan = reduction.plan
    swap = getattr(meta.dtype, "newbyteorder", None)
    dtype = swap("=") if swap else meta.dtype  # results have native byte order
    if reduction.result is not reduction.dtype:
        import array_api_compat

        dtype = in_namespace(array_api_compat.array_namespace(meta), reduction.result.name)
    with quiet():  # a meta of rank 0 holds one number, whatever it is, to be cast
        return meta_from_array(meta, ndim=plan.ndim if plan.keepdims else len(plan.kept), dtype=dtype)


@lru_cache(maxsize=256)
def _alike(reductions: Reductions) -> Reductions:
    """Return one reduction for each kind of terms."""
    return tuple({reduction.operator.terms: reduction for reduction in reductions}.values())


def _leaves(states: Any) -> Iterator[States]:
    if isinstance(states, tuple):
        yield states
    else:
        for each in states:
            yield from _leaves(each)


def _merged(states: list[State], reduction: Reduction) -> State:
    first, *others = states
    if not others:
        return first
    backend = _eager(first[0])
    merge = getattr(backend, "merge", None)
    if merge is not None:
        return cast(State, merge(states, reduction))
    for state in others:
        first = backend.combine(first, state, reduction)
    return first


def _check(chunk: Any, reduction: Reduction) -> None:
    """Raise if a chunk has another dtype or rank than the array was declared with; nobody else checks."""
    name, ndim = name_of(chunk.dtype), reduction.plan.ndim
    if chunk.ndim != ndim:
        raise ValueError(
            f"{reduction.operator.name}: a chunk of a Dask array has {chunk.ndim} dimensions, the array "
            f"declares {ndim}; say so where the array is made, for example with drop_axis= or new_axis="
        )
    if name != reduction.dtype.name:
        raise TypeError(
            f"{reduction.operator.name}: a chunk of a Dask array is {name}, and the array says "
            f"{reduction.dtype.name}; pass the right dtype or meta where the array is made"
        )


def _eager(x: Any) -> EagerBackend:
    backend = dispatch.own_backend(x)
    if not hasattr(backend, "partial"):
        raise TypeError(
            f"{dispatch.name_of(backend)} makes no states of {type(x).__qualname__}, so chunks must hold the "
            "reduced dimensions whole: x.rechunk({axis: -1}) for each of them"
        )
    return cast(EagerBackend, backend)


def check_meta(meta: Any, reduction: Reduction, whole: bool) -> None:
    """Raise if chunks like `meta` can't be reduced, or have no states and are not whole."""
    try:
        if whole:
            dispatch.own_backend(meta)
        else:
            _eager(meta)
    except TypeError as error:
        raise TypeError(f"{reduction.operator.name}: the chunks of the Dask array: {error}") from None
