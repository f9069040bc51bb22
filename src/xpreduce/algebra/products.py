"""Products: of floats as a pair and its exponent, of integers as sign, size, and whether it left 64 bits.

A float product is (high + low) * 2**exponent with high from 1/2 to 1 in size, or 0, infinite or NaN: so
nothing overflows or underflows on the way, whatever the order of the factors.
"""

from __future__ import annotations

from typing import Any

from xpreduce.algebra import limbs, pairs
from xpreduce.dtypes import DType
from xpreduce.protocol import State

_STEPS = (512, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1)


class FloatProduct:
    """Products of floats, or of integers whose result is a float."""

    def __init__(self, dtype: DType, result: DType) -> None:
        self.dtype = dtype
        self.result = result

    def identity(self, xp: Any, shape: tuple[int, ...], device: Any) -> State:
        """Return the state of the empty set."""
        high = xp.full(shape, 0.5, dtype=xp.float64, device=device)
        return high, xp.zeros_like(high), xp.ones(shape, dtype=xp.int64, device=device)

    def partial(self, xp: Any, values: Any) -> State:
        """Return the state of each row of a matrix."""
        device = values.device
        if not values.shape[1]:
            return self.identity(xp, (values.shape[0],), device)
        if self.dtype.is_float:
            high = xp.astype(values, xp.float64)
            low = xp.zeros_like(high)
        else:
            number = limbs.from_int64(xp, xp.astype(values, xp.int64), self.dtype.kind == "int")
            high, low = limbs.to_pair(xp, number)
        high, low, exponent = normal(xp, (high, low), xp.zeros(values.shape, dtype=xp.int64, device=device))
        exponent = xp.sum(exponent, axis=1)
        level, size = 0, values.shape[1]
        while size > 1:
            half = size // 2
            x, y = high[:, :half], high[:, half : 2 * half]
            # The high parts are plain products, which decide about infinities, NaN and zeros; the low
            # parts stay below 2**-40 of them, so that their own product need not be taken along.
            p, e = pairs.two_product(x, y)
            e = e + (x * low[:, half : 2 * half] + y * low[:, :half])
            if size % 2:
                p = xp.concat((p, high[:, 2 * half :]), axis=1)
                e = xp.concat((e, low[:, 2 * half :]), axis=1)
            high, low, size, level = p, e, half + size % 2, level + 1
            if level % 6 == 0:  # they are above 2**-64 still
                high, low, by = normal(xp, (high, low), xp.zeros(high.shape, dtype=xp.int64, device=device))
                exponent = exponent + xp.sum(by, axis=1)
        high, low = high[:, 0], low[:, 0]
        decided = ~xp.isfinite(high) | (high == 0)
        low = xp.where(decided, xp.zeros_like(low), low)
        return normal(xp, pairs.normalised(xp, (high, low)), exponent)

    def combine(self, xp: Any, a: State, b: State) -> State:
        """Return the state of the values of both."""
        high, low = pairs.multiply((a[0], a[1]), (b[0], b[1]))
        # Plain multiplication is what decides about infinities, NaN and zeros.
        plain = a[0] * b[0]
        decided = ~xp.isfinite(plain) | (plain == 0)
        pair = xp.where(decided, plain, high), xp.where(decided, xp.zeros_like(low), low)
        return normal(xp, pair, a[2] + b[2])

    def finish(self, xp: Any, state: State) -> Any:
        """Round the states to the result's dtype."""
        return pairs.rounded(xp, pairs.normalised(xp, scaled(xp, *state)), self.result)


