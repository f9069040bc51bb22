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

_NEAR = (
    "0x1.fffffffff13f6p-2",
    "0x1.5555555589f0cp-3",
    "0x1.5555557deee9dp-5",
    "0x1.1111108e2abb6p-7",
    "0x1.6c163be927ac4p-10",
    "0x1.a01b738a5d74dp-13",
    "0x1.a16e32bab4847p-16",
    "0x1.71017c3ae89cbp-19",
)
"""Factors of r**2 and so on in the polynomial nearest to exp(r) from -log(2)/2 to log(2)/2 (Remez)."""

_NEARER = (
    "0x1.5555555554eb5p-3",
    "0x1.5555555553b0cp-5",
    "0x1.11111112d2aedp-7",
    "0x1.6c16c179ff2e1p-10",
    "0x1.a019f7c5fa991p-13",
    "0x1.a019b39c2373cp-16",
    "0x1.71f4b153cefd8p-19",
    "0x1.289765a7ffbb6p-22",
    "0x1.8abb61ad4a3d7p-26",
)
"""The like from r**3 on, of a polynomial off by no more than 2**-55."""

NEAR_ERROR = 2.0**-45.7
"""What an exponential that need not be exact is off by, as a share of it."""


def clamped(x: Value) -> Value:
    """Return what `exponential` takes instead of a number beyond its range, and NaN as it is."""
    x = (x < _LEAST).where(x.all(_LEAST), x)
    return (x > _MOST).where(x.all(_MOST), x)


def exponential(x: Value, exactly: bool = True) -> Value:
    """Return exp(x) for numbers x from -708 to 708; of NaN, whose last 12 digits must be 0, it is NaN.

    It is within an ulp, or within `NEAR_ERROR` of its size and -x * 2**-55 of it more if it need not be
    `exactly` that.
    """
    # Adding this rounds to an integer, and leaves it in the last bits.
    shifted = x.times_plus(x.all(1 / math.log(2)), x.all(_INTEGER))
    steps = shifted - _INTEGER
    if exactly:
        high = steps.times_plus(steps.all(-_LN2_HIGH), x)
        low = steps * -_LN2_LOW
        rest = high + low
        value = _polynomial(_NEARER, rest)
        square = rest * rest
        # From the smallest to the largest: what the rest lost, the series, the rest, and 1.
        value = square.times_plus(value.times_plus(rest, rest.all(0.5)), (high - rest) + low) + rest + 1.0
    else:
        rest = steps.times_plus(steps.all(-math.log(2)), x)
        value = _polynomial(_NEAR, rest).times_plus(rest, rest.all(1.0)).times_plus(rest, rest.all(1.0))
    return (value.bits() + (shifted.bits() << 52)).as_float()


def _polynomial(factors: tuple[str, ...], x: Value) -> Value:
    """Return the sum of the factors times powers of x, from 0 up."""
    *lower, highest = (float.fromhex(factor) for factor in factors)
    value = x.all(highest)
    for factor in reversed(lower):
        value = value.times_plus(x, x.all(factor))
    return value


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
