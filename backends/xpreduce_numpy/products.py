"""Products of float16, bfloat16 and float32 through plain float64, with the rounding checked.

Numbers are cut into fractions from 1/2 to 1 and exponents, which are added up apart, so that no product
of 2**9 fractions leaves float64's range. What the plain products leave open is computed again as pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of, pairs
from xpreduce.algebra.products import normal, scaled
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy import careful
from xpreduce_numpy.blocks import Scratch, as_float64
from xpreduce_numpy.general import General
from xpreduce_numpy.walk import Walk

BLOCK = 2**16
"""Elements in a block: fractions and exponents of them stay in cache."""

_TILE = 2**9
_LANES = 2**6
_USELESS = 2.0**-30
"""Errors above this leave too many roundings of float32 open."""


class NarrowProducts:
    """Products of the values of one array, box by box."""

    kernel = "plain float64 products of fractions, compensated where they leave the rounding open"

    def __init__(self, x: Any, reduction: Reduction) -> None:
        self.walk = Walk(x, reduction.plan, BLOCK)
        self._reduction = reduction
        self._algebra = algebra_of(reduction)
        self._pairs = General(x, reduction)
        self._half = reduction.dtype.name if reduction.dtype.bits == 16 else None
        self._scratch = Scratch()
        # Every multiplication adds its own rounding error to the product's.
        self._error = (self.walk.terms + 8) * 2.0**-52

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        if self._error > _USELESS:
            return self._pairs.results(box)
        high, low, exponent = self._plain(box)
        below, above = (
            pairs.rounded(np, scaled(np, high * (1 + off), low, exponent), self._reduction.result)
            for off in (-self._error, self._error)
        )
        wrong = (below != above) & (above == above)  # NaN is certain
        return careful.mended(above, self.walk, self._reduction, box, wrong)

    def state(self, box: Box) -> State:
        """Return the state of a box, flat: as pairs, since it can't be checked any more."""
        return self._pairs.state(box)

    def _plain(self, box: Box) -> State:
        total: State | None = None
        for block in self.walk.blocks(box):
            values = as_float64(block, self._half, self._scratch)
            exponents = self._scratch.array("exponents", values.shape, np.int32)
            np.frexp(values, values, exponents)
            high, exponent = _product(values)
            exponent += np.add.reduce(exponents, axis=1, dtype=np.int64)
            state = normal(np, (high.reshape(-1), np.zeros(high.size)), exponent.reshape(-1))
            total = state if total is None else self._algebra.combine(np, total, state)
        assert total is not None
        return total


def _product(x: Any) -> tuple[Any, Any]:
    """Multiply numbers from 1/2 to 1 over the middle of (outer, reduced, inner): fraction and exponent."""
    a, r, b = x.shape
    exponent: Any = np.zeros((a, b), np.int64)
    while r > _TILE or (b == 1 and r > 2 * _LANES):
        # Of one column, many lanes side by side: multiplications in a chain wait for one another.
        length = -(-r // _LANES) if b == 1 and r <= _TILE * _LANES else _TILE
        count = r // length
        parts = x[:, : count * length].reshape(a, length, count, b) if b == 1 else None
        if parts is None:
            parts = x[:, : count * length].reshape(a, count, length, b).transpose(0, 2, 1, 3)
        products = np.multiply.reduce(parts, axis=1)
        x, by = np.frexp(np.concatenate((products, x[:, count * length :]), axis=1))
        exponent += np.add.reduce(by, axis=1, dtype=np.int64)
        r = x.shape[1]
    return np.multiply.reduce(x, axis=1), exponent
