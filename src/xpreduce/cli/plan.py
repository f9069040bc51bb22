"""How a reduction is cut into blocks and threads so that its peak memory stays under the limit.

Everything here is arithmetic on shapes: nothing is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod

from xpreduce.cli.errors import CommandError
from xpreduce.cli.memory import MIB

# Blocks of 16 MiB read as fast as larger ones and are small enough for malloc to reuse. Smaller ones are
# for tight limits, larger ones for data sets so large that the task graph would outgrow the limit.
TARGETS = [MIB * size for size in (16, 8, 4, 32, 64, 128, 256, 2, 1)] + [MIB // 2, MIB // 4]

# How much more memory blocks take where freed ones are reused: sizes differ, so holes stay.
FRAGMENTATION = 1.5

# What one output holds while its values come in pieces, for the largest state of any operator, and what
# merging two such states takes for temporaries.
STATE = 48
MERGING = 128

# One merge takes at least this many states, and as many as fit in so many bytes.
FEWEST_MERGED = 4
MERGED_BYTES = 32 * MIB

# Below so many values for each output in a block, making and merging states outweighs reading.
MANY_VALUES = 64

# What one task costs in the scheduler, and what a thread's kernel takes besides its block.
TASK = 8 * 1024
WORKSPACE = 8 * MIB


@dataclass(frozen=True)
class Layout:
    """What is to be reduced, as far as the plan needs to know.

    Attributes
    ----------
    shape : tuple of int
        Shape of the input.
    itemsize : int
        Bytes of one value.
    unit : tuple of int
        Shape of the smallest block that is sensible to read; blocks are multiples of it.
    extra : callable
        Returns, for the shape of a block, the bytes that reading it takes besides the block itself
        (encoded chunks and their decoded copies).
    order : tuple of int
        The dimensions from the one whose neighbours lie closest together in the file to the farthest;
        empty where whole stored chunks are read, which may be taken in any order.
    axes : tuple of int
        The reduced dimensions, from 0 on.
    result : int
        Bytes of one value of the result.
    """

    shape: tuple[int, ...]
    itemsize: int
    unit: tuple[int, ...]
    extra: Callable[[tuple[int, ...]], int]
    order: tuple[int, ...]
    axes: tuple[int, ...]
    result: int


@dataclass(frozen=True)
class Plan:
    """A way to run: block by block, on so many threads, within so many bytes.

    Attributes
    ----------
    block : tuple of int
        Shape of a block; those at the end may be shorter.
    threads : int
        How many are worked on at a time.
    reuse : bool
        Whether there is room to let malloc reuse freed blocks, which is faster.
    bytes : int
        Projected peak memory of the process.
    """

    block: tuple[int, ...]
    threads: int
    reuse: bool
    bytes: int


def choose(layout: Layout, threads: int, limit: int | None, baseline: int) -> Plan:
    """Return the preferred plan that fits.

    Parameters
    ----------
    layout : Layout
        The input.
    threads : int
        Most threads to use; fewer are planned only where no block size fits otherwise.
    limit : int or None
        Bytes that the process may use; None for no limit.
    baseline : int
        Bytes that the process holds already.

    Raises
    ------
    CommandError
        If nothing fits; says how much the smallest plan needs.
    """
    least = None
    for count in range(threads, 0, -1):
        for reuse in (True, False):
            for block in candidates(layout):
                needed = baseline + _bytes(layout, block, count, FRAGMENTATION if reuse else 1)
                if limit is None or needed <= limit:
                    return Plan(block, count, reuse, needed)
                least = needed if least is None else min(least, needed)
    assert least is not None
    assert limit is not None
    raise CommandError(
        f"a memory limit of {mebibytes(limit, up=False)} is too low: with one thread and the smallest blocks "
        f"this takes {mebibytes(least)} ({mebibytes(baseline)} of it before any data is read)"
    )


def candidates(layout: Layout) -> Iterator[tuple[int, ...]]:
    """Yield block shapes, from the preferred to the last resort."""
    every = range(len(layout.shape))
    reduced = [axis for axis in reversed(every) if axis in layout.axes]
    kept = [axis for axis in reversed(every) if axis not in layout.axes]
    shape, unit = layout.shape, layout.unit
    for target in TARGETS:
        most = target // layout.itemsize
        if layout.order:
            # One contiguous slab reads best, but may hold few values of each of many outputs. Then a block
            # is made of shorter runs, as many as that along the reduced dimensions.
            slab = grow(shape, unit, layout.order, most)
            run = grow(shape, unit, layout.order, most // MANY_VALUES)
            pieces = grow(shape, run, [*reduced, *kept], most)
            few = prod(slab[axis] for axis in layout.axes) < MANY_VALUES
            yield from (pieces, slab) if few else (slab, pieces)
        else:
            # Along the reduced dimensions first: fewer states, and outputs that finish early.
            yield grow(shape, unit, [*reduced, *kept], most)


def grow(shape: Sequence[int], unit: Sequence[int], order: Sequence[int], most: int) -> tuple[int, ...]:
    """Return a multiple of `unit` of at most `most` values (or `unit` itself), extended in this order."""
    block = [min(size, length) for size, length in zip(unit, shape, strict=True)]
    for axis in order:
        times = most // max(1, prod(block))
        if times > 1:
            block[axis] = min(shape[axis], block[axis] * times)
    return tuple(block)


def _bytes(layout: Layout, block: tuple[int, ...], threads: int, slack: float) -> int:
    """Return the projected peak of the run itself, without what the process holds before."""
    size = prod(block) * layout.itemsize
    outputs = prod(length for axis, length in enumerate(block) if axis not in layout.axes)
    counts = [ceil(n / length) if length else 1 for n, length in zip(layout.shape, block, strict=True)]
    pieces = prod(counts[axis] for axis in layout.axes)
    blocks = (threads + 2) * size + threads * layout.extra(block)
    finished = threads * outputs * 2 * layout.result  # results, and their copies on the way to the disk
    return (
        int(slack * (blocks + finished))
        + threads * WORKSPACE
        + _states(pieces, outputs, threads)
        + prod(counts) * TASK
    )


def _states(pieces: int, outputs: int, threads: int) -> int:
    """Return the bytes of the states that are alive together while `pieces` of them become one."""
    if pieces == 1:
        return 0
    width = max(FEWEST_MERGED, MERGED_BYTES // (STATE * max(1, outputs)))
    levels = 1
    while width**levels < pieces:
        levels += 1
    alive = min(pieces, levels * width + threads)
    return outputs * (alive * STATE + threads * MERGING)


def mebibytes(size: int, *, up: bool = True) -> str:
    """Return a size in whole MiB, in the form that --memory-limit takes."""
    return f"{-(-size // MIB) if up else size // MIB} MiB"
