"""Several reductions of one array by plain NumPy, piece by piece: all of them read one before the next is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of
from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import tiles
from xpreduce_numpy import choice

LENGTH = 2**21
"""Elements in a piece: few enough to stay near, many enough for a call not to be felt."""


def reduce_many(x: Any, reductions: Sequence[Reduction]) -> list[Any]:
    """Return several reductions of the whole of `x`, which has elements."""
    plan = reductions[0].plan
    shape = plan.result_shape(x.shape)
    # Pieces lie next to each other in memory where dimensions are taken in its order.
    order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
    ordered = replace(
        plan,
        axes=tuple(i for i, axis in enumerate(order) if axis in plan.axes),
        kept=tuple(i for i, axis in enumerate(order) if axis in plan.kept),
        keepdims=True,
    )
    x, every = x.transpose(order), [replace(reduction, plan=ordered) for reduction in reductions]
    kept = [order[i] for i in ordered.kept]
    dtype = in_namespace(np, reductions[0].result.name)
    outs: list[Any] = [np.empty([x.shape[i] for i in ordered.kept], dtype) for _ in reductions]
    for box, parts in tiles(x.shape, ordered, LENGTH):
        first, *others = (x[part] for part in parts)
        for out, results in zip(outs, _results(first, others, every), strict=True):
            part = out[(*box, ...)]  # the ellipsis keeps an array where no dimension is left
            part[...] = results.reshape(part.shape)
    places = [kept.index(axis) for axis in plan.kept]
    return [out.transpose(places).reshape(shape) for out in outs]


def _results(first: Any, others: list[Any], reductions: Sequence[Reduction]) -> list[Any]:
    """Return the results of several reductions of pieces."""
    if not others:
        return [choice.choose(first, reduction)[0].reduce() for reduction in reductions]
    states: dict[Any, State] = {}
    alike = {reduction.operator.terms: reduction for reduction in reductions}
    for piece in (first, *others):
        for terms, reduction in alike.items():
            seen = choice.choose(piece, reduction, states=True)[0].partial()
            known = states.get(terms)
            states[terms] = seen if known is None else algebra_of(reduction).combine(np, known, seen)
    return [algebra_of(reduction).finish(np, states[reduction.operator.terms]) for reduction in reductions]
