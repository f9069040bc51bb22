"""The right values, from exact arithmetic alone: rationals and integers of Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

Number = float | int

PRECISION = {  # binary digits, exponent of the largest power of two, exponent of the smallest subnormal
    "float16": (11, 15, -24),
    "bfloat16": (8, 127, -133),
    "float32": (24, 127, -149),
    "float64": (53, 1023, -1074),
}
RANGE = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
FLOATS = tuple(PRECISION)
INTEGERS = tuple(RANGE)


def reduced(op: str, values: Sequence[Number], dtype: str) -> Number:
    """Return what `op` of the values is, rounded once to `dtype`."""
    if dtype in RANGE:
        low, high = RANGE[dtype]
        total = sum(int(v) ** 2 for v in values) if op == "l2" else sum(int(v) for v in values)
        return min(max(math.isqrt(total) if op == "l2" else total, low), high)
    special = _special(op, values)
    if special is not None:
        return special
    return rounded(unrounded(op, values), dtype)


def unrounded(op: str, values: Sequence[Number]) -> Fraction:
    """Return `op` of finite values: exact, or for a root correct to 300 digits and on its right side."""
    if op == "sum":
        return sum(map(Fraction, values), Fraction(0))
    return root(sum((Fraction(v) ** 2 for v in values), Fraction(0)))


def sizes(op: str, values: Sequence[Number]) -> Fraction:
    """Return the sum of the sizes of the terms, in the units of the result."""
    if op == "sum":
        return sum((abs(Fraction(v)) for v in values), Fraction(0))
    return unrounded(op, values)


def _special(op: str, values: Sequence[Number]) -> float | None:
    if any(math.isnan(v) for v in values):
        return math.nan
    infinite = {v for v in values if math.isinf(v)}
    if infinite:
        if op == "l2":
            return math.inf
        return infinite.pop() if len(infinite) == 1 else math.nan
    if op == "sum" and values and all(v == 0 and math.copysign(1, v) < 0 for v in values):
        return -0.0
    return None


def root(value: Fraction) -> Fraction:
    """Return the square root, or a number between it and its neighbours of 1000 binary digits."""
    shift = 1000 + max(0, value.denominator.bit_length())
    scaled, rest = divmod(value.numerator << (2 * shift), value.denominator)
    whole = math.isqrt(scaled)
    if rest == 0 and whole * whole == scaled:
        return Fraction(whole, 1 << shift)
    return Fraction(2 * whole + 1, 1 << (shift + 1))


def rounded(value: Fraction, dtype: str) -> float:
    """Round to nearest, ties to even, as IEEE 754 has it."""
    highest = PRECISION[dtype][1]
    if value == 0:
        return 0.0
    unit = ulp(value, dtype)
    count = round(value / unit)  # Python rounds halves to even
    nearest = count * unit
    if abs(nearest) >= Fraction(2) ** (highest + 1):
        return math.inf if value > 0 else -math.inf
    return float(nearest)


def ulp(value: Fraction, dtype: str) -> Fraction:
    """Return the distance of the numbers of `dtype` around `value`."""
    digits, _, lowest = PRECISION[dtype]
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    return Fraction(2) ** max(exponent - digits + 1, lowest)


def allowed_error(op: str, values: Sequence[Number], dtype: str) -> Fraction:
    """Return how far a result may be from the exact one, by the table of the semantics."""
    exact = unrounded(op, values)
    unit = ulp(exact, dtype) if exact else Fraction(2) ** PRECISION[dtype][2]
    if dtype == "float64":
        return unit + len(values) * Fraction(2) ** -104 * sizes(op, values)
    return unit / 2 + Fraction(2) ** -43 * sizes(op, values)
