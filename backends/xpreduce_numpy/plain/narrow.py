"""Sums of float16, bfloat16, float32, and of their exponentials, in plain float64 with checked rounding.

Terms are exact in float64, or within an ulp of it. A block's sums add at most 2**10 terms one after
another, and blocks are added as pairs, so a result is known to within 2**-43 of the sum of its terms'
sizes. Where that leaves open which way the result rounds, it is computed again with compensation: Ziv's
strategy (ACM TOMS 17, 1991). Sums of few values of similar size often lie exactly between two results;
but they are also exact in float64, which the largest and the smallest value prove.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import pairs
from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box, box_size
from xpreduce_numpy import careful
from xpreduce_numpy.plain import rounding
from xpreduce_numpy.plain.blocks import Scratch, as_float64
from xpreduce_numpy.plain.log_sum_exp import exponentials
from xpreduce_numpy.walk import Walk

BLOCK = 2**18
"""Elements in a block: 2 MiB of float64, measured best of 2**12 to 2**19 on a core with 1 MiB of L2."""

DEPTH = 2**10 - 1
"""The most additions that may follow one another in plain float64."""

_MOST_EXACT = 2**4
"""Terms up to which it is worth to ask whether sums are exact."""

_FEW = 2**14
"""Terms in a box up to which states are always compensated: once combined, nothing can be checked."""

_TILE = 2**9
_SELECTOR_TERMS = 2**8
_SELECTOR_COLUMNS = 16
_PIECE = 2**13
_ULP = 2.0**-52


class NarrowSums:
    """Sums of the terms of one array, box by box."""

    kernel = "plain float64 sums, compensated where they leave the rounding open"

    def __init__(self, x: Any, reduction: Reduction) -> None:
        operator = reduction.operator
        self.walk = Walk(x, reduction.plan, BLOCK)
        self._reduction = reduction
        self._scratch = Scratch()
        self._lift, self._last = operator.lift, operator.finish
        self._half = reduction.dtype.name if reduction.dtype.bits == 16 else None
        self._given = np.dtype(in_namespace(np, reduction.dtype.name))
        terms = self.walk.terms
        # Where what comes after the sum is exact too, a sum that is exact needs no check.
        self._may_be_exact = terms <= _MOST_EXACT and (
            self._last == "identity" or (self._last == "mean" and terms & (terms - 1) == 0)
        )

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        if self._lift == "exp":
            return self._log_sum_exp(box)
        span = Span(self._given) if self._may_be_exact and self._lift != "square" else None
        high, low, squares, error = self._of(box, span)
        value = high if low is None else high + low
        if span is not None and span.exact(self.walk.terms):
            value = value / self.walk.terms if self._last == "mean" else value
            results, open_ = rounding.cast(value, self._reduction.result), np.zeros(value.shape, bool)
        else:
            sizes, share = None, error
            if self._lift == "identity":
                squares = self._of(box)[2] if squares is None else squares
                # By Cauchy and Schwarz this bounds the sum of the terms' sizes, and nothing else that
                # NumPy can do with a block is as fast as a product.
                sizes = np.sqrt(squares * self.walk.terms)
            total, spread = value, sizes
            value, sizes, error = self._finished(value, sizes, error)
            results, open_ = self._rounded(value, sizes, error)
            if self._last == "log" and spread is not None:  # of a sum that may as well have the other sign
                open_ |= (np.abs(total) <= spread * share) & (spread > 0) & np.isfinite(total)
        if self._lift == "identity" and self._last != "log":
            open_ |= self._zero_in_doubt(box, value)
        return careful.mended(results, self.walk, self._reduction, box, open_)

    def _log_sum_exp(self, box: Box) -> Any:
        largest, high, low, error = self._exponentials(box)
        log = np.log(high + low)
        value, rest = pairs.two_sum(largest, log)
        value = np.where(np.isfinite(value), value + rest, value)
        results, open_ = self._rounded(value, error + (np.abs(log) + np.abs(value)) * 4 * _ULP, 1.0)
        return careful.mended(results, self.walk, self._reduction, box, open_)

    def _exponentials(self, box: Box) -> tuple[Any, Any, Any, float]:
        """Return (largest, high, low, error): the sums of exp(x - largest) as pairs."""
        largest: Any = None
        for block in self.walk.blocks(box):
            values = as_float64(block, self._half, self._scratch)
            found = np.maximum.reduce(values, axis=1)
            largest = found if largest is None else np.maximum(largest, found)
        # Nothing is subtracted of infinities; of -inf alone the sum is 0, which says it all.
        self._shift = np.where(np.isfinite(largest), largest, 0.0)
        high, low, _, error = self._of(box)
        return largest.reshape(-1), high, np.zeros_like(high) if low is None else low, error + 8 * _ULP

    def _finished(self, value: Any, sizes: Any, error: float) -> tuple[Any, Any, float]:
        """Return what becomes of the sums, and of what bounds their errors."""
        if self._last == "sqrt":
            return np.sqrt(value, out=value), sizes, error
        if self._last == "mean":
            terms = self.walk.terms
            return value / terms, None if sizes is None else sizes / terms, error + _ULP
        if self._last == "log":
            result = np.log(value)
            return result, sizes * error / value + np.abs(result) * 4 * _ULP, 1.0
        return value, sizes, error

    def _zero_in_doubt(self, box: Box, value: Any) -> Any:
        """Return where a sum is zero and its first term is -0, so that it may be -0 itself."""
        zero = value == 0
        if zero.any():
            first = self.walk.first_terms(box)
            zero &= (first == 0) & np.signbit(first)
        return zero

    def state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        results = box_size(box)
        if results * self.walk.terms <= _FEW:
            return careful.state(self.walk, self._reduction, box, np.arange(results))
        if self._lift == "exp":
            return self._exponentials(box)[:3]
        high, low, *_ = self._of(box)
        low = np.zeros_like(high) if low is None else low
        if self._lift == "identity":
            doubt = self._zero_in_doubt(box, high)
            if doubt.any():
                chosen = np.flatnonzero(doubt)
                right = careful.state(self.walk, self._reduction, box, chosen)
                high[chosen], low[chosen] = right[0], right[1]
        return high, low, np.asarray(self.walk.terms)

    def _of(self, box: Box, span: Span | None = None) -> tuple[Any, Any, Any, float]:
        """Return (high, low, squares, error) of a box.

        The sums of the terms are pairs, without low part where few terms need none. The third are the
        sums of squares, for plain sums without a `span`; a span is shown the blocks. The last is what
        each sum may be off by, as a share of the sum of its terms' sizes.
        """
        high = low = plain = squares = None
        depth = 0
        for block in self.walk.blocks(box):
            values = as_float64(block, self._half, self._scratch)
            if self._lift == "abs":
                np.abs(values, out=values)
            elif self._lift == "exp":
                values -= self._shift[:, None]
                exponentials(values, values)
            sums, added = _block_sums(values, self._lift == "square")
            if span is not None:
                span.see(block, self._scratch)
            elif self._lift == "identity":
                more, _ = _block_sums(values, True)
                squares = more if squares is None else squares + more
            if plain is None:
                plain, depth = sums, added
            elif depth + added < DEPTH:
                plain += sums
                depth += added + 1
            else:
                high, low = _flushed(high, low, plain)
                plain, depth = sums, added
        if high is None:
            return plain, None, squares, (depth + 4) * _ULP
        return (*_flushed(high, low, plain), squares, (DEPTH + 4) * _ULP)

    def _rounded(self, value: Any, sizes: Any, error: float) -> tuple[Any, Any]:
        return rounding.sums(value, sizes, error, self._reduction.result, self._scratch)


class Span:
    """The largest size, and the smallest but zero, of the values seen."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._bits = np.dtype(f"u{dtype.itemsize}")
        self._sign = self._bits.type(1 << (8 * dtype.itemsize - 1))
        self._largest = 0
        self._smallest = int(self._sign)

    def see(self, block: Any, scratch: Scratch) -> None:
        """Take a block into account."""
        # As integers, floats without sign are in order; less 1, zero is the largest.
        bits = block.astype(self._dtype, copy=False).view(self._bits)
        size = np.bitwise_and(bits, ~self._sign, out=scratch.array("size", bits.shape, self._bits))
        self._largest = max(self._largest, int(size.max()))
        size -= self._bits.type(1)
        self._smallest = min(self._smallest, int(size.min()) + 1)

    def exact(self, terms: int) -> bool:
        """Whether all sums of this many values are exact in float64, in any order."""
        if self._smallest > self._largest:  # zeros alone
            return True
        smallest, largest = np.asarray([self._smallest, self._largest], self._bits).view(self._dtype)
        return bool(float(largest) * terms <= float(np.spacing(smallest)) * 2.0**53)


