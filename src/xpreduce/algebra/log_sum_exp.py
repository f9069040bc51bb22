"""The logarithm of a sum of exponentials: a state is the largest value and the sum relative to it.

The sum of exp(x - largest) is a pair, so that it keeps all its digits also where it is 1 and next to
nothing: of [0, -40] it is 1 + 4.2e-18. The largest exponential is 1 exactly, whatever the range of x.
"""

from __future__ import annotations

from typing import Any

from xpreduce.algebra import limbs, pairs
from xpreduce.dtypes import DType
from xpreduce.protocol import State


class LogSumExp:
    """Logarithms of sums of exponentials."""

    def __init__(self, dtype: DType, result: DType) -> None:
        self.dtype = dtype
        self.result = result

    def identity(self, xp: Any, shape: tuple[int, ...], device: Any) -> State:
        """Return the state of the empty set."""
        largest = xp.full(shape, float("-inf"), dtype=xp.float64, device=device)
        return largest, xp.zeros_like(largest), xp.zeros_like(largest)

    def partial(self, xp: Any, values: Any) -> State:
        """Return the state of each row of a matrix."""
        if not values.shape[1]:
            return self.identity(xp, (values.shape[0],), values.device)
        values = self.as_float64(xp, values)
        largest = xp.max(values, axis=-1)
        terms = _exp_difference(xp, values, largest[:, None])
        high, low = pairs.sum_along(xp, terms, None, -1)
        return largest, high, low

    def as_float64(self, xp: Any, values: Any) -> Any:
        """Return values as float64; 64-bit integers are rounded to it."""
        if self.dtype.name == "uint64":  # some libraries can't cast it
            number = limbs.from_int64(xp, xp.astype(values, xp.int64), signed=False)
            return limbs.to_pair(xp, number)[0]
        return xp.astype(values, xp.float64)

    def combine(self, xp: Any, a: State, b: State) -> State:
        """Return the state of the values of both."""
        largest = xp.maximum(a[0], b[0])
        parts = []
        for state in (a, b):
            factor = _exp_difference(xp, state[0], largest)
            parts.append(pairs.multiply((state[1], state[2]), (factor, xp.zeros_like(factor))))
        high, low = pairs.add(xp, *parts)
        return largest, high, low

    def finish(self, xp: Any, state: State) -> Any:
        """Round the states to the result's dtype."""
        return pairs.logarithm(xp, self.finished(xp, *state), self.result)

    def finished(self, xp: Any, largest: Any, high: Any, low: Any) -> pairs.Pair:
        """Return the logarithms as pairs."""
        log = xp.log1p((high - 1) + low)
        # Beside a large logarithm its rounding error would show where `largest` cancels it: Newton's
        # step on exp takes it away.
        rest = high * xp.exp(-log)
        rest = xp.where((log > 0.5) & xp.isfinite(log), (rest - 1) + low * xp.exp(-log), xp.zeros_like(log))
        plain = largest + log
        pair = pairs.normalised(xp, pairs.add(xp, pairs.two_sum(largest, log), (rest, xp.zeros_like(rest))))
        decided = ~xp.isfinite(plain)
        return xp.where(decided, plain, pair[0]), xp.where(decided, xp.zeros_like(plain), pair[1])


def _exp_difference(xp: Any, x: Any, largest: Any) -> Any:
    """Return exp(x - largest), also where both are the same infinity: 1."""
    difference, error = pairs.two_sum(x, -largest)
    term = xp.exp(difference)
    usable = xp.isfinite(error)
    term = xp.where(usable, term + term * xp.where(usable, error, xp.zeros_like(error)), term)
    return xp.where(x == largest, xp.ones_like(term), term)
