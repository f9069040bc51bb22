"""What the kernels are tried on: values, layouts and launches, and whether what comes out is right."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import exact
import numpy as np
from libraries import ALL, numpy_dtype
from test_exact import check

from emulated_cuda.device import EmulatedDevice
from emulated_cuda.emulator import Emulator
from xpreduce import operators, portable
from xpreduce.protocol import Reduction
from xpreduce.reductions import prepare
from xpreduce_cupy import engine, kernels
from xpreduce_cupy.launches import Launch, launch_of

SMALL = ("int8", "int16", "uint8", "uint16")

SHAPES: tuple[tuple[int, int, int], ...] = (  # splits, lanes, block
    (1, 1, 32),
    (1, 4, 32),
    (3, 8, 16),
    (2, 32, 32),
    (5, 1, 64),
    (1, 256, 256),
    (4, 2, 8),
)
"""Launches of all kinds: more lanes than terms and fewer, splits without terms, blocks without results."""


class Bounded:
    """What `check` asks of a library: results within the bounds."""

    correctly_rounded = False


@dataclass(frozen=True)
class Layout:
    """An array and how it is reduced.

    Attributes
    ----------
    name : str
        What it is called.
    shape : tuple of int
        The shape in memory.
    view : function
        What makes of such an array the one that is reduced.
    axes : tuple of int
        What is reduced.
    """

    name: str
    shape: tuple[int, ...]
    view: Callable[[Any], Any]
    axes: tuple[int, ...]


def _same(x: Any) -> Any:
    return x


LAYOUTS: tuple[Layout, ...] = (
    Layout("full", (101,), _same, (0,)),
    Layout("rows", (5, 37), _same, (1,)),
    Layout("unaligned rows", (4, 70), lambda x: x[:, 1:68], (1,)),
    Layout("short rows", (70, 3), _same, (1,)),
    Layout("long row", (1, 700), _same, (1,)),
    Layout("columns", (41, 6), _same, (0,)),
    Layout("few columns", (90, 2), _same, (0,)),
    Layout("wide columns", (3, 70), _same, (0,)),
    Layout("middle", (3, 19, 4), _same, (1,)),
    Layout("both ends", (4, 3, 20), _same, (0, 2)),
    Layout("both ends, short", (9, 3, 2), _same, (0, 2)),
    Layout("every other", (6, 46), lambda x: x[::2, ::2], (1,)),
    Layout("backwards", (4, 33), lambda x: x[::-1, ::-1], (1,)),
    Layout("transposed", (33, 4), np.transpose, (1,)),
    Layout("broadcast", (3, 17), lambda x: np.broadcast_to(x[:, None], (3, 5, 17)), (1, 2)),
    Layout("many dimensions", (3, 2) * 5, lambda x: x[(slice(2), slice(None)) * 5], (1, 3, 5, 7, 9)),
    Layout("no terms", (3, 0), _same, (1,)),
    Layout("rank 0", (), _same, ()),
)

EIGHT = Layout(
    "eight dimensions", (2,) * 16, lambda x: x[(slice(None, None, -1),) * 16], tuple(range(1, 16, 2))
)
"""As many dimensions as the kernels take, of each sort."""

KINDS = {
    "float": ("ordinary", "wide", "special", "zeros"),
    "int": ("full", "small", "ends"),
    "bool": ("small",),
}


def values(kind: str, dtype: str, op: str, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Return an array of the given kind of values."""
    to = numpy_dtype(dtype)
    if dtype in exact.RANGE:
        low, high = exact.RANGE[dtype]
        if kind == "full":
            return rng.integers(
                low, high, size=shape, endpoint=True, dtype="u8" if dtype == "uint64" else "i8"
            ).astype(to)
        pool = [low, high, 0, 1] if kind == "ends" else [v for v in (-2, -1, 0, 1, 2, 3) if low <= v <= high]
        return rng.choice(np.asarray(pool, to), shape)
    if kind == "zeros":
        return rng.choice(np.asarray([-0.0, -0.0, -0.0, 0.0], to), shape)
    if kind == "wide":
        digits = exact.PRECISION[dtype][0]
        word = np.dtype(f"u{to.itemsize}")
        bits = rng.integers(0, np.iinfo(word).max, size=shape, endpoint=True, dtype=word)
        largest = np.array(((1 << (8 * to.itemsize - digits)) - 1) << (digits - 1), word)
        sign = np.array(1 << (8 * to.itemsize - 1), word)
        x = np.where((bits & ~sign) >= largest, bits >> np.array(3, word), bits).view(to)
        if op in ("prod", "log_sum_exp") and rng.integers(2):
            return np.remainder(x.astype("f8"), 40).astype(to)
        return x
    x = rng.standard_normal(shape) * (1 if op == "prod" else 5)
    if op == "log_sum" and rng.integers(3):
        x = abs(x)
    if kind == "special":
        odd = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
        x = np.where(rng.integers(0, 30, shape) == 0, odd, x)
    return x.astype(to)