def normal(xp: Any, pair: pairs.Pair, exponent: Any) -> State:
    """Return a pair with its high part from 1/2 to 1, and the exponent that goes with it."""
    high, low = pair
    usable = xp.isfinite(high) & (high != 0)
    half = 0.5 * xp.ones_like(high)
    known = xp.where(usable, high, half)
    fraction, by = xp.frexp(known) if hasattr(xp, "frexp") else _frexp(xp, known)
    # The ratio is a power of two; where it would overflow, a single number came in without a low part.
    tiny = xp.abs(known) < 2.0**-1000
    low = low * xp.where(tiny, 2 * half, fraction / xp.where(tiny, half, known))
    by = exponent + xp.astype(by, xp.int64)
    return xp.where(usable, fraction, high), low, xp.where(usable, by, xp.zeros_like(by))


def _frexp(xp: Any, value: Any) -> tuple[Any, Any]:
    """Cut finite floats that are not 0 into a fraction from 1/2 to 1 in size and an exponent."""
    exponent = xp.zeros(value.shape, dtype=xp.int64, device=value.device)
    one = xp.ones_like(value)
    for step in _STEPS:
        large, small = xp.abs(value) >= 2.0 ** (step - 1), xp.abs(value) < 2.0**-step
        value = value * xp.where(large, one * 2.0**-step, xp.where(small, one * 2.0**step, one))
        exponent = exponent + step * (xp.astype(large, xp.int64) - xp.astype(small, xp.int64))
    return value, exponent


def scaled(xp: Any, high: Any, low: Any, exponent: Any) -> pairs.Pair:
    """Return a pair times 2**exponent, exactly unless it leaves the range."""
    size = xp.abs(exponent)
    size = xp.where(size < 4095, size, xp.full_like(size, 4095))
    one = xp.ones_like(high)
    for bit in range(12):
        for part in [2 ** min(bit, 9)] * 2 ** max(bit - 9, 0):
            up = xp.where(exponent > 0, one * 2.0**part, one * 2.0**-part)
            factor = xp.where(((size >> bit) & 1) == 1, up, one)
            high, low = high * factor, low * factor
    return high, low


class IntegerProduct:
    """Products of integers with an integer result."""

    def __init__(self, dtype: DType, result: DType) -> None:
        self.dtype = dtype
        self.result = result

    def identity(self, xp: Any, shape: tuple[int, ...], device: Any) -> State:
        """Return the state of the empty set."""
        one = xp.ones(shape, dtype=xp.int64, device=device)
        no = xp.zeros(shape, dtype=xp.bool, device=device)
        return one, xp.zeros_like(one), no, no

    def partial(self, xp: Any, values: Any) -> State:
        """Return the state of each row of a matrix."""
        size = values.shape[1]
        if not size:
            return self.identity(xp, (values.shape[0],), values.device)
        number = limbs.from_int64(xp, xp.astype(values, xp.int64), self.dtype.kind == "int")
        below = limbs.negative(number)
        low, high, _ = limbs.absolute(xp, number)
        state: State = (low, high, below, below & ~below)
        while size > 1:
            half = size // 2
            first, second, odd = (
                tuple(part[:, a:b] for part in state)
                for a, b in ((0, half), (half, 2 * half), (2 * half, size))
            )
            state = self.combine(xp, first, second)
            if size % 2:
                state = tuple(xp.concat(both, axis=1) for both in zip(state, odd, strict=True))
            size = half + size % 2
        return tuple(part[:, 0] for part in state)

    def combine(self, xp: Any, a: State, b: State) -> State:
        """Return the state of the values of both."""
        low, high, *above = limbs.multiply(xp, a[:2], b[:2], 4)
        over = a[3] | b[3] | (above[0] != 0) | (above[1] != 0)
        a_zero, b_zero = ((s[0] == 0) & (s[1] == 0) & ~s[3] for s in (a, b))
        zero = a_zero | b_zero
        return (
            xp.where(zero, xp.zeros_like(low), low),
            xp.where(zero, xp.zeros_like(high), high),
            a[2] ^ b[2],
            over & ~zero,
        )

    def finish(self, xp: Any, state: State) -> Any:
        """Return the products, saturated."""
        size = (state[0], state[1], xp.zeros_like(state[0]))
        return limbs.saturated(xp, size, state[2], ~state[3], self.result)
