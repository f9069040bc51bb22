"""Sums of floats: a compensated pair, a count, and for float64 a shared power-of-two scale.

float16, bfloat16 and float32 are exact in float64, and so are their squares; a state is (high, low,
count). Sums and squares of float64 can leave float64's range before the result does, so values are
scaled by one of three powers of two, chosen by the largest of each result's values, and a state is
(high, low, count, level): it stands for (high + low) * unit**level.
"""

from __future__ import annotations

import math
from typing import Any

from xpreduce.algebra import pairs
from xpreduce.dtypes import DType
from xpreduce.operators import Finish, Lift
from xpreduce.protocol import State


class FloatSum:
    """Sums of `lift` of floats, finished by `finish`."""

    def __init__(self, lift: Lift, finish: Finish, dtype: DType, result: DType) -> None:
        self.lift = lift
        self.result = result
        self.last = finish
        self.scaled = dtype.name == "float64"
        # A value at level k was multiplied by factor**-k, and a term by factor**(-k * power).
        self.factor, self.power = (2.0**600, 2) if lift == "square" else (2.0**128, 1)

    def identity(self, xp: Any, shape: tuple[int, ...], device: Any) -> State:
        """Return the state of the empty set."""
        # -0 is what leaves every sum as it is; terms without sign never are -0.
        zero = -0.0 if self.lift == "identity" else 0.0
        real = xp.float64
        high = xp.full(shape, zero, dtype=real, device=device)
        low = xp.zeros(shape, dtype=real, device=device)
        count = xp.zeros((), dtype=xp.int64, device=device)
        if not self.scaled:
            return high, low, count
        level = xp.full(shape, -1 if self.power == 2 else 0, dtype=xp.int8, device=device)
        return high, low, count, level

    def partial(self, xp: Any, values: Any) -> State:
        """Return the state of each row of a matrix."""
        rows, size = values.shape
        device = values.device
        if not size:
            return self.identity(xp, (rows,), device)
        values = xp.astype(values, xp.float64)
        count = xp.full((), size, dtype=xp.int64, device=device)
        if not self.scaled:
            high, low = pairs.sum_along(xp, self.lifted(xp, values), None, -1)
            return high, low, count
        level = self.level_of(xp, xp.max(xp.abs(values), axis=-1))
        values = values * self._by_level(xp, -level, self.factor)[:, None]
        if self.lift == "square":
            high, low = pairs.sum_along(xp, *pairs.two_product(values, values), -1)
        else:
            high, low = pairs.sum_along(xp, self.lifted(xp, values), None, -1)
        return high, low, count, level

    def lifted(self, xp: Any, values: Any) -> Any:
        """Return the terms: exact for what is narrower than float64."""
        if self.lift == "square":
            return values * values
        return xp.abs(values) if self.lift == "abs" else values

    def level_of(self, xp: Any, largest: Any) -> Any:
        """Return the level that suits values of which `largest` is the largest in size."""
        if self.power == 1:
            return xp.astype(largest > 2.0**900, xp.int8)
        # Between 2**-400 and 2**480 neither squares, nor their rounding errors, nor sums of 2**60 of
        # them leave the range; smaller values beside larger ones vanish far below what is allowed.
        return xp.astype(largest > 2.0**480, xp.int8) - xp.astype(largest < 2.0**-400, xp.int8)

    def combine(self, xp: Any, a: State, b: State) -> State:
        """Return the state of the values of both."""
        if self.scaled:
            level = xp.maximum(a[3], b[3])
            high, low = pairs.add(xp, self._at(xp, a, level), self._at(xp, b, level))
        else:
            high, low = pairs.add(xp, (a[0], a[1]), (b[0], b[1]))
        return (high, low, a[2] + b[2], level) if self.scaled else (high, low, a[2] + b[2])

    def _at(self, xp: Any, state: State, level: Any) -> tuple[Any, Any]:
        """Return a state's pair on a level that is not below its own."""
        high, low = state[0], state[1]
        steps = level - state[3]
        for step in range(1, 3 if self.power == 2 else 2):
            down = self._by_level(xp, -xp.astype(steps >= step, xp.int8), self.factor)
            for _ in range(self.power):
                high, low = high * down, low * down
        return high, low

    def finish(self, xp: Any, state: State) -> Any:
        """Round the states to the result's dtype."""
        high, low, count = state[:3]
        if self.lift == "identity":
            # A sum of no terms is +0, though -0 is the identity.
            high = xp.where(count == 0, xp.zeros_like(high), high)
        round_once = pairs.logarithm if self.last == "log" else pairs.rounded
        return round_once(xp, self.finished(xp, (high, low), count, state[3:]), self.result)

    def finished(self, xp: Any, pair: pairs.Pair, count: Any, level: tuple[Any, ...] = ()) -> pairs.Pair:
        """Return what becomes of the sums: a pair still, without scale."""
        power = self.power
        if self.last == "sqrt":
            pair, power = pairs.sqrt(xp, pair), power // 2
        elif self.last == "mean":
            pair = pairs.divide(xp, pair, xp.astype(count, xp.float64))
        elif self.last == "log":
            pair = pairs.log(xp, pair)
            if level:
                shift = xp.astype(level[0], xp.float64) * (self.power * math.log(self.factor))
                return pairs.add(xp, pair, (shift, xp.zeros_like(shift)))
        if not level:
            return pair
        scale = self._by_level(xp, level[0], self.factor)
        for _ in range(power):
            pair = pair[0] * scale, pair[1] * scale
        return pair

    def _by_level(self, xp: Any, level: Any, factor: float) -> Any:
        """Return factor**level for levels from -1 to 1."""
        one = xp.ones(level.shape, dtype=xp.float64, device=level.device)
        return xp.where(level > 0, one * factor, xp.where(level < 0, one / factor, one))
