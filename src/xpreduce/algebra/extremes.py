"""The largest and the smallest: a state is the value, for floats the sign of a zero, and a count.

NaN wins over everything, and +0 is larger than -0, which comparisons do not see: so a state also says
whether the zero that wins was among the values. 16-bit floats are held as float32, integers and bool as
int64, where uint64 is moved down by 2**63 so that its order stays.
"""

from __future__ import annotations

from typing import Any

from xpreduce.algebra import limbs, pairs
from xpreduce.dtypes import DType, in_namespace
from xpreduce.operators import Combine
from xpreduce.protocol import State

_TOP = -(2**63)


class Extreme:
    """The largest of values, or the smallest."""

    def __init__(self, combine: Combine, dtype: DType, result: DType) -> None:
        self.largest = combine == "maximum"
        self.dtype = dtype
        self.result = result
        self._moved = dtype.name == "uint64"

    def identity(self, xp: Any, shape: tuple[int, ...], device: Any) -> State:
        """Return the state of the empty set."""
        count = xp.zeros((), dtype=xp.int64, device=device)
        if self.dtype.is_float:
            bound = float("-inf") if self.largest else float("inf")
            real = xp.float64 if self.dtype.bits == 64 else xp.float32
            return (
                xp.full(shape, bound, dtype=real, device=device),
                xp.zeros(shape, dtype=xp.bool, device=device),
                count,
            )
        bound = int(self.dtype.minimum if self.largest else self.dtype.maximum)
        bound = bound + _TOP if self._moved else bound
        return xp.full(shape, bound, dtype=xp.int64, device=device), count

    def partial(self, xp: Any, values: Any) -> State:
        """Return the state of each row of a matrix."""
        if not values.shape[1]:
            return self.identity(xp, (values.shape[0],), values.device)
        count = xp.full((), values.shape[1], dtype=xp.int64, device=values.device)
        values = self.held(xp, values)
        found = xp.max(values, axis=-1) if self.largest else xp.min(values, axis=-1)
        if not self.dtype.is_float:
            return found, count
        negative = xp.signbit(values)
        wins = (values == 0) & (~negative if self.largest else negative)
        return found, xp.any(wins, axis=-1), count

    def held(self, xp: Any, values: Any) -> Any:
        """Return values in the dtype in which states hold them."""
        if self.dtype.is_float:
            return values if self.dtype.bits > 16 else xp.astype(values, xp.float32)
        values = xp.astype(values, xp.int64)
        return values ^ _TOP if self._moved else values

    def combine(self, xp: Any, a: State, b: State) -> State:
        """Return the state of the values of both."""
        value = xp.maximum(a[0], b[0]) if self.largest else xp.minimum(a[0], b[0])
        return (value, *((a[1] | b[1],) if self.dtype.is_float else ()), a[-1] + b[-1])

    def finish(self, xp: Any, state: State) -> Any:
        """Return the values in the result's dtype."""
        if self.dtype is self.result:
            return xp.astype(self._value(xp, state), in_namespace(xp, self.result.name))
        value = self._value(xp, state)
        if self.dtype.is_float:
            value = xp.astype(value, xp.float64)
            pair = value, xp.zeros_like(value)
        else:
            number = limbs.from_int64(xp, value, signed=not self._moved)
            if not self.result.is_float:
                below, empty = limbs.negative(number), state[-1] == 0
                # The value of an empty set is the end of the result's range.
                below = xp.where(empty, xp.full_like(below, self.largest), below)
                return limbs.saturated(xp, limbs.absolute(xp, number), below, ~empty, self.result)
            pair = limbs.to_pair(xp, number)
        bound = xp.full_like(pair[0], float("-inf") if self.largest else float("inf"))
        pair = xp.where(state[-1] == 0, bound, pair[0]), pair[1]
        return pairs.rounded(xp, pair, self.result)

    def _value(self, xp: Any, state: State) -> Any:
        value = state[0]
        if self.dtype.is_float:
            plus = state[1] if self.largest else ~state[1]
            zero = xp.zeros_like(value)
            return xp.where(value == 0, xp.where(plus, zero, -zero), value)
        return value ^ _TOP if self._moved else value
