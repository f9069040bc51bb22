"""How an array is cut up for the kernels: a pure function of shape, strides and axes, without CuPy.

It knows nothing of the device that the kernels will run on, so that results have the same bits on all of
them. `BLOCKS` fill any GPU there is several times over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xpreduce.axes import Plan
from xpreduce.layout import Dimension, Places, merge
from xpreduce_cupy.kernels import BLOCK, LONGEST_CHUNK, MOST_DIMENSIONS, grid

BLOCKS = 2**11
"""Blocks of threads that a reduction is split into, where it has so much to do."""

MOST_BLOCKS = 2**31 - 1
"""The most blocks that CUDA takes along the only dimension of a grid that is used."""

_THREADS = BLOCKS * BLOCK

_VECTOR = 16
"""Bytes that the kernel for rows reads at a time."""

_AHEAD = 4
"""Vectors that a thread should have, so that it can read several at a time."""

_LINE = 128
"""Bytes that neighbouring threads should read together: a line of the cache."""

_LEAST_BYTES = 128
"""Bytes that each thread of a split must have, so that what comes after is little beside it."""

_SCRATCH = 2**23
"""Bytes that the accumulators of all splits may take."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How stage 1, and stage 2 where there are several splits, are launched for arrays of one geometry.

    Attributes
    ----------
    kind : str
        The kernel of stage 1: "rows" or "strided".
    dimensions : tuple of Dimension
        The array's dimensions, merged, in memory order. Reduced ones are walked upwards: strides are
        positive.
    offset : int
        Elements from the one with all indices 0 to the first one that is read.
    results, terms : int
        How many results there are, and how many values each is made of.
    lanes, block, splits, chunk, run
        As `kernels.Arguments` explains them; `block` is the number of threads of a block.
    kept, reduced : tuple of tuple of int
        (size, stride) of each, strides in elements.
    merge_lanes : int
        Lanes of stage 2.
    """

    kind: str
    dimensions: tuple[Dimension, ...]
    offset: int
    results: int
    terms: int
    lanes: int
    block: int
    splits: int
    chunk: int
    run: int
    kept: tuple[tuple[int, int], ...]
    reduced: tuple[tuple[int, int], ...]
    merge_lanes: int

    @property
    def blocks(self) -> int:
        """The number of blocks of stage 1."""
        return grid(self.results, self.splits, self.lanes, self.block)

    @property
    def merge_blocks(self) -> int:
        """The number of blocks of stage 2."""
        return grid(self.results, 1, self.merge_lanes, BLOCK)

    def arguments(self) -> dict[str, Any]:
        """Return the geometry as `kernels.Arguments` takes it."""
        return {
            "results": self.results,
            "terms": self.terms,
            "splits": self.splits,
            "chunk": self.chunk,
            "lanes": self.lanes,
            "kept_dims": len(self.kept),
            "reduced_dims": len(self.reduced),
            "run": self.run,
            "kept": _filled(self.kept),
            "reduced": _filled(self.reduced),
        }

    def places(self, shape: tuple[int, ...], plan: Plan) -> Places:
        """Return where results, which come in memory order, belong."""
        return Places(self.dimensions, shape, plan)

    def __str__(self) -> str:
        layout = ", ".join(str(d) for d in self.dimensions) or "one element"
        splits = f", in {self.splits} splits" if self.splits > 1 else ""
        threads = f"{self.lanes} threads" if self.lanes > 1 else "one thread"
        return f"{self.kind}, {threads} a result{splits}; layout: {layout}"


def _filled(rows: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    return (*rows, *[(0, 0)] * (MOST_DIMENSIONS - len(rows)))


@lru_cache(maxsize=1024)
def launch_of(
    shape: tuple[int, ...], strides: tuple[int, ...], item: int, axes: tuple[int, ...]
) -> Launch | None:
    """Return how arrays of this geometry are reduced, or None where they must be copied first.

    Parameters
    ----------
    shape, strides : tuple of int
        The array's; strides in bytes, all multiples of `item`. They may be 0 or negative.
    item : int
        Bytes of an element.
    axes : tuple of int
        The reduced dimensions, from 0 on.

    Raises
    ------
    ValueError
        If there are more results than a grid of blocks can have.

    Examples
    --------
    >>> launch = launch_of((2048, 8192), (32768, 4), 4, (1,))
    >>> print(launch, launch.blocks)
    rows, 256 threads a result; layout: kept 2048, reduced 8192 2048
    """
    back = [axis for axis in axes if strides[axis] < 0]
    offset = sum((shape[axis] - 1) * strides[axis] for axis in back) // item if 0 not in shape else 0
    upwards = tuple(-stride if axis in back else stride for axis, stride in enumerate(strides))
    dimensions = merge(shape, upwards, axes)
    kept = [d for d in dimensions if not d.reduced]
    reduced = [d for d in dimensions if d.reduced]
    results = math.prod(d.size for d in kept)
    terms = math.prod(d.size for d in reduced)
    run = _run(reduced, item)
    if run is not None:
        reduced.remove(run)
    if max(len(kept), len(reduced)) > MOST_DIMENSIONS:
        return None
    if run is not None:
        block, lanes = BLOCK, _row_lanes(run.size, item, results)
        unit, least = max(1, _VECTOR // item), max(1, _LEAST_BYTES // item)
    else:
        block, lanes = _strided_lanes(dimensions, item, results, terms)
        unit, least = 1, max(16, _LEAST_BYTES // item)
    while lanes > 1 and grid(results, 1, lanes, block) > MOST_BLOCKS:
        block, lanes = BLOCK, lanes // 2
    blocks = grid(results, 1, lanes, block)
    splits, chunk = _splits(results, terms, blocks, unit * lanes, least * lanes, run)
    if blocks * splits > MOST_BLOCKS:
        raise ValueError(f"{results} results are more than a CUDA kernel can be launched for")
    return Launch(
        kind="strided" if run is None else "rows",
        dimensions=dimensions,
        offset=offset,
        results=results,
        terms=terms,
        lanes=lanes,
        block=block,
        splits=splits,
        chunk=chunk,
        run=run.size if run is not None else 1,
        kept=tuple((d.size, d.stride // item) for d in kept),
        reduced=tuple((d.size, d.stride // item) for d in reduced),
        merge_lanes=min(BLOCK, _power(splits // 4)),
    )


def _power(number: int) -> int:
    """Return the largest power of two up to a number, and at least 1."""
    return 1 << (max(number, 1).bit_length() - 1)


def _run(reduced: list[Dimension], item: int) -> Dimension | None:
    """Return the dimension whose values lie side by side, if it is worth reading by vectors."""
    for dimension in reduced:
        if dimension.stride == item and dimension.size * item >= _VECTOR:
            return dimension
    return None


def _row_lanes(run: int, item: int, results: int) -> int:
    """Return how many threads share a row: few, unless there are few rows."""
    vectors = run * item // _VECTOR
    lanes = min(BLOCK, _power(vectors // _AHEAD))
    most = min(BLOCK, _power(vectors))
    while results * lanes < _THREADS and lanes < most:
        lanes *= 2
    return lanes


def _strided_lanes(dimensions: tuple[Dimension, ...], item: int, results: int, terms: int) -> tuple[int, int]:
    """Return the threads of a block, and how many of them share a result."""
    moving = [d for d in dimensions if d.stride]
    if moving and moving[-1].reduced:
        # The values of a result are near each other, the results are not.
        lanes = min(BLOCK, _power(terms // _AHEAD))
        return (lanes, lanes) if lanes >= 32 else (BLOCK, 1)
    side = min(max(16, _LINE // item), 2 * _power(results - 1) if results > 1 else 1)
    lanes = 1
    while results * lanes < _THREADS and lanes < BLOCK // side and terms // lanes >= 4 * _AHEAD:
        lanes *= 2
    return BLOCK, lanes


def _splits(
    results: int, terms: int, blocks: int, unit: int, least: int, run: Dimension | None
) -> tuple[int, int]:
    """Return into how many parts the terms of each result are cut, and how long these are."""
    if not results or not terms:
        return 1, max(terms, 1)
    room = _SCRATCH // (24 * results)
    splits = max(1, min(BLOCKS // blocks, terms // least, room))
    splits = max(splits, -(-terms // LONGEST_CHUNK))
    if splits == 1:
        return 1, terms
    chunk = -(-terms // splits)
    for step in (run.size if run is not None else unit, unit):
        rounded = -(-chunk // step) * step
        if step <= chunk and rounded <= LONGEST_CHUNK:
            chunk = rounded
            break
    return -(-terms // chunk), chunk
