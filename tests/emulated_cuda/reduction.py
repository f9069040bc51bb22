"""Reductions by emulated kernels: launches of any shape on NumPy arrays that stand for device memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from libraries import numpy_dtype

from emulated_cuda.emulator import Emulator
from xpreduce.layout import merge
from xpreduce.protocol import Reduction, State
from xpreduce_cupy import kernels


@dataclass(frozen=True)
class Shape:
    """How stages are launched.

    Attributes
    ----------
    kind : {"rows", "strided"}
        The kernel of stage 1.
    splits, lanes, block : int
        As the kernels' arguments have them.
    """

    kind: str
    splits: int
    lanes: int
    block: int


def can_be_rows(x: Any, axes: tuple[int, ...]) -> bool:
    """Return whether the innermost dimension of an array is reduced and without gaps."""
    dimensions = merge(x.shape, x.strides, axes)
    return bool(dimensions and dimensions[-1].reduced and dimensions[-1].stride == x.itemsize)


def partial(emulator: Emulator, x: Any, reduction: Reduction, shape: Shape) -> State:
    """Return the algebra's state of an array."""
    family = kernels.family_of(reduction.operator, reduction.dtype, reduction.result)
    terms = _terms(x, reduction)
    kept = tuple(1 if axis in reduction.plan.axes else size for axis, size in enumerate(x.shape))
    state = tuple(
        np.full((), terms) if name == "count" else np.full(kept, 77).astype(name) for name in family.state
    )
    _stages(emulator, x, reduction, shape, kernels.TO_STATES, states=_addresses(state, family))
    return state


def reduce(emulator: Emulator, x: Any, reduction: Reduction, shape: Shape) -> Any:
    """Return the reduction of an array."""
    out = np.full(reduction.plan.result_shape(x.shape), 77).astype(numpy_dtype(reduction.result.name))
    _stages(emulator, x, reduction, shape, kernels.TO_RESULTS, output=out.ctypes.data)
    return out


def combine(emulator: Emulator, a: State, b: State, reduction: Reduction) -> State:
    """Return the state of the values of both."""
    family = kernels.family_of(reduction.operator, reduction.dtype, reduction.result)
    state = tuple(
        x + y if name == "count" else np.full_like(x, 77) for name, x, y in zip(family.state, a, b, strict=True)
    )
    a, b = ([np.ascontiguousarray(part) for part in whole] for whole in (a, b))
    results = max(part.size for part in state)
    arguments = kernels.arguments_of(
        reduction,
        results=results,
        states=_addresses(state, family),
        left=_addresses(a, family),
        right=_addresses(b, family),
    )
    emulator.launch(family, "combine", arguments, kernels.grid(results, 1, 1, 64), 64)
    return state


def finish(emulator: Emulator, state: State, reduction: Reduction) -> Any:
    """Return the results that a state stands for."""
    family = kernels.family_of(reduction.operator, reduction.dtype, reduction.result)
    state = tuple(np.ascontiguousarray(part) for part in state)
    out = np.full(max(state, key=np.size).shape, 77).astype(numpy_dtype(reduction.result.name))
    count = [part for name, part in zip(family.state, state, strict=True) if name == "count"]
    arguments = kernels.arguments_of(
        reduction,
        results=out.size,
        left=_addresses(state, family),
        output=out.ctypes.data,
        count=count[0].ctypes.data if count else 0,
    )
    emulator.launch(family, "finish", arguments, kernels.grid(out.size, 1, 1, 64), 64)
    return out


def _terms(x: Any, reduction: Reduction) -> int:
    return int(np.prod([x.shape[axis] for axis in reduction.plan.axes], dtype=np.int64))


def _addresses(state: Any, family: kernels.Family) -> tuple[int, ...]:
    return tuple(
        part.ctypes.data for name, part in zip(family.state, state, strict=True) if name != "count"
    )


def _stages(
    emulator: Emulator, x: Any, reduction: Reduction, shape: Shape, target: int, **where: Any
) -> None:
    """Run stage 1, and stage 2 if there is more than one split."""
    plan, family = reduction.plan, kernels.family_of(reduction.operator, reduction.dtype, reduction.result)
    results, terms = int(np.prod([x.shape[axis] for axis in plan.kept], dtype=np.int64)), _terms(x, reduction)
    if not results:
        return
    dimensions = merge(x.shape, x.strides, plan.axes) if terms else ()
    arguments = kernels.arguments_of(
        reduction,
        input=x.ctypes.data,
        results=results,
        terms=terms,
        splits=shape.splits,
        chunk=max(1, -(-terms // shape.splits)),
        lanes=shape.lanes,
        target=target,
        **where,
    )
    reduced = [d for d in dimensions if d.reduced]
    if shape.kind == "rows" and terms:
        arguments.run = reduced.pop().size
    kept = _kept(x, plan.axes)
    assert len(kept) <= kernels.MOST_DIMENSIONS and len(reduced) <= kernels.MOST_DIMENSIONS
    arguments.kept_dims, arguments.reduced_dims = len(kept), len(reduced)
    for d, (size, stride, output) in enumerate(kept):
        arguments.kept[d][:] = size, stride // x.itemsize, output
    for d, dimension in enumerate(reduced):
        arguments.reduced[d][:] = dimension.size, dimension.stride // x.itemsize
    if shape.splits == 1:
        grid = kernels.grid(results, 1, shape.lanes, shape.block)
        emulator.launch(family, shape.kind, arguments, grid, shape.block)
        return
    scratch = np.full(results * shape.splits * family.accumulator_bytes, 77, np.uint8)
    arguments.scratch, arguments.target = scratch.ctypes.data, kernels.TO_SCRATCH
    grid = kernels.grid(results, shape.splits, shape.lanes, shape.block)
    emulator.launch(family, shape.kind, arguments, grid, shape.block)
    arguments.target = target
    emulator.launch(family, "merge", arguments, kernels.grid(results, 1, shape.lanes, shape.block), shape.block)


def _kept(x: Any, axes: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return (size, stride in bytes, step of the result) of the kept dimensions, in memory order."""
    steps, step = {}, 1
    for axis in reversed(range(x.ndim)):
        if axis not in axes:
            steps[axis] = step
            step *= x.shape[axis]
    order = sorted(steps, key=lambda axis: -abs(x.strides[axis]))
    return [(x.shape[axis], x.strides[axis], steps[axis]) for axis in order if x.shape[axis] != 1]


