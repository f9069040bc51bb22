"""Any operator, block by block through its algebra: for what has no faster way."""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy.walk import Walk

BLOCK = 2**16
"""Elements in a block, few: an algebra goes through them dozens of times, with temporaries."""


class General:
    """States and results of one array, box by box."""

    def __init__(self, x: Any, reduction: Reduction, walk: Walk | None = None) -> None:
        self.walk = walk or Walk(x, reduction.plan, BLOCK)
        self._algebra = algebra_of(reduction)

    @property
    def kernel(self) -> str:
        """What runs, in words."""
        return f"{type(self._algebra).__name__} in blocks of {BLOCK} elements"

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        return self._algebra.finish(np, self.state(box))

    def state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        total: State | None = None
        for block in self.walk.blocks(box):
            a, r, b = block.shape
            state = self._algebra.partial(np, block.transpose(0, 2, 1).reshape(a * b, r))
            total = state if total is None else self._algebra.combine(np, total, state)
        assert total is not None
        return total
