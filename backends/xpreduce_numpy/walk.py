"""A NumPy array cut into blocks that stay in cache, in memory order, whatever its strides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from xpreduce.axes import Plan
from xpreduce.layout import Places, merge
from xpreduce.tiles import Box, boxes

_TALL = 2**5
"""Rows that a block of columns has room for: more would make its rows short, fewer its sums many."""

_GATHERED = 2**16
"""Elements in a matrix of gathered rows, which compensated sums go through many times."""


class Walk:
    """The blocks of one array, as matrices (outer kept, reduced, inner kept).

    Results come in *memory order*: flat, ordered as the kept dimensions lie in memory. A box of results
    is a slice for each kept dimension.
    """

    def __init__(self, x: Any, plan: Plan, block: int) -> None:
        self.dimensions = merge(x.shape, x.strides, plan.axes)
        self.sizes = sizes = tuple(d.size for d in self.dimensions)
        strides = tuple(d.stride for d in self.dimensions)
        self._view = np.lib.stride_tricks.as_strided(x, sizes, strides, writeable=False)
        self._kept = tuple(i for i, d in enumerate(self.dimensions) if not d.reduced)
        self._reduced = tuple(i for i, d in enumerate(self.dimensions) if d.reduced)
        self.kept = tuple(sizes[i] for i in self._kept)
        self.reduced = tuple(sizes[i] for i in self._reduced)
        self.terms = math.prod(self.reduced)
        self._plan = plan
        self._shape = x.shape
        self._lengths = self._block_lengths(sizes, block)
        # Whether a block has kept dimensions between reduced ones, or none reduced: it becomes rows.
        between = range(self._reduced[0], self._reduced[-1] + 1) if self._reduced else ()
        self._apart = not self._reduced or any(i in self._kept and self._lengths[i] > 1 for i in between)
        self._stretch = tuple(self._lengths[i] for i in self._reduced)

    def _block_lengths(self, sizes: tuple[int, ...], block: int) -> tuple[int, ...]:
        left, lengths = block, [1] * len(sizes)
        for i in reversed(range(len(sizes))):
            columns = i == len(sizes) - 1 and i in self._kept
            most = block // min(self.terms, _TALL) if columns else left
            lengths[i] = max(1, min(sizes[i], most))
            left //= lengths[i]
            if lengths[i] < sizes[i] and not columns:
                break
        return tuple(lengths)

    def results(self) -> Iterator[Box]:
        """Yield boxes that cover the results."""
        return boxes(self.kept, tuple(self._lengths[i] for i in self._kept))

    def blocks(self, box: Box) -> Iterator[Any]:
        """Yield views (outer kept, reduced, inner kept) or copies that together hold a box's terms."""
        for inner in boxes(self.reduced, self._stretch):
            yield self._as_matrix(self._view[self._where(box, inner)])

    def _where(self, box: Box, inner: Box) -> Box:
        where = [slice(None)] * len(self.dimensions)
        for i, part in zip((*self._kept, *self._reduced), (*box, *inner), strict=True):
            where[i] = part
        return tuple(where)

    def _as_matrix(self, block: Any) -> Any:
        if not self._apart:
            sizes = block.shape
            first, last = self._reduced[0], self._reduced[-1] + 1
            return block.reshape(
                math.prod(sizes[:first]), math.prod(sizes[first:last]), math.prod(sizes[last:])
            )
        rows = math.prod(block.shape[i] for i in self._kept)
        return block.transpose([*self._kept, *self._reduced]).reshape(rows, -1, 1)

    def first_terms(self, box: Box) -> Any:
        """Return the first term of each result of a box, flat."""
        return self._view[self._where(box, (slice(0, 1),) * len(self._reduced))].reshape(-1)

    def rows(self, box: Box, chosen: Any) -> Iterator[Iterator[Any]]:
        """Yield, run by run of the chosen results of a box, matrices with their terms as rows.

        `chosen` holds flat indices into the box. A run is an iterator of matrices (results of the run,
        some of their terms).
        """
        run = max(1, _GATHERED // min(self.terms, 2**12))
        for start in range(0, len(chosen), run):
            yield self._gathered(box, chosen[start : start + run])

    def _gathered(self, box: Box, chosen: Any) -> Iterator[Any]:
        index: tuple[Any, ...] = ()
        if box:
            shape = tuple(part.stop - part.start for part in box)
            places = np.unravel_index(chosen, shape)
            index = tuple(i + part.start for i, part in zip(places, box, strict=True))
        view = self._view.transpose([*self._kept, *self._reduced])
        left, lengths = _GATHERED // len(chosen), []
        for size in reversed(self.reduced):
            lengths.append(max(1, min(size, left)))
            left //= lengths[-1]
        for inner in boxes(self.reduced, tuple(reversed(lengths))):
            yield view[(*index, *inner)].reshape(len(chosen), -1)

    def in_place(self, flat: Any, keepdims: bool) -> Any:
        """Return what is in memory order as an array of the result's shape, without a copy."""
        return Places(self.dimensions, self._shape, replace(self._plan, keepdims=keepdims)).of(flat)

    def __str__(self) -> str:
        return ", ".join(str(d) for d in self.dimensions) or "one element"
