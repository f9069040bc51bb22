"""Logarithms of sums of exponentials, of float64 and of integers, in float64.

The exponentials of float64 are taken as they are, where they are in range: so nothing is rounded before
them, and what is next to zero is not what two large numbers leave. Far out, and for integers, the largest
is subtracted first: there the rounding of differences x - largest is nothing beside the result, or they are
exact. (It adds to the logarithm an error of 2**-53 times the mean of abs(x - largest), weighted by the
exponentials: at most the logarithm of the number of terms.)

Exponentials are cut in two, so that the sums of the upper parts are exact in any order and plain sums of
the lower ones, 2**-32 of the largest, add nothing to the error. What is left are the errors of NumPy's exp
and log, which are within an ulp, and two roundings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import pairs
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy.plain.blocks import SHORT, Scratch, as_float64, turned
from xpreduce_numpy.plain.general import General
from xpreduce_numpy.walk import Walk

BLOCK = 2**16
"""Elements in a block."""

_FAR = 600.0
"""Size from which the largest is subtracted: far from where exponentials or their sums leave the range."""

_LEAST = -700.0

_UPPER = 2.0**20
"""Adding this many times the largest leaves multiples of 2**-33 of it, or coarser."""


_NOTHING = 2.0**-960
"""Share of the largest exponential that is left out, as `exponentials` makes it of what is smaller still."""


class WideLogSumExp:
    """Logarithms of the sums of exponentials of one array, box by box."""

    kernel = "plain exponentials, their sums in two exact slices"

    def __init__(self, x: Any, reduction: Reduction) -> None:
        self.walk = Walk(x, reduction.plan, BLOCK)
        self._general = General(x, reduction, self.walk)
        self._result = reduction.result
        self._float = reduction.dtype.is_float
        self._half = reduction.dtype.name if reduction.dtype.bits == 16 else None
        self._scratch = Scratch()

    def state(self, box: Box) -> State:
        """Return the state of a box, flat: relative to the largest, so that it needs compensation."""
        return self._general.state(box)

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        blocks = self.walk.blocks(box)
        first, following = next(blocks), next(blocks, None)
        only = self._values(first) if following is None else None
        largest = self._largest(box) if only is None else np.maximum.reduce(only, axis=1).reshape(-1)
        finite = np.isfinite(largest)
        shift = np.where((np.abs(largest) < _FAR) & self._float | ~finite, 0.0, largest)
        top = np.exp(largest - shift)
        high, low = None, None
        for values in [only] if only is not None else map(self._values, self.walk.blocks(box)):
            upper, lower = self._sums(values, shift, top)
            if high is None:
                high, low = upper, lower
            else:
                high, error = pairs.two_sum(high, upper)
                low += lower
                low += error
        value = self._logarithm(largest, shift, top, high, low)
        np.copyto(value, largest, where=~finite)
        return pairs.logarithm(np, (value, np.zeros(value.shape)), self._result)

    def _logarithm(self, largest: Any, shift: Any, top: Any, high: Any, low: Any) -> Any:
        value = np.log(high + low)
        value += shift
        # Where the largest dominates, what the others add to it is known far better than the whole.
        others = ((high - top) + low) / top
        dominated = others < 0.5
        if dominated.any():
            np.copyto(others, 0.0, where=others < _NOTHING)
            value[dominated] = largest[dominated] + np.log1p(others[dominated])
        return value

    def _largest(self, box: Box) -> Any:
        largest: Any = None
        for block in self.walk.blocks(box):
            found = np.maximum.reduce(block, axis=1).reshape(-1)
            largest = found if largest is None else np.maximum(largest, found, out=largest)
        return largest.astype(np.float64)

    def _values(self, block: Any) -> Any:
        """Return (outer, reduced, inner) of contiguous float64 with long inner loops."""
        x, shape = turned(block)
        # NumPy's exp gives other bits where values are not side by side.
        if x is block and block.dtype == np.float64 and block.dtype.isnative and block.flags.c_contiguous:
            return block
        return as_float64(x, self._half, self._scratch).reshape(shape)

    def _sums(self, x: Any, shift: Any, top: Any) -> tuple[Any, Any]:
        """Return the sums over the middle of the upper and lower parts of exp(x - shift), flat."""
        a, _, b = x.shape
        terms = self._scratch.array("terms", x.shape)
        if shift.any():
            x = np.subtract(x, shift.reshape(a, 1, b), out=terms)
        exponentials(x, terms)
        sigma = (top * _UPPER).reshape(a, 1, b)
        upper = np.add(terms, sigma, out=self._scratch.array("upper", x.shape))
        upper -= sigma
        terms -= upper
        return _sum(upper), _sum(terms)


def exponentials(x: Any, out: Any) -> None:
    """Put exp(x) into `out`, or exp(-700) where that is smaller: NumPy is slow where results underflow."""
    if x.min() < _LEAST:
        x = np.maximum(x, _LEAST, out=out)
    np.exp(x, out=out)


def _sum(x: Any) -> Any:
    """Sum over the middle of (outer, reduced, inner), flat, in many lanes where there are few results."""
    a, r, b = x.shape
    lanes = SHORT // b if 1 < b < SHORT else 1
    if r < 8 * lanes or lanes == 1:
        return np.add.reduce(x, axis=1).reshape(-1)
    length = r // lanes
    sums = np.add.reduce(x[:, : lanes * length].reshape(a, length, lanes * b), axis=1).reshape(a, lanes, b)
    return (np.add.reduce(sums, axis=1) + np.add.reduce(x[:, lanes * length :], axis=1)).reshape(-1)
