"""Exact sums of integers and of their squares: int64 sums while they fit, then limbs."""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of, limbs
from xpreduce.algebra.integer_sums import LONGEST_ROW, IntegerSum
from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy.walk import Walk

BLOCK = 2**16
"""Elements in a block: their digits and limbs take some 30 times as many bytes."""

_INT64 = 2**63
_HALF = 16  # bits of a digit of a 32-bit integer


class IntegerSums:
    """Sums of the terms of one array, box by box."""

    kernel = "exact int64 sums, carried into limbs"

    def __init__(self, x: Any, reduction: Reduction) -> None:
        algebra = algebra_of(reduction)
        assert isinstance(algebra, IntegerSum)
        self.walk = Walk(x, reduction.plan, BLOCK)
        self._algebra = algebra

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        total = self._of(box)
        sums, result = total.limbs(), self._algebra.result
        if (
            self._algebra.last == "sqrt"
            and not result.is_float
            and total.bound < min(2**52, result.maximum**2)
        ):
            # Below 2**52 the float64 root, rounded down, is the integer root.
            dtype = in_namespace(np, result.name)
            return np.sqrt(limbs.to_int64(sums)).astype(dtype)
        return self._algebra.finish(np, (*sums, np.asarray(self.walk.terms)))

    def state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        return (*self._of(box).limbs(), np.asarray(self.walk.terms))

    def _of(self, box: Box) -> _Total:
        total = _Total(self._algebra.size)
        for block in self.walk.blocks(box):
            largest = max(int(block.max()), -int(block.min()))
            if self._algebra.lift == "square":
                self._add_squares(total, block, largest)
            else:
                _add_plain(total, block, largest, self._algebra.lift == "abs")
        return total

    def _add_squares(self, total: _Total, block: Any, largest: int) -> None:
        terms = block.shape[1]
        if largest < 2**32:
            x = block.astype(np.int64)
            if largest * largest * terms < _INT64:
                total.add(0, _dot(x, x), largest * largest * terms)
                return
            low, high = x & (2**_HALF - 1), x >> _HALF
            size = terms << 2 * _HALF
            total.add(0, _dot(low, low), size)
            total.add(_HALF, 2 * _dot(low, high), 2 * size)
            total.add(2 * _HALF, _dot(high, high), size)
            return
        rows = block.transpose(0, 2, 1).reshape(-1, terms)
        for start in range(0, terms, LONGEST_ROW):
            part = rows[:, start : start + LONGEST_ROW]
            total.add_limbs(self._algebra.partial(np, part)[:-1], largest * largest * part.shape[1])


def _add_plain(total: _Total, block: Any, largest: int, absolute: bool) -> None:
    if absolute and block.dtype.kind == "i":
        # Of a negative x, abs(x) as the unsigned integer of the same bits is right even for the smallest.
        block = np.abs(block)
        block = block.view(f"u{block.itemsize}")
    size = largest * block.shape[1]
    if size < _INT64:
        total.add(0, np.add.reduce(block, axis=1, dtype=np.int64).reshape(-1), size)
        return
    low = np.add.reduce(block & limbs.MASK, axis=1, dtype=np.int64)
    high = np.add.reduce(block >> limbs.BITS, axis=1, dtype=np.int64)
    total.add(0, low.reshape(-1), block.shape[1] << limbs.BITS)
    total.add(limbs.BITS, high.reshape(-1), block.shape[1] << limbs.BITS)


def _dot(x: Any, y: Any) -> Any:
    return np.einsum("arb,arb->ab", x, y).reshape(-1)


class _Total:
    """A running total: int64 arrays at some bits, moved to limbs before they could overflow."""

    def __init__(self, size: int) -> None:
        self.bound = 0
        self._size = size
        self._pending: dict[int, tuple[Any, int]] = {}
        self._limbs: limbs.Limbs | None = None

    def add(self, bit: int, values: Any, bound: int) -> None:
        """Add ``values * 2**bit``, where no value exceeds `bound` in size."""
        self.bound += bound << bit
        before = self._pending.pop(bit, None)
        if before is not None:
            if before[1] + bound < _INT64:
                values, bound = before[0] + values, before[1] + bound
            else:
                self._place(bit, before[0])
        self._pending[bit] = values, bound

    def add_limbs(self, values: limbs.Limbs, bound: int) -> None:
        """Add values given as limbs, of which none exceeds `bound` in size."""
        self.bound += bound
        self._limbs = values if self._limbs is None else limbs.add(self._limbs, values)

    def _place(self, bit: int, values: Any) -> None:
        if self._limbs is None:
            self._limbs = tuple(np.zeros(values.shape, np.int64) for _ in range(self._size))
        total = list(self._limbs)
        limbs.place(total, values, bit)
        self._limbs = limbs.carry(total)

    def limbs(self) -> limbs.Limbs:
        """Return the total as carried limbs."""
        for bit, (values, _) in self._pending.items():
            self._place(bit, values)
        self._pending.clear()
        assert self._limbs is not None
        return self._limbs
