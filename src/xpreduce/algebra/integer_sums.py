"""Sums of integers, of their sizes and of their squares, exact: limbs (see `limbs`) and a count."""

from __future__ import annotations

from typing import Any

from xpreduce.algebra import limbs, pairs
from xpreduce.dtypes import DType
from xpreduce.operators import Finish, Lift
from xpreduce.protocol import State

LONGEST_ROW = 2**17
"""The most values in a row that `IntegerSum.partial` takes: sums of digits stay below 2**63."""

_DIGIT = 22  # bits; three of them hold 64, and 2**17 doubled products of two stay below 2**63
_COUNT_BITS = 48  # a state holds the sum of up to 2**48 terms


class IntegerSum:
    """Sums of `lift` of integers, finished by `finish`."""

    def __init__(self, lift: Lift, finish: Finish, dtype: DType, result: DType) -> None:
        self.lift = lift
        self.dtype = dtype
        self.result = result
        self.last = finish
        term_bits = dtype.bits * (2 if lift == "square" else 1)
        self.size = max(3, -(-(term_bits + _COUNT_BITS) // limbs.BITS))

    def identity(self, xp: Any, shape: tuple[int, ...], device: Any) -> State:
        """Return the state of the empty set."""
        zeros = tuple(xp.zeros(shape, dtype=xp.int64, device=device) for _ in range(self.size))
        return (*zeros, xp.zeros((), dtype=xp.int64, device=device))

    def partial(self, xp: Any, values: Any) -> State:
        """Return the state of each row of a matrix with at most `LONGEST_ROW` columns."""
        *total, _ = self.identity(xp, (values.shape[0],), values.device)
        for bit, part in self._digit_sums(xp, values):
            limbs.place(total, part, bit)
            total = list(limbs.carry(total))
        return (*total, xp.full((), values.shape[1], dtype=xp.int64, device=values.device))

    def _digit_sums(self, xp: Any, values: Any) -> list[tuple[int, Any]]:
        """Return the rows' sums of terms as (bit, int64 array) pairs that stand for array * 2**bit."""

        def total(terms: Any) -> Any:
            return xp.sum(terms, axis=-1, dtype=xp.int64)

        digits = self._digits(xp, values)
        if self.lift == "square":
            return [
                (_DIGIT * (i + j), total(x * y) * (1 if i == j else 2))
                for i, x in enumerate(digits)
                for j, y in enumerate(digits[: i + 1])
            ]
        return [(_DIGIT * i, total(digit)) for i, digit in enumerate(digits)]

    def _digits(self, xp: Any, values: Any) -> list[Any]:
        """Cut values into int64 digits of 22 bits; for squares and absolute values, their size's."""
        wide = xp.astype(values, xp.int64)  # uint64 wraps here; the last digit's mask undoes it
        if self.dtype.kind == "uint" or self.lift == "identity":
            negative = None
        else:
            # abs(x) of a negative x is ~x + 1, which needs no more bits than x has.
            negative = wide < 0
            wide = xp.where(negative, ~wide, wide)
        mask = 2**_DIGIT - 1
        if self.dtype.bits < _DIGIT:
            digits = [wide]
        elif self.dtype.bits <= 2 * _DIGIT:
            digits = [wide & mask, wide >> _DIGIT]
        else:
            last = wide >> (2 * _DIGIT)
            if self.dtype.kind == "uint":
                last = last & (2 ** (self.dtype.bits - 2 * _DIGIT) - 1)
            digits = [wide & mask, (wide >> _DIGIT) & mask, last]
        if negative is not None:
            digits[0] = digits[0] + xp.astype(negative, xp.int64)
        return digits

    def combine(self, xp: Any, a: State, b: State) -> State:
        """Return the state of the values of both."""
        return (*limbs.add(a[:-1], b[:-1]), a[-1] + b[-1])

    def finish(self, xp: Any, state: State) -> Any:
        """Round the states once: to nearest for floats, toward zero and saturating for integers."""
        *total, count = state
        value = tuple(total)
        if self.result.is_float or self.last == "log":
            pair = self._finished_pair(xp, limbs.to_pair(xp, value), count)
            round_once = pairs.logarithm if self.last == "log" else pairs.rounded
            return round_once(xp, pair, self.result)
        below, size = limbs.negative(value), limbs.absolute(xp, value)
        known: Any = below == below
        if self.last == "sqrt":
            size, known = limbs.isqrt(xp, size, 2 if self.result.bits <= limbs.BITS else 4)
        elif self.last == "mean":
            one = xp.ones_like(count)
            by = xp.where(count == 0, one, count) + xp.zeros_like(size[0])
            size = limbs.divide(xp, size, (by & limbs.MASK, by >> limbs.BITS))
        return limbs.saturated(xp, size, below, known, self.result)

    def _finished_pair(self, xp: Any, pair: pairs.Pair, count: Any) -> pairs.Pair:
        if self.last == "sqrt":
            return pairs.sqrt(xp, pair)
        if self.last == "mean":
            return pairs.divide(xp, pair, xp.astype(count, xp.float64))
        return pairs.log(xp, pair) if self.last == "log" else pair
