"""The largest and smallest by NumPy's own reductions, which are right but for the sign of zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of
from xpreduce.algebra.extremes import Extreme
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy.blocks import Scratch, as_float64
from xpreduce_numpy.walk import Walk

BLOCK = 2**18
"""Elements in a block."""


class Extremes:
    """The largest or smallest of the values of one array, box by box."""

    kernel = "NumPy's own reduction, block by block, with the signs of zeros put right"

    def __init__(self, x: Any, reduction: Reduction) -> None:
        algebra = algebra_of(reduction)
        assert isinstance(algebra, Extreme)
        self.walk = Walk(x, reduction.plan, BLOCK)
        self._algebra = algebra
        self._half = reduction.dtype.name if reduction.dtype.bits == 16 else None
        self._float = reduction.dtype.is_float
        self._ufunc = np.maximum if algebra.largest else np.minimum
        self._scratch = Scratch()

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        return self._algebra.finish(np, self.state(box))

    def state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        value: Any = None
        for block in self._blocks(box):
            found = self._ufunc.reduce(block, axis=1).reshape(-1)
            value = found if value is None else self._ufunc(value, found)
        value, count = self._algebra.held(np, value), np.asarray(self.walk.terms)
        if not self._float:
            return value, count
        wins = self._zero_that_wins(box) if (value == 0).any() else np.zeros(value.shape, bool)
        return value, wins, count

    def _blocks(self, box: Box) -> Any:
        for block in self.walk.blocks(box):
            if self._float and self._half:
                yield as_float64(block, self._half, self._scratch)
            else:
                yield block if block.dtype.isnative else block.astype(block.dtype.newbyteorder("="))

    def _zero_that_wins(self, box: Box) -> Any:
        """Return where +0 (for the smallest: -0) is among the values."""
        seen: Any = False
        largest = self._algebra.largest
        for block in self._blocks(box):
            negative = np.signbit(block)
            seen = seen | np.any((block == 0) & (~negative if largest else negative), axis=1).reshape(-1)
        return seen
