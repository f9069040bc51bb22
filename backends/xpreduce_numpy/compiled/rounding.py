"""Totals of sums rounded once to the result, with the question whether the rounding is certain.

A total is known to within an error; where rounding both ends of what it may be gives the same number,
that is the result (Ziv, ACM TOMS 17, 1991). Elsewhere the result is left *open*. Pairs are rounded to
odd before they are rounded to less than a double, so that nothing is rounded to nearest twice.
"""

from __future__ import annotations

from collections.abc import Callable

from xpreduce.algebra.pairs import two_sum
from xpreduce.operators import Finish
from xpreduce_numpy.compiled.accumulation import Decide, Vectors
from xpreduce_numpy.compiled.logarithm import logarithm
from xpreduce_numpy.compiled.sums import PLAIN_ERROR, WIDE_ERROR
from xpreduce_numpy.compiled.writing import DOUBLE, INT64, SINGLE, Code, Value

Error = Callable[[Vectors, Value, Value], Value]
"""A function of (total, sum of the terms' sizes, number of terms) that gives what the sum may be off by."""

_SIZE = 2**63 - 1
_LOGARITHM = 2.0**-50
_EXPONENT = 0x7FF0000000000000
_INFINITE = float("inf")


def to_odd(high: Value, low: Value) -> Value:
    """Round high + low to a double with an odd last digit, unless it is one exactly."""
    s, rest = two_sum(high, low)
    s = low.equals(0.0).where(high, s)  # which may be -0
    bits: Value = s.bits()
    # One more in the bits of a double is one more in its size.
    moved = ((bits ^ rest.bits()) < 0).where(bits - 1, bits + 1)
    inexact: Value = (bits & 1).equals(0) & (abs(rest) > 0.0)
    return inexact.where(moved.as_float(), s)


def _to_single(x: Value) -> Value:
    return x.to(SINGLE, "fptrunc").to(DOUBLE, "fpext")


def _to_sixteen_bits(digits: int, least: int, most: float) -> Callable[[Value], Value]:
    """Return what rounds to `digits` digits, to a multiple of 2**least, and to infinity beyond `most`."""
    dropped = 53 - digits
    shift = 1.5 * 2.0 ** (52 + least)

    def rounded(x: Value) -> Value:
        bits = x.bits()
        size = bits & _SIZE
        up = (size.shifted_in_zeros(dropped) & 1) + (2 ** (dropped - 1) - 1)
        value = ((size + up) & ~(2**dropped - 1)).as_float()
        value = (value > most).where(value.all(_INFINITE), value)
        # Below the normal numbers, adding this shift leaves multiples of 2**least.
        tiny = (abs(x) + shift) - shift
        value = (abs(x) < 2.0 ** (least + digits - 1)).where(tiny, value)
        value = (value.bits() | (bits ^ size)).as_float()
        return x.differs(x).where(x, value)

    return rounded


NARROWING = {
    "float16": _to_sixteen_bits(11, -24, 65504.0),
    "bfloat16": _to_sixteen_bits(8, -133, (2 - 2.0**-7) * 2.0**127),
    "float32": _to_single,
}
"""Functions that round doubles to a narrower dtype, and leave them doubles."""


def _half_bits(x: Value) -> Value:
    bits = x.to(SINGLE, "fptrunc").bits()
    size = bits & 0x7FFFFFFF
    half = (size.as_float() * 2.0**-112).bits().shifted_in_zeros(13)  # the biases' difference
    half = size.equals(0x7F800000).where(half.all(0x7C00), half)
    half = (size > 0x7F800000).where(half.all(0x7E00), half)
    return (half | (bits.shifted_in_zeros(16) & 0x8000)).to(INT64, "zext")


def _bfloat_bits(x: Value) -> Value:
    return x.to(SINGLE, "fptrunc").bits().shifted_in_zeros(16).to(INT64, "zext")


PACKING = {"float16": _half_bits, "bfloat16": _bfloat_bits}
"""Functions that turn doubles that are values of a 16-bit dtype into its bits."""


def sums(last: Finish, signed: bool, error_of: Error, result: str, scaled: bool) -> Decide:
    """Return a function of (total, terms) that gives the results, and the mask of the open ones.

    Parameters
    ----------
    last : str
        What comes after the sum.
    signed : bool
        Whether terms have both signs, and a total the sum of their sizes.
    error_of : function
        What the sum may be off by.
    result : str
        The result's dtype.
    scaled : bool
        Whether terms may leave float64's range, which then leaves results open.
    """
    narrow = NARROWING.get(result)

    def doubt(total: Vectors) -> Value:
        high = total[0]
        if signed:
            # What comes after the sum needs room above it. NaN among the terms is NaN among the sizes.
            return (total[2] > 2.0**990) | (high.differs(high) & total[2].equals(total[2]))
        return (high > 2.0**990) | (high < 2.0**-900)

    def decide(code: Code, total: Vectors, terms: Value) -> Vectors:
        share = error_of(total, total[2] if signed else total[0], terms)
        high, low, error = _finished(last, total, terms, share)
        finite = high.is_finite()
        if narrow is None and last == "log":
            # Two ulp are allowed, and the logarithm takes less than one.
            value, open_ = high, (error > abs(high) * 2.0**-54) & finite
        elif narrow is None:
            end = low + error
            value = (finite & end.differs(0.0)).where(high + end, high)
            open_ = finite & value.differs(high + (low - error))
        else:
            if last == "log":
                error = error + abs(high) * _LOGARITHM
            upper, lower = (narrow(to_odd(high, end)) for end in (low + error, low - error))
            value = finite.where(upper, narrow(high))
            open_ = finite & upper.bits().differs(lower.bits())
        open_ = open_ | doubt(total) if scaled else open_
        if last == "log":
            open_ = open_ | _sign_unknown(total[0] + total[1], share)
        return packed(value, result), open_

    return decide


