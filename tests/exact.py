"""The right values, from exact arithmetic alone: rationals, integers, and mpmath for logarithms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import mpmath

Number = float | int

PRECISION = {  # binary digits, exponent of the largest power of two, exponent of the smallest subnormal
    "float16": (11, 15, -24),
    "bfloat16": (8, 127, -133),
    "float32": (24, 127, -149),
    "float64": (53, 1023, -1074),
}
RANGE = {
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
    "bool": (0, 1),
}
FLOATS = tuple(PRECISION)
INTEGERS = ("int32", "int64", "uint32", "uint64")
OPERATORS = ("l1", "l2", "sum", "sum_square", "mean", "prod", "max", "min", "log_sum", "log_sum_exp")
LOGARITHMS = ("log_sum", "log_sum_exp")


def reduced(op: str, values: Sequence[Number], dtype: str) -> Number:
    """Return what `op` of the values is, rounded once to `dtype`."""
    if not values:
        return _empty(op, dtype)
    special = _special(op, values)
    if special is not None:
        return special if dtype in PRECISION else saturated(special, dtype)
    value = unrounded(op, values)
    if dtype in PRECISION:
        return rounded(value, dtype)
    return saturated(rounded(value, "float64") if op in LOGARITHMS else value, dtype)


def unrounded(op: str, values: Sequence[Number]) -> Fraction:
    """Return `op` of finite values: exact, or for roots and logarithms to hundreds of digits."""
    if op in ("max", "min"):
        return Fraction(max(values) if op == "max" else min(values))
    # Beside a finite value, exp(-inf) adds nothing.
    exact = [Fraction(v) for v in values if v != -math.inf]
    if op == "l1":
        return sum(map(abs, exact), Fraction(0))
    if op in ("sum_square", "l2"):
        total = sum((v * v for v in exact), Fraction(0))
        return total if op == "sum_square" else root(total)
    if op == "prod":
        return math.prod(exact, start=Fraction(1))
    if op == "log_sum_exp":
        return log_sum_exp(Counter(exact))
    total = sum(exact, Fraction(0))
    if op == "mean":
        return total / len(exact)
    return _log(total) if op == "log_sum" else total


def sizes(op: str, values: Sequence[Number]) -> Fraction:
    """Return the sum of the sizes of the terms, in the units of the result."""
    if op == "log_sum_exp":
        return Fraction(1)
    if op not in ("sum", "l1", "mean", "log_sum"):
        return abs(unrounded(op, values))
    exact = [abs(Fraction(v)) for v in values]
    if op == "mean":
        return sum(exact, Fraction(0)) / len(exact)
    if op == "log_sum":
        return sum(exact, Fraction(0)) / abs(sum(map(Fraction, values), Fraction(0)))
    return sum(exact, Fraction(0))


def _empty(op: str, dtype: str) -> Number:
    if op in ("max", "min", *LOGARITHMS):
        if dtype in PRECISION:
            return math.inf if op == "min" else -math.inf
        return RANGE[dtype][op == "min"]
    if op == "mean":
        return math.nan if dtype in PRECISION else 0
    return 1 if op == "prod" else 0


def _special(op: str, values: Sequence[Number]) -> float | None:
    """Return the result where it is infinite, NaN or a zero with a sign, by IEEE arithmetic."""
    if any(math.isnan(v) for v in values):
        return math.nan
    infinite = {v for v in values if math.isinf(v)}
    negative = [math.copysign(1, v) < 0 if isinstance(v, float) else v < 0 for v in values]
    if op in ("max", "min"):
        best = max(values) if op == "max" else min(values)
        if math.isinf(best):
            return best
        if best == 0 and isinstance(best, float):
            signs = [n for v, n in zip(values, negative, strict=True) if v == 0]
            return -0.0 if (all(signs) if op == "max" else any(signs)) else 0.0
        return None
    if op == "prod":
        if infinite or 0 in values:
            if infinite and 0 in values:
                return math.nan
            size = math.inf if infinite else 0.0
            return -size if sum(negative) % 2 else size
        return None
    if op == "log_sum_exp":
        if math.inf in infinite:
            return math.inf
        return -math.inf if len(infinite) and all(v == -math.inf for v in values) else None
    if op in ("l1", "l2", "sum_square"):
        return math.inf if infinite else None
    if infinite:
        total = infinite.pop() if len(infinite) == 1 else math.nan
        return total if op != "log_sum" else total if total > 0 else math.nan
    if op == "log_sum":
        total = sum(map(Fraction, values), Fraction(0))
        return None if total > 0 else -math.inf if total == 0 else math.nan
    if all(v == 0 and n for v, n in zip(values, negative, strict=True)):
        return -0.0
    return None


def saturated(value: Number | Fraction, dtype: str) -> int:
    """Round toward zero to an integer dtype; what is out of range becomes the end of the range."""
    low, high = RANGE[dtype]
    if isinstance(value, float) and not math.isfinite(value):
        return 0 if math.isnan(value) else high if value > 0 else low
    return min(max(math.trunc(value), low), high)


def root(value: Fraction) -> Fraction:
    """Return the square root, or a number between it and its neighbours of 1000 binary digits."""
    shift = 1000 + max(0, value.denominator.bit_length())
    scaled, rest = divmod(value.numerator << (2 * shift), value.denominator)
    whole = math.isqrt(scaled)
    if rest == 0 and whole * whole == scaled:
        return Fraction(whole, 1 << shift)
    return Fraction(2 * whole + 1, 1 << (shift + 1))


def _fraction(value: mpmath.mpf) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    # What is smaller than this only decides on which side of a tie a result lies.
    mantissa, exponent = (int(mantissa), exponent) if exponent > -5000 else (int(mantissa != 0), -5000)
    return (-1) ** sign * Fraction(mantissa) * Fraction(2) ** exponent


def _log(value: Fraction) -> Fraction:
    with mpmath.workprec(400):
        return _fraction(mpmath.log(mpmath.mpf(value.numerator) / value.denominator))


def log_sum_exp(counts: Mapping[Fraction, int]) -> Fraction:
    """Return the logarithm of the sum of the exponentials of values that are there so many times."""
    largest = max(counts)
    with mpmath.workprec(400):
        rest = mpmath.mpf(counts[largest] - 1)
        for value, count in counts.items():
            if value != largest:
                difference = value - largest
                rest += count * mpmath.exp(mpmath.mpf(difference.numerator) / difference.denominator)
        return largest + _fraction(mpmath.log1p(rest))


def rounded(value: Fraction, dtype: str) -> float:
    """Round to nearest, ties to even, as IEEE 754 has it."""
    highest = PRECISION[dtype][1]
    if value == 0:
        return 0.0
    unit = ulp(value, dtype)
    nearest = round(value / unit) * unit  # Python rounds halves to even
    if abs(nearest) >= Fraction(2) ** (highest + 1):
        return math.inf if value > 0 else -math.inf
    return math.copysign(float(nearest), value)


def ulp(value: Fraction, dtype: str) -> Fraction:
    """Return the distance of the numbers of `dtype` around `value`."""
    digits, _, lowest = PRECISION[dtype]
    size = abs(value)
    if size == 0:
        return Fraction(2) ** lowest
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    return Fraction(2) ** max(exponent - digits + 1, lowest)


def allowed_error(op: str, values: Sequence[Number], dtype: str) -> Fraction:
    """Return how far a result may be from the exact one, by the table of the semantics."""
    return bound(op, unrounded(op, values), len(values), sizes(op, values), dtype)


def bound(op: str, value: Fraction, count: int, size: Fraction, dtype: str) -> Fraction:
    """Return the same from the exact value, the count of the terms and the sum of their sizes."""
    if op in ("max", "min"):
        return ulp(value, dtype) / 2
    if dtype != "float64":
        return ulp(value, dtype) / 2 + Fraction(2) ** -43 * size
    if op == "log_sum_exp":
        return 2 * ulp(max(abs(value), Fraction(1)), dtype)
    if op == "prod":
        return 2 * ulp(value, dtype)
    ulps = 2 if op == "log_sum" else 1
    return ulps * ulp(value, dtype) + count * Fraction(2) ** -104 * size