def _flushed(high: Any, low: Any, plain: Any) -> tuple[Any, Any]:
    if high is None:
        return plain, np.zeros_like(plain)
    return pairs.add(np, (high, low), (plain, np.zeros_like(plain)))


def _block_sums(values: Any, square: bool) -> tuple[Any, int]:
    """Return the sums over the middle of (outer, reduced, inner), flat, and how deep the additions are.

    `values` is contiguous; where squares are summed, it may be overwritten by them.
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
        return _products(np.multiply(rows, rows, out=rows) if square else rows, np.ones((r, 1))), r
    whole = r - r % _TILE if r > DEPTH else 0
    total, depth = None, 0
    for part in (rows[:, :whole].reshape(a, -1, _TILE), rows[:, whole:].reshape(a, 1, -1)):
        if part.size:
            length = part.shape[2]
            if square:
                tiles = np.vecdot(part, part)
            else:
                tiles = _products(part.reshape(-1, length), np.ones((length, 1))).reshape(a, -1)
            sums = np.add.reduce(tiles, axis=-1)
            total = sums if total is None else total + sums
            depth = max(depth, part.shape[1] + part.shape[2])
    return total, depth


def _column_sums(values: Any, square: bool) -> tuple[Any, int]:
    a, r, b = values.shape
    whole = r - r % _TILE if r > DEPTH else 0
    total, depth = None, 0
    for part, length in ((values[:, :whole], _TILE), (values[:, whole:], r - whole)):
        if part.size:
            tile = part.reshape(-1, length, b)
            sums = np.einsum("arb,arb->ab", tile, tile) if square else np.add.reduce(tile, axis=1)
            if len(sums) > a:
                sums = np.add.reduce(sums.reshape(a, -1, b), axis=1)
            total = sums if total is None else total + sums
            depth = max(depth, tile.shape[1] + tile.shape[0] // a)
    return total, depth


def _selected_sums(values: Any, square: bool) -> tuple[Any, int]:
    """Sum few short columns by a product with a matrix of zeros and ones."""
    a, r, b = values.shape
    rows = values.reshape(a, r * b)
    if square:
        rows *= rows
    sums = _products(rows, np.tile(np.eye(b), (r, 1)))
    if np.isfinite(sums).all():
        return sums, r
    return _column_sums(values, False)  # zero times infinity put NaN where it does not belong


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
