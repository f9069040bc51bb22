"""Products of floats as pairs of float64, by halves, without exponents as long as nothing leaves the range.

The processor reports what overflowed or underflowed, rounding errors included. Then fewer are multiplied
before they are cut into fractions from 1/2 to 1 and exponents, which are added up apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of, pairs
from xpreduce.algebra.products import normal
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy.plain.blocks import Scratch, as_float64, turned
from xpreduce_numpy.plain.exceptions import in_range
from xpreduce_numpy.walk import Walk

BLOCK = 2**16
"""Elements in a block: multiplications by halves go through them some 15 times."""

_LEVELS = 6
"""Halvings of fractions between two normalisations: 2**6 of them, and rounding errors, stay in range."""

_FEWER = {64: 4, 4: 1, 1: 0}
"""Halvings before the first normalisation, and how many instead where those left float64's range."""

_UPPER = np.uint64(2**64 - 2**27)
"""Mask that leaves 26 of a float64's 53 digits."""


class WideProducts:
    """Products of the values of one array, box by box."""

    kernel = "float64 pairs, multiplied by halves"

    def __init__(self, x: Any, reduction: Reduction, walk: Walk | None = None) -> None:
        self.walk = walk or Walk(x, reduction.plan, BLOCK)
        self._algebra = algebra_of(reduction)
        self._result = reduction.result.name
        self._half = reduction.dtype.name if reduction.dtype.bits == 16 else None
        self._scratch = Scratch()
        self._levels = max(_FEWER)  # halvings before exponents are taken off

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        if self._result != "float64":
            return self._algebra.finish(np, self.state(box))
        high, low, exponent = self._of(box)
        product = high + low
        np.copysign(product, high, out=product)  # the sum would take its sign from -0
        return product if exponent is None else np.ldexp(product, within_int32(exponent))

    def state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        return _normal(self._of(box))

    def _of(self, box: Box) -> State:
        """Return (high, low, exponent): the products of a box; where all exponents are zero, None."""
        total: State | None = None
        for block in self.walk.blocks(box):
            product = self._product(self._lanes(block))
            total = product if total is None else self._combined(total, product)
        assert total is not None
        return total

    def _lanes(self, block: Any) -> Any:
        """Return (outer, reduced, inner) of native float64 with long inner loops."""
        x, shape = turned(block)
        if x is block and block.dtype == np.float64 and block.dtype.isnative:
            return block
        return as_float64(x, self._half, self._scratch).reshape(shape)

    def _combined(self, a: State, b: State) -> State:
        (x, i), (y, j) = _cut(a), _cut(b)
        high, low = np.empty_like(x[0]), np.empty_like(x[0])
        self._times(x, y, (high, low))
        return _decided(high, low, i + j)

    def _product(self, x: Any) -> State:
        """Multiply over the middle of (outer, reduced, inner)."""
        found = None
        while self._levels and found is None:
            found = in_range(self._halved, x, None, self._levels)
            if found is None:  # as it is likely for the next blocks too
                self._levels = _FEWER[self._levels]
        high, low = found or (x, None)
        exponent: Any = None
        while high.shape[1] > 1:
            (high, low), by = _cut((high, low, None))
            total = np.add.reduce(by, axis=1)
            exponent = total if exponent is None else exponent + total
            high, low = self._halved(high, low, _LEVELS)
        high = high.flatten()
        low = np.zeros(high.shape) if low is None else low.flatten()
        return _decided(high, low, None if exponent is None else exponent.reshape(-1))

    def _halved(self, high: Any, low: Any, levels: int) -> tuple[Any, Any]:
        """Multiply numbers over the middle, the first half by the second, up to so many times."""
        a, r, b = high.shape
        for level in range(levels):
            half, odd = divmod(r, 2)
            if not half:
                break
            p, e = (
                self._scratch.array(f"{name} {level % 2}", (a, half + odd, b)) for name in ("high", "low")
            )
            first, second = (
                (high[:, start : start + half], None if low is None else low[:, start : start + half])
                for start in (0, half)
            )
            self._times(first, second, (p[:, :half], e[:, :half]))
            if odd:
                p[:, half] = high[:, -1]
                e[:, half] = 0.0 if low is None else low[:, -1]
            high, low, r = p, e, half + odd
        return high, low

    def _times(self, x: Any, y: Any, out: Any) -> None:
        """Multiply pairs, of which the low parts may be None for zeros.

        The rounding error of the product of the high parts is exact (Dekker 1971; a mask cuts the numbers).
        The low parts stay below 2**-40 of the high ones, so that their own product need not be taken along.
        """
        a, b = x[0], y[0]
        p, e = out
        cut = [self._scratch.array(name, a.shape) for name in ("a high", "a low", "b high", "b low")]
        for number, upper, lower in ((a, *cut[:2]), (b, *cut[2:])):
            np.bitwise_and(number.view(np.uint64), _UPPER, out=upper.view(np.uint64))
            np.subtract(number, upper, out=lower)
        t = self._scratch.array("term", a.shape)
        np.multiply(a, b, out=p)
        np.multiply(cut[0], cut[2], out=e)
        e -= p
        parts = [(cut[0], cut[3]), (cut[1], cut[2]), (cut[1], cut[3])]
        if x[1] is not None:
            parts += [(a, y[1]), (b, x[1])]
        for factor, other in parts:
            e += np.multiply(factor, other, out=t)


def within_int32(exponent: Any) -> Any:
    """Return exponents as ldexp takes them; those cut off are beyond any float's range."""
    return np.clip(exponent, -(2**20), 2**20).astype(np.int32)


def _cut(state: State) -> tuple[Any, Any]:
    """Return a pair with its high part from 1/2 to 1 in size, and the exponent that goes with it."""
    high, low, exponent = state
    fraction, by = np.frexp(high)
    low = None if low is None else np.ldexp(low, -by)
    return (fraction, low), by.astype(np.int64) if exponent is None else exponent + by


def _decided(high: Any, low: Any, exponent: Any) -> State:
    """Return a state in which infinities and NaN have no low part."""
    np.copyto(low, 0.0, where=~np.isfinite(low))
    return high, low, exponent


def _normal(state: State) -> State:
    high, low, exponent = state
    exponent = np.zeros(high.shape, np.int64) if exponent is None else exponent
    return normal(np, pairs.normalised(np, (high, low)), exponent)
