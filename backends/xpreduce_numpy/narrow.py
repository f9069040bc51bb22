"""Sums of float16, bfloat16 and float32 through plain float64, with the rounding checked.

Terms are exact in float64. A block's sums add at most 2**10 terms one after another, and blocks are
added as pairs, so a result is known to within 2**-43 of the sum of its terms' sizes. Where that leaves
open which way the result rounds, the caller computes it again with compensation: Ziv's strategy
(ACM TOMS 17, 1991).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xpreduce.algebra import pairs
from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box, box_size

from xpreduce_numpy import careful
from xpreduce_numpy.blocks import Float64Buffer
from xpreduce_numpy.walk import Walk

DEPTH = 2**10 - 1
"""The most additions that may follow one another in plain float64."""

_FEW_TERMS = 2**5
"""Terms up to which a state is always compensated: it can't be computed again once it is combined."""

_TILE = 2**9
_SELECTOR_TERMS = 2**8
_SELECTOR_COLUMNS = 16
_PIECE = 2**13
_BOUND = 2.0**-42  # twice the bound above, for the rounding of the bound itself


class NarrowSums:
    """Sums of the terms of one array, box by box."""

    kernel = "plain float64 sums, compensated where they leave the rounding open"

    def __init__(self, walk: Walk, reduction: Reduction) -> None:
        self._walk = walk
        self._reduction = reduction
        self._buffer = Float64Buffer(walk.elements)
        self._square = reduction.operator.lift == "square"
        self._root = reduction.operator.finish == "sqrt"
        self._dtype = np.dtype(in_namespace(np, reduction.result.name))

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        results, open_ = self._finished(*self._of(box))
        return careful.mended(results, self._walk, self._reduction, box, open_)

    def state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        if self._walk.terms <= _FEW_TERMS:
            every = np.arange(box_size(box))
            return careful.state(self._walk, self._reduction, box, every)
        high, low, _ = self._of(box)
        return high, low, np.asarray(self._walk.terms)

    def _of(self, box: Box) -> tuple[Any, Any, Any]:
        """Return (high, low, bound): the sums of a box as pairs, and what they may be off by."""
        high = low = plain = squares = None
        depth = 0
        for block in self._walk.blocks(box):
            values = self._buffer.filled(block)
            if self._square:
                sums, added = _block_sums(values, square=True)
            else:
                # By Cauchy and Schwarz, the square root of n times the sum of squares bounds the sum of
                # absolute values; a product is the fastest thing that NumPy can do with a block.
                sums, added = _block_sums(values, square=False)
                more, _ = _block_sums(values, square=True)
                squares = more if squares is None else squares + more
            if plain is None:
                plain, depth = sums, added
            elif depth + added < DEPTH:
                plain += sums
                depth += added + 1
            else:
                high, low = _flushed(high, low, plain)
                plain, depth = sums, added
        high, low = _flushed(high, low, plain)
        bound = high * _BOUND if squares is None else np.sqrt(squares * self._walk.terms) * _BOUND
        return high, low, bound

    def _finished(self, high: Any, low: Any, bound: Any) -> tuple[Any, Any]:
        """Return the results, and where they are not certain."""
        value = high + low if self._walk.terms > DEPTH else high
        if self._root:
            value = np.sqrt(value)
            bound = value * _BOUND
        if self._dtype.name == "bfloat16":
            # The cast goes by way of float32: stay clear of what that step may move onto a tie.
            bound = bound + np.abs(value) * 2.0**-22 + 2.0**-148
        below, above = (value - bound).astype(self._dtype), (value + bound).astype(self._dtype)
        open_ = below != above
        if open_.any():
            open_ &= value == value  # NaN is certain
        if not self._square:
            open_ |= (value == 0) & (bound == 0)  # only the careful way knows the sign of zero
        return above, open_


def _flushed(high: Any, low: Any, plain: Any) -> tuple[Any, Any]:
    if high is None:
        return plain, np.zeros_like(plain)
    return pairs.add(np, (high, low), (plain, np.zeros_like(plain)))


def _block_sums(values: Any, *, square: bool) -> tuple[Any, int]:
    """Return the sums over the middle of (outer, reduced, inner), flat, and how deep the additions are.

    `values` is float64 and contiguous.
    """
    a, r, b = values.shape
    if r == 1:
        flat = values.reshape(-1)
        return (flat * flat if square else flat.copy()), 0
    if b == 1:
        sums, depth = _row_sums(values.reshape(a, r), square)
    elif r * b <= _SELECTOR_TERMS and b <= _SELECTOR_COLUMNS:
        sums, depth = _selected_sums(values, square)
    else:
        sums, depth = _column_sums(values, square)
    return sums.reshape(-1), depth


def _row_sums(rows: Any, square: bool) -> tuple[Any, int]:
    a, r = rows.shape
    if r <= DEPTH // 16:
        # One product with a vector of ones: NumPy's own loops cost more than such short rows.
        return _products(rows * rows if square else rows, np.ones((r, 1))), r
    whole = r - r % _TILE if r > DEPTH else 0
    total, depth = None, 0
    for part in (rows[:, :whole].reshape(a, -1, _TILE), rows[:, whole:].reshape(a, 1, -1)):
        if part.size:
            tiles = np.vecdot(part, part) if square else np.add.reduce(part, axis=-1)
            sums = np.add.reduce(tiles, axis=-1)
            total = sums if total is None else total + sums
            depth = max(depth, part.shape[1] + part.shape[2])
    return total, depth


def _column_sums(values: Any, square: bool) -> tuple[Any, int]:
    a, r, b = values.shape
    whole = r - r % _TILE if r > DEPTH else 0
    total, depth = None, 0
    for part in (values[:, :whole], values[:, whole:]):
        if part.size:
            tile = part.reshape(-1, min(part.shape[1], _TILE), b)
            sums = np.einsum("arb,arb->ab", tile, tile) if square else np.add.reduce(tile, axis=1)
            sums = np.add.reduce(sums.reshape(a, -1, b), axis=1)
            total = sums if total is None else total + sums
            depth = max(depth, tile.shape[1] + tile.shape[0] // a)
    return total, depth


def _selected_sums(values: Any, square: bool) -> tuple[Any, int]:
    """Sum few short columns by a product with a matrix of zeros and ones."""
    a, r, b = values.shape
    rows = values.reshape(a, r * b)
    sums = _products(rows * rows if square else rows, np.tile(np.eye(b), (r, 1)))
    if np.isfinite(sums).all():
        return sums, r
    return _column_sums(values, square)  # zero times infinity put NaN where it does not belong


def _products(rows: Any, matrix: Any) -> Any:
    """Multiply in pieces too small for a BLAS to share out among threads of its own."""
    r, columns = matrix.shape
    out = np.empty((len(rows), columns))
    piece = max(1, _PIECE // (r * columns))
    whole = len(rows) - len(rows) % piece
    if whole:
        np.matmul(rows[:whole].reshape(-1, piece, r), matrix, out=out[:whole].reshape(-1, piece, columns))
    if whole < len(rows):
        np.matmul(rows[whole:], matrix, out=out[whole:])
    return out
