"""Exponential and logarithm of vectors of doubles, within an ulp, by series that converge fast enough.

Arguments are cut so that the rest is small (Tang, ACM TOMS 15, 1989 and 16, 1990), and ln(2) stands in
two parts, of which the first has so few digits that its multiples are exact.
"""

from __future__ import annotations

import math

from xpreduce_numpy.compiled.writing import DOUBLE, INT64, Value

_LN2_HIGH = float.fromhex("0x1.62e42fefa0000p-1")
_LN2_LOW = float.fromhex("0x1.cf79abc9e3b3ap-40")
_LEAST, _MOST = -708.0, 708.0


def exponential(x: Value) -> Value:
    """Return exp(x); what is below -708 counts as -708, next to 0, and above 708 is infinity."""
    x = (x < _LEAST).where(x.all(_LEAST), x)
    steps = (x * (1 / math.log(2))).known("rint")
    high = steps.times_plus(steps.all(-_LN2_HIGH), x)
    low = steps * -_LN2_LOW
    rest = high + low
    lost = (high - rest) + low
    series = rest.all(1 / math.factorial(13))
    for k in range(12, 1, -1):
        series = series.times_plus(rest, series.all(1 / math.factorial(k)))
    value = (rest * rest).times_plus(series, lost) + rest + 1.0
    usable = x.is_finite()
    power = usable.where(steps, 0.0).to(INT64, "fptosi")
    value = value * ((power + 1023) << 52).as_float()
    return (x > _MOST).where(x.all(math.inf), value)


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