def launches(x: Any, axes: tuple[int, ...]) -> Iterator[Launch]:
    """Yield the launch that the backend has chosen, and all that it might have."""
    chosen = launch_of(x.shape, x.strides, x.itemsize, axes)
    assert chosen is not None
    yield chosen
    kinds = [(chosen.kind, chosen.run, chosen.reduced)]
    reduced = [(d.size, d.stride // x.itemsize) for d in chosen.dimensions if d.reduced]
    if chosen.kind == "rows":
        kinds.append(("strided", 1, tuple(reduced)))
    elif reduced and reduced[-1][1] == 1:
        kinds.append(("rows", reduced[-1][0], tuple(reduced[:-1])))
    for (kind, run, left), (splits, lanes, block) in itertools.product(kinds, SHAPES):
        chunk = max(1, -(-chosen.terms // splits))
        yield replace(
            chosen,
            kind=kind,
            run=run,
            reduced=left,
            splits=splits,
            chunk=chunk,
            lanes=lanes,
            block=block,
            merge_lanes=1 if splits < 4 else 4,
        )


def reduction_of(op: str, x: Any, axes: tuple[int, ...], result: str | None = None) -> Reduction:
    """Return what the core makes of a call."""
    return prepare(
        operators.find(op), x, axes or None, True, False, None if result == x.dtype.name else result, None
    )[1]


def reduced(device: EmulatedDevice, x: Any, reduction: Reduction, launch: Launch) -> Any:
    """Return the reduction of `x` by way of a given launch."""
    results = device.empty((launch.results,), reduction.result.name)
    if launch.results:
        where = {"output": device.address(results)}
        engine.accumulate(device, x, launch, reduction, kernels.TO_RESULTS, where)
    return launch.places(x.shape, reduction.plan).of(results)


def try_layout(
    emulator: Emulator,
    op: str,
    dtype: str,
    result: str,
    layout: Layout,
    kind: str,
    seed: int,
    some: int | None,
) -> int:
    """Check `some` launches of a layout, or all, on values of a kind; return how many there were."""
    rng = np.random.default_rng(seed)
    device = EmulatedDevice(emulator)
    base = values(kind, dtype, op, layout.shape, rng)
    # As little aligned as its elements may be, and at the end of its memory, where sanitizers watch.
    shift = seed * base.itemsize % 16
    room = np.empty(shift + base.nbytes, np.uint8)
    held = room[shift:].view(base.dtype).reshape(base.shape)
    held[...] = base
    x = layout.view(held)
    reduction = reduction_of(op, x, layout.axes, result)
    every = list(launches(x, reduction.plan.axes))
    if some is not None:
        every = [every[0], *(every[1 + (seed + k * 5) % (len(every) - 1)] for k in range(some - 1))]
    found = {}
    for launch in every:
        got = reduced(device, x, reduction, launch)
        found[got.tobytes()] = launch, got
    chosen = {0, *rng.integers(0, max(1, launch.results), 4).tolist(), launch.results - 1}
    for launch, got in found.values():
        try:
            for index in chosen if launch.results else ():
                check_one(op, x, reduction, index, got, result)
        except AssertionError as error:
            error.add_note(f"{op} of {dtype} to {result}, {layout.name}, {kind} values, {launch}")
            raise
    return len(every)


def check_one(op: str, x: Any, reduction: Reduction, index: int, got: Any, result: str) -> None:
    """Assert that one result, by its index among all, is what the semantics allow."""
    plan = reduction.plan
    sets = x.transpose((*plan.kept, *plan.axes)).reshape(got.size, -1)
    check(Bounded(), op, sets[index], [0], got.reshape(-1)[index : index + 1], result)


def check_states(emulator: Emulator, op: str, dtype: str) -> None:
    """Make states of pieces by kernels and by NumPy, combine and finish them by both, and check it all."""
    rng, device = np.random.default_rng(3), EmulatedDevice(emulator)
    for kind in kinds_of(dtype):
        x = values(kind, dtype, op, (12, 9), rng)
        what = reduction_of(op, x, (0,))
        for turn in range(2):
            states = [
                engine.partial(device, piece, what) if (k + turn) % 2 else portable.partial(piece, what)
                for k, piece in enumerate((x[:5], x[5:5], x[5:6], x[6:]))
            ]
            first = engine.combine(device, states[0], states[1], what)
            second = _combined(states[2], states[3], what)
            for whole in (engine.combine(device, first, second, what), _combined(second, first, what)):
                for got in (engine.finish(device, whole, what), portable.finish(whole, what)):
                    check(Bounded(), op, x, [0], got, dtype)


def _combined(a: Any, b: Any, what: Reduction) -> tuple[Any, ...]:
    """Combine states by the portable backend; NumPy makes its arrays without dimensions scalars."""
    return tuple(np.asarray(part) for part in portable.combine(a, b, what))


def kinds_of(dtype: str) -> tuple[str, ...]:
    """Return the kinds of values that there are of a dtype."""
    return KINDS["bool" if dtype == "bool" else "int" if dtype in exact.RANGE else "float"]


def dtypes_of(op: str) -> tuple[str, ...]:
    """Return the dtypes that an operator takes without `dtype=`."""
    return (*ALL, "int8", "uint8", "bool") if op in ("max", "min") else ALL


def conversions(op: str) -> Iterator[tuple[str, str]]:
    """Yield every other pair of (dtype, result) that an operator takes."""
    for dtype in dict.fromkeys((*dtypes_of(op), *SMALL)):
        for result in ALL:
            if dtype not in (result, "bool"):
                yield dtype, result