def _finished(last: Finish, total: Vectors, terms: Value, error: Value) -> Vectors:
    """Return the result as a pair, and what it may be off by."""
    s, rest = two_sum(total[0], total[1])
    # Infinity and NaN are what plain addition makes of them, and so is the sign of zero.
    plain = total[1].equals(0.0) | ~total[0].is_finite()
    high, low = plain.where(total[0], s), plain.where(rest.all(0.0), rest)
    if last == "sqrt":
        value = high.sqrt()
        usable = (value > 0.0) & value.is_finite()
        by = value + value
        rest = usable.where(((-value).times_plus(value, high) + low) / by, 0.0)
        # Half the error's share; the whole of it also covers what the series of the root leaves out.
        return value, rest, usable.where((error + error) / by, error)
    if last == "log":
        value = logarithm(high, low)
        # Errors of the sum count by their share of it, where they are small beside it.
        by = error / high
        return value, value.all(0.0), value.is_finite().where(by + by, 0.0)
    if last == "mean":
        value = high / terms
        # The remainder of a division is exact, so that the sign of the rest is right.
        rest = ((-value).times_plus(high.all(0.0) + terms, high) + low) / terms
        return value, value.is_finite().where(rest, 0.0), error / terms
    return high, low, error


def plain_sums(last: Finish, signed: bool, result: str) -> Decide:
    """Return the like of `sums` for plain ones, whose error is far above the rounding of doubles."""

    def decide(code: Code, total: Vectors, terms: Value) -> Vectors:
        value = total[0].is_finite().where(total[0] + total[1], total[0])
        value = total[1].equals(0.0).where(total[0], value)
        return _decided(last, value, (total[2] if signed else value) * PLAIN_ERROR, terms, result)

    return decide


def ranged_sums(last: Finish, dtype: str, result: str) -> Decide:
    """Return the like of `sums` for totals of `ranged`, which are exact if their terms are alike in size.

    All terms are multiples of the smallest one's last digit, and so are all sums of them: which are exact
    while they have no more than 53 digits.
    """

    def decide(code: Code, total: Vectors, terms: Value) -> Vectors:
        exact = total[1] * 2.0**-53 <= _unit((total[2] + 1).as_float(), dtype)
        error = exact.where(total[1].all(0.0), total[1] * PLAIN_ERROR)
        if last == "mean":  # a division is exact only with its remainder
            return sums(last, True, lambda *_: error, result, False)(
                code, (total[0], total[0].all(0.0), total[1]), terms
            )
        return _decided(last, total[0], error, terms, result)

    return decide


def _decided(last: Finish, value: Value, error: Value, terms: Value, result: str) -> Vectors:
    """Return the results of plain sums with a known error, and the mask of the open ones."""
    narrow = NARROWING[result]
    unknown = _sign_unknown(value, error) if last == "log" else None
    if last == "mean":
        value, error = value / terms, error / terms
    elif last == "sqrt":
        value = value.sqrt()
        error = value * PLAIN_ERROR
    elif last == "log":
        value, _, error = _finished(last, (value, value.all(0.0)), terms, error)
        error = error + abs(value) * _LOGARITHM
    end = value + error
    upper, lower = narrow(error.differs(0.0).where(end, value)), narrow(value - error)
    finite = value.is_finite()
    found = finite.where(upper, narrow(value))
    open_ = finite & upper.bits().differs(lower.bits())
    return packed(found, result), open_ if unknown is None else open_ | unknown


def _sign_unknown(value: Value, error: Value) -> Value:
    """Return where a sum may as well be zero, or have the other sign, so that it may have no logarithm."""
    return (abs(value) <= error + error) & (error > 0.0) & error.is_finite()


def zeros(result: str) -> Decide:
    """Return a function that gives 0 where a sum of sizes is 0, and leaves the others open."""

    def decide(code: Code, total: Vectors, terms: Value) -> Vectors:
        return packed(total[0].all(0.0), result), total[0].differs(0.0) | ~total[0].is_finite()

    return decide


def packed(value: Value, result: str) -> Value:
    """Return doubles that are values of a dtype as what is stored of them."""
    return PACKING[result](value) if result in PACKING else value


def share_wide(total: Vectors, sizes: Value, terms: Value) -> Value:
    """Return what a compensated sum may be off by."""
    own = terms + 2.0**6
    own = own * own * 2.0**-104
    return sizes * (own < WIDE_ERROR).where(own, WIDE_ERROR)


def no_error(total: Vectors, sizes: Value, terms: Value) -> Value:
    """Return 0: what an exact sum may be off by."""
    return sizes.all(0.0)


def share_unless_exact(dtype: str, squares: bool) -> Error:
    """Return the error of totals whose last part is the smallest size but zero.

    All terms are multiples of the smallest one's last digit. So are their sum and the parts of the total,
    and where these are off by less than that digit, they are not off at all.
    """

    def error(total: Vectors, sizes: Value, terms: Value) -> Value:
        unit = _unit(total[3], dtype)
        unit = unit * unit if squares else unit
        share = share_wide(total, sizes, terms)
        return (share < unit * 0.5).where(share.all(0.0), share)

    return error


def _unit(size: Value, dtype: str) -> Value:
    """Return what the last digit of a number of this size stands for."""
    digits, least = {
        "float16": (10, -24),
        "bfloat16": (7, -133),
        "float32": (23, -149),
        "float64": (52, -1074),
    }[dtype]
    unit = (size.bits() & _EXPONENT).as_float() * 2.0**-digits
    return (unit < 2.0**least).where(unit.all(2.0**least), unit)
