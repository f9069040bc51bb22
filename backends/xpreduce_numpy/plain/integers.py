"""Exact sums of integers and of their squares: int64 sums while they fit, then limbs."""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of, limbs
from xpreduce.algebra.integer_sums import LONGEST_ROW, IntegerSum
from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy import careful
from xpreduce_numpy.plain import integer_results
from xpreduce_numpy.plain.blocks import Scratch, turned
from xpreduce_numpy.plain.integer_totals import LIMIT, Total
from xpreduce_numpy.walk import Walk

BLOCK = 2**16
"""Elements in a block: their digits and limbs, where squares need them, take some 30 times as many bytes."""

_SHORT_ROW = 2**5
"""Length up to which NumPy takes longer to sum a row than to copy it."""

_TILE = 2**10

_HALF = 16  # bits of a digit of a 32-bit integer


class IntegerSums:
    """Sums of the terms of one array, box by box."""

    kernel = "exact int64 sums, carried into limbs"

    def __init__(self, x: Any, reduction: Reduction) -> None:
        algebra = algebra_of(reduction)
        assert isinstance(algebra, IntegerSum)
        self.walk = Walk(x, reduction.plan, BLOCK)
        self._algebra = algebra
        self._reduction = reduction
        self._dtype = np.dtype(in_namespace(np, reduction.result.name))
        self._scratch = Scratch()
        self._full = False

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        last, result, terms = self._algebra.last, self._algebra.result, self.walk.terms
        if not result.is_float and self._algebra.lift == "square":
            results = self._of_estimates(box)
            if results is not None:
                return results
        total = self._of(box)
        if not result.is_float and terms < 2**31:
            parts = total.parts()
            if parts is not None and set(parts) == {0}:
                return integer_results.of_int64(parts[0], total.bound, terms, last, result)
            if parts is not None and set(parts) == {0, limbs.BITS}:
                results = integer_results.of_halves(parts[0], parts[limbs.BITS], terms, last, result)
                if results is not None:
                    return results
        return self._algebra.finish(np, (*total.limbs(), np.asarray(terms)))

    def _of_estimates(self, box: Box) -> Any | None:
        """Return results found from sums of squares in float64, or None where those decide too few."""
        total: Any = None
        for block in self.walk.blocks(box):
            x, shape = turned(block)
            values = self._scratch.array("values", x.shape)
            values[...] = x
            sums = _squares(values.reshape(shape))
            total = sums if total is None else np.add(total, sums, out=total)
        result = self._algebra.result
        # Factors, squares and sums are rounded; up to 2**53 nothing was.
        share = (self.walk.terms + 8) * 2.0**-52
        exact = total < 2.0**52
        if self._algebra.last == "sqrt":
            np.sqrt(total, out=total)
        most = float(result.maximum)  # of 64 bits, one more
        below, above = (np.floor(np.minimum(total * (1 + off), most)) for off in (-share, share))
        open_ = (below != above) & ~exact
        if np.count_nonzero(open_) * 16 > open_.size:
            return None
        large = above >= most
        results = np.where(large, 0.0, np.where(exact, np.floor(total), below)).astype(self._dtype)
        np.copyto(results, result.maximum, where=large)
        return careful.mended(results, self.walk, self._reduction, box, open_)

    def state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        return (*self._of(box).limbs(), np.asarray(self.walk.terms))

    def _of(self, box: Box) -> Total:
        total = Total(self._algebra.size)
        for block in self.walk.blocks(box):
            x, shape = turned(block, _SHORT_ROW)
            if x is not block:
                turn = self._scratch.array("turned", x.shape, x.dtype.newbyteorder("="))
                turn[...] = x
                block = turn.reshape(shape)
            # Where one block fills the range of 64 bits, the next ones are taken to.
            largest = 2**64 if self._full else max(int(block.max()), -int(block.min()))
            self._full = largest >= 2**61
            if self._algebra.lift == "square":
                self._add_squares(total, block, largest)
            else:
                self._add_plain(total, block, largest)
        return total

    def _add_squares(self, total: Total, block: Any, largest: int) -> None:
        terms = block.shape[1]
        if largest < 2**32:
            x = block.astype(np.int64)
            if largest * largest * terms < LIMIT:
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

    def _add_plain(self, total: Total, block: Any, largest: int) -> None:
        if self._algebra.lift == "abs" and block.dtype.kind == "i":
            # Of a negative x, abs(x) as the unsigned integer of the same bits is right even for the smallest.
            size = self._scratch.array("size", block.shape, block.dtype.newbyteorder("="))
            block = np.abs(block, out=size).view(f"u{block.itemsize}")
        bound = largest * block.shape[1]
        if bound < LIMIT:
            total.add(0, np.add.reduce(block, axis=1, dtype=np.int64).reshape(-1), bound)
            return
        upper = self._scratch.array("upper", block.shape, block.dtype.newbyteorder("="))
        np.right_shift(block, limbs.BITS, out=upper)
        high = np.add.reduce(upper, axis=1, dtype=np.int64)
        # The whole sum may wrap: what it leaves of the low parts' sum fits.
        low = np.add.reduce(block, axis=1, dtype=np.int64) - (high << limbs.BITS)
        total.add(0, low.reshape(-1), block.shape[1] << limbs.BITS)
        total.add(limbs.BITS, high.reshape(-1), block.shape[1] << limbs.BITS)


def _squares(x: Any) -> Any:
    """Return the sums of squares of float64 over the middle of (outer, reduced, inner), flat."""
    a, r, b = x.shape
    if b > 1:
        return np.einsum("arb,arb->ab", x, x).reshape(-1)
    whole = r - r % _TILE
    rows = x.reshape(a, r)
    # In tiles too short for a BLAS to share out among threads of its own.
    tiles = rows[:, :whole].reshape(a, -1, _TILE)
    return np.add.reduce(np.vecdot(tiles, tiles), axis=1) + np.vecdot(rows[:, whole:], rows[:, whole:])


def _dot(x: Any, y: Any) -> Any:
    return np.einsum("arb,arb->ab", x, y).reshape(-1)
