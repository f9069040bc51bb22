"""Sums of float64 as pairs, through exact slices where the rounding can be checked.

Values are cut in two so that the sums of the upper parts, or of their squares, are exact in any order,
and the lower parts add so little that plain sums of them do. What these leave open, because the sum is
next to a tie, cancels, or leaves float64's middle range, the algebra computes again, with scaling. States
can't be computed again: plain sums are made by error-free additions there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of, pairs
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy import careful
from xpreduce_numpy.plain.blocks import Scratch, as_float64
from xpreduce_numpy.walk import Walk

_TILE = 2**10
_SHORT = 2**6
"""Length up to which an inner loop costs more to start than to run."""


BLOCK = 2**18
"""Elements in a block: 2 MiB, measured best of 2**15 to 2**18."""


class WideSums:
    """Sums of the terms of one array, box by box."""

    def __init__(self, x: Any, reduction: Reduction) -> None:
        self.walk = Walk(x, reduction.plan, BLOCK)
        self._reduction = reduction
        self._algebra = algebra_of(reduction)
        self._square = reduction.operator.lift == "square"
        self._absolute = reduction.operator.lift == "abs"
        # Narrower values and their squares are exact in float64, and far from the ends of its range.
        self._narrow = reduction.dtype.bits < 64
        self._half = reduction.dtype.name if reduction.dtype.bits == 16 else None
        self._scratch = Scratch()

    kernel = "float64 in two exact slices, compensated and scaled where they leave the rounding open"

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        high, low, error = self._sliced(box)
        if self._reduction.result.name == "float64":
            wrong = (high + (low - error) != high + (low + error)) & np.isfinite(high)
            results = self._finished(high, low)
        else:
            results = self._finished(*pairs.normalised(np, (high, low + error)))
            others = self._finished(*pairs.normalised(np, (high, low - error)))
            wrong = (results != others) & np.isfinite(high)
            if self._reduction.result.is_float:
                wrong |= np.signbit(results) != np.signbit(others)
        wrong |= self._out_of_range(box, high)
        if self._reduction.operator.lift == "identity":
            zero = high == 0
            if zero.any():  # only the careful way knows the sign of zero
                first = self.walk.first_terms(box)
                wrong |= zero & (first == 0) & np.signbit(first)
        return careful.mended(results, self.walk, self._reduction, box, wrong)

    def _finished(self, high: Any, low: Any) -> Any:
        count, level = np.asarray(self.walk.terms), np.zeros((), np.int8)
        return self._algebra.finish(np, (high, low, count) if self._narrow else (high, low, count, level))

    def state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        high, low, _ = self._sliced(box) if self._square else self._added(box)
        count = np.asarray(self.walk.terms)
        if self._narrow:
            return high, low, count
        # A sum of zeros must not be above the level of the small values that it may meet.
        level = -((high == 0) & self._square).astype(np.int8)
        wrong = self._out_of_range(box, high)
        if wrong.any():
            chosen = np.flatnonzero(wrong)
            right = careful.state(self.walk, self._reduction, box, chosen)
            high[chosen], low[chosen], level[chosen] = right[0], right[1], right[3]
        return high, low, count, level

    def _out_of_range(self, box: Box, high: Any) -> Any:
        """Return where a sum must be computed with scaling: it overflowed, or its terms lost digits."""
        if self._narrow:
            return np.zeros(high.shape, bool)
        if self._square:
            # NaN is certain, as nothing but NaN among the terms makes it; so is the zero of zeros.
            wrong = ~((high > 2.0**-900) & (high < 2.0**1000)) & (high == high)
            if wrong.any():
                wrong &= (high != 0) | self._any(box)
            return wrong
        # What comes after the sum takes products of it apart, which needs room above it.
        wrong = ~(np.abs(high) < 2.0**990)
        if wrong.any() and self._largest(box) * self.walk.terms < 2.0**990:
            wrong[:] = False  # infinity and NaN came with the terms
        return wrong

    def _largest(self, box: Box) -> float:
        """Return the largest size among the finite terms of a box."""
        return max(
            float(np.max(np.abs(block), where=np.isfinite(block), initial=0.0))
            for block in self.walk.blocks(box)
        )

    def _any(self, box: Box) -> Any:
        """Return where any term is not zero."""
        found: Any = False
        for block in self.walk.blocks(box):
            found = found | np.any(block, axis=1).reshape(-1)
        return found

    def _added(self, box: Box) -> tuple[Any, Any, Any]:
        """Return (high, low, 0): the sums of a box by error-free additions."""
        total: Any = None
        for block in self.walk.blocks(box):
            sums = self._sum_along(self._long(block), None)
            total = sums if total is None else pairs.add(np, total, sums)
        return total[0].reshape(-1), total[1].reshape(-1), 0.0

    def _sliced(self, box: Box) -> tuple[Any, Any, Any]:
        """Return (high, low, error): the sums of a box, and what they may be off by."""
        total: Any = None
        sizes: Any = 0.0
        for block in self.walk.blocks(box):
            for tiles in _tiles(self._long(block)):
                high, low, size = self._tile_sums(tiles)
                sums = self._sum_along(high, low)
                total = sums if total is None else pairs.add(np, total, sums)
                sizes = sizes + np.add.reduce(size, axis=1)
        high, low = total[0].reshape(-1), total[1].reshape(-1)
        return high, low, high * 2.0**-62 if self._square else sizes.reshape(-1) * 2.0**-79

    def _tile_sums(self, x: Any) -> tuple[Any, Any, Any]:
        """Return (high, low, size) of the sums of each tile of (outer, tiles, terms, inner).

        `size`, the root of the sum of squares, is below 2**e. x is cut into h + l so that all h are
        multiples of u. For squares u is 2**(e - 26): the squares of h are multiples of u**2, and their
        sum stays below 2**53 of them. For plain sums u is 2**(e - 47), and no sum of h exceeds
        32 * size, which is below 2**53 of them. So both are exact in any order. What is left,
        (2 * h + l) * l or l, is so much smaller that plain sums of 2**10 of them are off by less than
        2**-63 of the whole, or 2**-80 of `size`.
        """
        squares = _dot(x, x)
        size = np.sqrt(squares)
        sigma = np.ldexp(1.5, np.frexp(size)[1] + (26 if self._square else 5))[:, :, None]
        h = np.add(x, sigma, out=self._scratch.array("h", x.shape))
        h -= sigma
        rest = np.subtract(x, h, out=self._scratch.array("l", x.shape))
        if self._square:
            return _dot(h, h), 2 * _dot(h, rest) + _dot(rest, rest), size
        tiny = squares < 2.0**-900  # here the size is not to be relied on
        if tiny.any():
            size[tiny & np.any(x, axis=2)] = 2.0**-400
        return np.add.reduce(h, axis=2), np.add.reduce(rest, axis=2), size

    def _sum_along(self, high: Any, low: Any | None) -> tuple[Any, Any]:
        """Sum along the middle by halves, like `pairs.sum_along` but in scratch memory."""
        a, r, b = high.shape
        level = 0
        while r > 1:
            half, odd = divmod(r, 2)
            level += 1
            s, e = (
                self._scratch.array(f"{name} {level % 2}", (a, half + odd, b)) for name in ("sum", "error")
            )
            x, y = high[:, :half], high[:, half : 2 * half]
            total, error = s[:, :half], e[:, :half]
            t = self._scratch.array("t", total.shape)
            np.add(x, y, out=total)  # two_sum: total + error is x + y
            np.subtract(total, x, out=t)
            np.subtract(y, t, out=error)
            np.subtract(total, t, out=t)
            np.subtract(x, t, out=t)
            error += t
            if low is not None:
                np.add(low[:, :half], low[:, half : 2 * half], out=t)
                error += t
            if odd:
                s[:, half] = high[:, -1]
                e[:, half] = 0.0 if low is None else low[:, -1]
            high, low, r = s, e, half + odd
        if low is None:
            return high[:, 0].copy(), np.zeros((a, b))
        return pairs.normalised(np, (high[:, 0], low[:, 0]))

    def _long(self, block: Any) -> Any:
        """Return a block of native float64 whose inner loops are long, copied where they are short."""
        if self._narrow:
            block = as_float64(block, self._half, self._scratch)
        a, r, b = block.shape
        if a > 1 and b < _SHORT and (b > 1 or r < _SHORT):
            turned = self._scratch.array("turned", (1, r, a * b))
            turned.reshape(r, a, b)[...] = block.transpose(1, 0, 2)
            block = turned
        elif not block.dtype.isnative:
            block = block.astype(np.float64)
        return np.abs(block, out=self._scratch.array("size", block.shape)) if self._absolute else block


def _tiles(block: Any) -> Iterator[Any]:
    """Cut (outer, reduced, inner) into (outer, tiles, terms, inner), and what is left over."""
    a, r, b = block.shape
    whole = r - r % _TILE if r > _TILE else 0
    if whole:
        yield block[:, :whole].reshape(a, -1, _TILE, b)
    if whole < r:
        yield block[:, whole:].reshape(a, 1, r - whole, b)


def _dot(x: Any, y: Any) -> Any:
    """Return the sums of products over the last but one dimension."""
    if x.shape[-1] == 1:
        return np.vecdot(x[..., 0], y[..., 0])[..., None]
    return np.einsum("atrb,atrb->atb", x, y)
