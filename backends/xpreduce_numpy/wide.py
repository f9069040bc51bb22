"""Sums of float64 as pairs: squares through exact slices, plain sums by error-free additions.

Neither scales its values, so a sum that leaves float64's middle range is for the caller to compute
again, by the algebra that scales.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of, pairs
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy import careful
from xpreduce_numpy.blocks import Scratch
from xpreduce_numpy.walk import Walk

_TILE = 2**10
_SHORT = 2**6

BLOCK = 2**17
"""Elements in a block, fewer than elsewhere: each is gone through seven times."""


class WideSums:
    """Sums of the terms of one array, box by box."""

    def __init__(self, x: Any, reduction: Reduction) -> None:
        self.walk = Walk(x, reduction.plan, BLOCK)
        self._reduction = reduction
        self._algebra = algebra_of(reduction)
        self._square = reduction.operator.lift == "square"
        self._scratch = Scratch()

    @property
    def kernel(self) -> str:
        """What runs, in words."""
        how = "exact slices" if self._square else "error-free additions"
        return f"float64 pairs by {how}, scaled where the range demands"

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        state = self._of(box)
        wrong = self._out_of_range(box, state[0]) | self._near_tie(state[0], state[1])
        return careful.mended(self._algebra.finish(np, state), self.walk, self._reduction, box, wrong)

    def state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        high, low, count, level = self._of(box)
        level = np.zeros(high.shape, np.int8)
        chosen = np.flatnonzero(self._out_of_range(box, high))
        if chosen.size:
            right = careful.state(self.walk, self._reduction, box, chosen)
            high[chosen], low[chosen], level[chosen] = right[0], right[1], right[3]
        return high, low, count, level

    def _of(self, box: Box) -> State:
        """Return the unscaled state of a box."""
        total: Any = None
        for block in self.walk.blocks(box):
            block = self._long(block)
            sums = self._squares(block) if self._square else self._sum_along(block, None)
            total = sums if total is None else pairs.add(np, total, sums)
        high, low = total[0].reshape(-1), total[1].reshape(-1)
        return high, low, np.asarray(self.walk.terms), np.zeros((), np.int8)

    def _out_of_range(self, box: Box, high: Any) -> Any:
        """Return where a sum must be computed with scaling: it overflowed, or its terms lost digits."""
        if self._square:
            # NaN is certain: nothing but NaN among the terms makes it.
            return ~((high > 2.0**-900) & (high < 2.0**1000)) & (high == high)
        wrong = ~np.isfinite(high)
        if wrong.any() and self._largest(box) * self.walk.terms < 2.0**1023:
            wrong[:] = False  # infinity and NaN came with the terms
        return wrong

    def _largest(self, box: Box) -> float:
        """Return the largest size among the finite terms of a box."""
        return max(
            float(np.max(np.abs(block), where=np.isfinite(block), initial=0.0))
            for block in self.walk.blocks(box)
        )

    def _near_tie(self, high: Any, low: Any) -> Any:
        """Return where the error of a sum of squares leaves open to which float64 it rounds."""
        if not self._square:
            return np.zeros(high.shape, dtype=bool)
        bound = high * 2.0**-62
        return high + (low - bound) != high + (low + bound)

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

    def _squares(self, block: Any) -> tuple[Any, Any]:
        """Sum squares tile by tile.

        In a tile, x is cut into h + l so that all h are multiples of one power of two u, and the sum of
        their squares stays below 2**53 * u**2: it is exact in any order. The rest, (x + h) * l, is
        smaller by 2**25, so that plain sums of 2**10 of them leave an error below 2**-62 of the whole.
        """
        a, r, b = block.shape
        whole = r - r % _TILE if r > _TILE else 0
        rest = self._tile_squares(block[:, whole:].reshape(a, 1, r - whole, b)) if whole < r else None
        if not whole:
            assert rest is not None
            return rest
        sums = self._tile_squares(block[:, :whole].reshape(a, -1, _TILE, b))
        return sums if rest is None else pairs.add(np, sums, rest)

    def _tile_squares(self, x: Any) -> tuple[Any, Any]:
        a, tiles, _, b = x.shape
        size = np.sqrt(_dot(x, x))
        sigma = np.ldexp(1.5, np.frexp(size)[1] + 26)[:, :, None]
        h = np.add(x, sigma, out=self._scratch.array("h", x.shape))
        h -= sigma
        rest = np.subtract(x, h, out=self._scratch.array("l", x.shape))
        high = _dot(h, h)
        h += x
        return self._sum_along(high.reshape(a, tiles, b), _dot(h, rest).reshape(a, tiles, b))

    def _long(self, block: Any) -> Any:
        """Return a block of native floats whose inner loops are long, copied where they are short."""
        a, r, b = block.shape
        if a > 1 and b < _SHORT and (b > 1 or r < _SHORT):
            turned = self._scratch.array("turned", (1, r, a * b))
            turned.reshape(r, a, b)[...] = block.transpose(1, 0, 2)
            return turned
        return block if block.dtype.isnative else block.astype(np.float64)


def _dot(x: Any, y: Any) -> Any:
    """Return the sums of products over the last but one dimension."""
    if x.shape[-1] == 1:
        return np.vecdot(x[..., 0], y[..., 0])[..., None]
    return np.einsum("atrb,atrb->atb", x, y)
