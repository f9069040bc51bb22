"""Reductions as a few launches on a device: what is allocated, and which kernel gets which arguments.

It knows devices by a few functions alone, so that the tests run all of it where there is no GPU.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Protocol

from xpreduce.protocol import Reduction, State
from xpreduce_cupy.kernels import (
    BLOCK,
    TO_RESULTS,
    TO_SCRATCH,
    TO_STATES,
    Family,
    arguments_of,
    family_of,
    grid,
)
from xpreduce_cupy.launches import Launch, launch_of


class Device(Protocol):
    """Where arrays lie and kernels run; all that is asked of it is done in order, later."""

    def address(self, array: Any) -> int:
        """Return the address of the element with all indices 0."""

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Return a new array in C order; what is in it does not matter."""

    def number(self, value: int) -> Any:
        """Return an int64 array without dimensions."""

    def launch(self, family: Family, kind: str, blocks: int, block: int, arguments: Any) -> None:
        """Launch one of a family's kernels."""


def reduce(device: Device, x: Any, reduction: Reduction) -> Any:
    """Return the reduction of the whole of `x`."""
    x, launch = _prepared(device, x, reduction)
    results = device.empty((launch.results,), reduction.result.name)
    if launch.results:
        accumulate(device, x, launch, reduction, TO_RESULTS, {"output": device.address(results)})
    return launch.places(x.shape, reduction.plan).of(results)


def partial(device: Device, x: Any, reduction: Reduction) -> State:
    """Return the state of `x`."""
    x, launch = _prepared(device, x, reduction)
    family = _family(reduction)
    state = tuple(
        device.number(launch.terms) if dtype == "count" else device.empty((launch.results,), dtype)
        for dtype in family.state
    )
    if launch.results:
        accumulate(device, x, launch, reduction, TO_STATES, {"states": _addresses(device, family, state)})
    places = launch.places(x.shape, replace(reduction.plan, keepdims=True))
    return tuple(
        part if dtype == "count" else places.of(part) for dtype, part in zip(family.state, state, strict=True)
    )


def combine(device: Device, a: State, b: State, reduction: Reduction) -> State:
    """Return the state of the values of both."""
    family = _family(reduction)
    a, b = (tuple(_dense(part) for part in state) for state in (a, b))
    shape = a[0].shape
    state = tuple(
        (x.reshape(1) + y.reshape(1)).reshape(()) if dtype == "count" else device.empty(shape, dtype)
        for dtype, x, y in zip(family.state, a, b, strict=True)
    )
    results = math.prod(shape)
    if results:
        arguments = arguments_of(
            reduction,
            results=results,
            left=_addresses(device, family, a),
            right=_addresses(device, family, b),
            states=_addresses(device, family, state),
        )
        device.launch(family, "combine", grid(results, 1, 1, BLOCK), BLOCK, arguments)
    return state


def finish(device: Device, state: State, reduction: Reduction) -> Any:
    """Return the result that `state` stands for."""
    family, plan = _family(reduction), reduction.plan
    state = tuple(_dense(part) for part in state)
    shape = state[0].shape
    result = device.empty(shape, reduction.result.name)
    results = math.prod(shape)
    if results:
        counts = [device.address(x) for dtype, x in zip(family.state, state, strict=True) if dtype == "count"]
        arguments = arguments_of(
            reduction,
            results=results,
            left=_addresses(device, family, state),
            count=counts[0] if counts else 0,
            output=device.address(result),
            target=TO_RESULTS,
        )
        device.launch(family, "finish", grid(results, 1, 1, BLOCK), BLOCK, arguments)
    return result if plan.keepdims else result.reshape(tuple(shape[axis] for axis in plan.kept))


def _prepared(device: Device, x: Any, reduction: Reduction) -> tuple[Any, Launch]:
    """Return an array and how it is reduced; where it has too many dimensions for the kernels, of a copy."""
    plan, item = reduction.plan, x.dtype.itemsize
    if x.size and (device.address(x) % item or any(stride % item for stride in x.strides)):
        raise ValueError(
            f"{reduction.operator.name}: the elements are not aligned to their size, {item} bytes, and a GPU "
            "can't read them; copy the bytes that data is a view of to the start of an array of their own"
        )
    launch = launch_of(x.shape, x.strides, item, plan.axes)
    if launch is None:
        # With the reduced dimensions last and nothing between elements, two dimensions are left.
        order = (*plan.kept, *plan.axes)
        copy = _dense(x.transpose(order))
        x = copy.transpose(tuple(order.index(axis) for axis in range(plan.ndim)))
        launch = launch_of(x.shape, x.strides, item, plan.axes)
        assert launch is not None
    return x, launch


def _dense(array: Any) -> Any:
    return array if array.flags.c_contiguous else array.copy(order="C")


def _family(reduction: Reduction) -> Family:
    return family_of(reduction.operator, reduction.dtype, reduction.result)


def accumulate(
    device: Device, x: Any, launch: Launch, reduction: Reduction, target: int, where: dict[str, Any]
) -> None:
    """Run stage 1, and stage 2 where there are several splits."""
    family = _family(reduction)
    scratch = None
    if launch.splits > 1:
        scratch = device.empty((launch.splits * launch.results * family.accumulator_bytes,), "int8")
        where = {**where, "scratch": device.address(scratch)}
    arguments = arguments_of(
        reduction,
        input=device.address(x) + launch.offset * x.dtype.itemsize,
        target=target if scratch is None else TO_SCRATCH,
        **launch.arguments(),
        **where,
    )
    device.launch(family, launch.kind, launch.blocks, launch.block, arguments)
    if scratch is not None:
        arguments.target, arguments.lanes = target, launch.merge_lanes
        device.launch(family, "merge", launch.merge_blocks, BLOCK, arguments)


def _addresses(device: Device, family: Family, state: Any) -> tuple[int, ...]:
    """Return the addresses of a state's arrays, in order and without the count."""
    found = [device.address(x) for dtype, x in zip(family.state, state, strict=True) if dtype != "count"]
    return (*found, *[0] * (6 - len(found)))
