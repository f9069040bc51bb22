"""The largest and smallest by NumPy's own reductions, which are right but for the sign of zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of
from xpreduce.algebra.extremes import Extreme
from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy.plain.blocks import Scratch, as_float64, turned
from xpreduce_numpy.walk import Walk

BLOCK = 2**18
"""Elements in a block."""

_SHORT_ROW = 2**5
"""Length up to which NumPy takes longer to find a row's largest than to copy it."""


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
        self._same = reduction.dtype is reduction.result
        self._given = np.dtype(in_namespace(np, reduction.dtype.name))
        self._ufunc = np.maximum if algebra.largest else np.minimum
        self._scratch = Scratch()

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        if not self._same:
            return self._algebra.finish(np, self.state(box))
        value = self._found(box)
        if self._float:
            zero = value == 0
            if zero.any():
                positive = self._zero_that_wins(box) == self._algebra.largest
                np.copyto(value, np.where(positive, 0.0, -0.0), where=zero)
        return value.astype(self._given, copy=False)

    def state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        value, count = self._algebra.held(np, self._found(box)), np.asarray(self.walk.terms)
        if not self._float:
            return value, count
        wins = self._zero_that_wins(box) if (value == 0).any() else np.zeros(value.shape, bool)
        return value, wins, count

    def _found(self, box: Box) -> Any:
        """Return the largest or smallest values of a box, flat; of zeros any."""
        value: Any = None
        for block in self._blocks(box):
            found = self._ufunc.reduce(block, axis=1).reshape(-1)
            value = found if value is None else self._ufunc(value, found, out=value)
        return value

    def _blocks(self, box: Box) -> Any:
        """Yield (outer, reduced, inner) with long inner loops, 16-bit floats as float64."""
        for block in self.walk.blocks(box):
            x, shape = turned(block, _SHORT_ROW)
            if self._float and self._half:
                yield as_float64(x, self._half, self._scratch).reshape(shape)
            elif x is block and block.dtype.isnative:
                yield block
            else:
                values = self._scratch.array("values", x.shape, self._given)
                values[...] = x
                yield values.reshape(shape)

    def _zero_that_wins(self, box: Box) -> Any:
        """Return where +0 (for the smallest: -0) is among the values."""
        seen: Any = False
        largest = self._algebra.largest
        for block in self._blocks(box):
            negative = np.signbit(block)
            seen = seen | np.any((block == 0) & (~negative if largest else negative), axis=1).reshape(-1)
        return seen
