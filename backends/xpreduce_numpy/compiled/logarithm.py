"""Exponential and logarithm of vectors of doubles, within an ulp, by series that converge fast enough.

Arguments are cut so that the rest is small (Tang, ACM TOMS 15, 1989 and 16, 1990), and ln(2) stands in
two parts, of which the first has so few digits that its multiples are exact.
"""

from __future__ import annotations

import math

from xpreduce_numpy.compiled.writing import DOUBLE, Value

_LN2_HIGH = float.fromhex("0x1.62e42fefa0000p-1")
_LN2_LOW = float.fromhex("0x1.cf79abc9e3b3ap-40")
_LEAST, _MOST = -708.0, 708.0
_INTEGER = 1.5 * 2.0**52


def exponential(x: Value, exactly: bool = True) -> Value:
    """Return exp(x) for x up to 708; what is below -708 counts as -708, next to 0.

    It is within an ulp, or within 2**-50 of its size if it need not be `exactly` that. Infinity and NaN
    come out as they are, and so does what is above 708.
    """
    least = (x < _LEAST).where(x.all(_LEAST), x)
    # Adding this rounds to an integer, and leaves it in the last bits.
    shifted = least.times_plus(least.all(1 / math.log(2)), least.all(_INTEGER))
    steps = shifted - _INTEGER
    high = steps.times_plus(steps.all(-_LN2_HIGH), least)
    if exactly:
        low = steps * -_LN2_LOW
        rest = high + low
        lost = (high - rest) + low
    else:
        rest = steps.times_plus(steps.all(-_LN2_LOW), high)
    degree = 13 if exactly else 12
    series = rest.all(1 / math.factorial(degree))
    for k in range(degree - 1, 1, -1):
        series = series.times_plus(rest, series.all(1 / math.factorial(k)))
    square = rest * rest
    value = (square.times_plus(series, lost) if exactly else square * series) + rest + 1.0
    scaled = (value.bits() + (shifted.bits() << 52)).as_float()
    return (x <= _MOST).where(scaled, x)


def logarithm(high: Value, low: Value) -> Value:
    """Return log(high + low) of pairs, with infinity, zero and what is negative as IEEE 754 has it."""
    tiny = high < 2.0**-1022
    scaled = tiny.where(high * 2.0**54, high)
    bits = scaled.bits()
    # From the root of 1/2 to the root of 2.
    power = (bits - 0x3FE6A09E667F3BCD) >> 52
    number = (bits - (power << 52)).as_float()
    power = power - tiny.where(power.all(54), 0)
    f = number - 1.0
    s = f / (f + 2.0)
    z = s * s
    series = z.all(2.0 / 23.0)
    for k in range(21, 2, -2):
        series = series.times_plus(z, series.all(2.0 / k))
    # log(1 + f) is f - f**2 / 2 + s * (f**2 / 2 + z * series), whose first term is exact.
    half = f * f * 0.5
    steps = power.to(DOUBLE, "sitofp")
    small = s * z.times_plus(series, half) + steps * _LN2_LOW + low / high
    value = steps * _LN2_HIGH - ((half - small) - f)
    usable = (high > 0.0) & high.is_finite()
    special = high.equals(0.0).where(high.all(-math.inf), (high > 0.0).where(high, high.all(math.nan)))
    return usable.where(value, special)
