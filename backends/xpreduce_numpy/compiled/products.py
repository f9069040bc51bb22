"""Products of floats: a pair from 1 to 2 in size, and an exponent.

Elements are cut into such a number and an exponent, so that nothing leaves the range on the way. Zeros,
infinities and NaN are not cut: plain multiplication of the high parts decides about them.
"""

from __future__ import annotations

from xpreduce_numpy.compiled.accumulation import Accumulation, Decide, Vectors
from xpreduce_numpy.compiled.rounding import NARROWING, packed, to_odd
from xpreduce_numpy.compiled.writing import FLOATS, LONGS, Code, Value

_DEPTH = 2**9
_ONE = 1023 << 52
_ERROR = 2.0**-80
"""A lane's pair is off by 2**-105 for each of up to 2**24 factors."""


def _cut(x: Value, exponent: Value) -> tuple[Value, Value]:
    """Return a number from 1 to 2 in size, and its exponent added to another."""
    bits = x.bits()
    found = bits.shifted_in_zeros(52) & 0x7FF
    cut = ((bits & ~(0x7FF << 52)) | _ONE).as_float()
    usable = found.differs(0) & found.differs(0x7FF)
    return usable.where(cut, x), exponent + usable.where(found - 1023, 0)


def _normal(parts: Vectors) -> Vectors:
    """Return a pair with its high part from 1 to 2."""
    high, low, exponent = parts
    cut, moved = _cut(high, exponent)
    # The low part moves by the same power of two.
    down = ((exponent - moved + 1023) << 52).as_float()
    return cut, low * down, moved


def _times(a: Vectors, b: Vectors) -> Vectors:
    product = a[0] * b[0]
    error = a[0].times_plus(b[0], -product)
    return product, error + (a[0] * b[1] + a[1] * b[0]), a[2] + b[2]


def accumulation(dtype: str) -> Accumulation:
    """Return the accumulation of the elements of a dtype."""

    def empty(code: Code) -> Vectors:
        return code.constant(FLOATS, 1.0), code.constant(FLOATS, 0.0), code.constant(LONGS, 0)

    def step(code: Code, tile: Vectors, x: Value) -> Vectors:
        exponent = tile[2]
        if dtype == "float64":  # the others have no subnormal numbers left
            tiny = abs(x) < 2.0**-1022
            x = tiny.where(x * 2.0**54, x)
            exponent = exponent - tiny.where(exponent.all(54), 0)
        factor, exponent = _cut(x, exponent)
        product = tile[0] * factor
        error = tile[0].times_plus(factor, -product)
        return product, tile[1].times_plus(factor, error), exponent

    def merge(code: Code, a: Vectors, b: Vectors) -> Vectors:
        return _times(_normal(a), _normal(b))

    return Accumulation(empty, step, merge, empty, merge, merge, (FLOATS, FLOATS, LONGS), _DEPTH, across=32)


def ending(result: str) -> Decide:
    """Return a function that gives the products, and where their rounding is not certain."""

    def decide(code: Code, total: Vectors, terms: Value) -> Vectors:
        high, low, exponent = _normal(total)
        decided = ~high.is_finite() | high.equals(0.0)
        low = decided.where(low.all(0.0), low)
        if result in NARROWING:
            # Far beyond the range of the result, and inside that of doubles.
            scale = _power(exponent.larger(-900).smaller(900))
            narrow = NARROWING[result]
            off = decided.where(low, abs(high) * _ERROR)
            upper, lower = (narrow(to_odd(high, end) * scale) for end in (low + off, low - off))
            value = decided.where(high, upper)
            return packed(value, result), ~decided & upper.bits().differs(lower.bits())
        # Two ulp are allowed, so that a second rounding among the subnormal numbers does no harm.
        value = high + low
        for step in (exponent >> 1, exponent - (exponent >> 1)):
            value = value * _power(step.larger(-1000).smaller(1000))
        return decided.where(high, value), decided & ~decided

    return decide


def _power(exponent: Value) -> Value:
    """Return 2**exponent for exponents that doubles have."""
    return ((exponent + 1023) << 52).as_float()
