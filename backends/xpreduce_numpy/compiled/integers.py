"""Exact sums of integers, of their sizes and of their squares, in digits of 32 bits.

A digit's lane holds the sum of that digit over the terms, so it has room for 2**29 of them; a total's
value is the sum of ``digit[k] * 2**(32 * k)``.
"""

from __future__ import annotations

from xpreduce.operators import Finish, Lift
from xpreduce_numpy.compiled.accumulation import Accumulation, Decide, Vectors
from xpreduce_numpy.compiled.memory import size_of
from xpreduce_numpy.compiled.writing import DOUBLE, INT64, LONGS, WIDE, Code, Value

_MASK = 2**32 - 1

MOST = 2**29
"""The most terms of one output."""


def absolute(x: Value) -> Value:
    """Return the absolute value, as an integer without sign: of the smallest integer too."""
    sign = x >> 63
    return (x ^ sign) - sign


def ends(dtype: str) -> tuple[int, int]:
    """Return the smallest and the largest integer of a dtype."""
    bits = 8 * size_of(dtype)
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype.startswith("int") else (0, 2**bits - 1)


def accumulation(dtype: str, lift: Lift) -> Accumulation:
    """Return the accumulation of integers of a dtype."""
    wide = size_of(dtype) == 8
    signed = dtype.startswith("int")
    parts = 4 if wide and lift == "square" else 2

    def digits(x: Value, keeps_sign: bool) -> Vectors:
        return x & _MASK, x >> 32 if keeps_sign else x.shifted_in_zeros(32)

    def size(x: Value) -> Value:
        return absolute(x) if signed else x

    def terms(x: Value) -> Vectors:
        if lift != "square":
            return digits(size(x) if lift == "abs" else x, signed and lift == "identity")
        if not wide:
            return digits(x * x, False)
        low, high = digits(size(x), False)
        (a, b), (c, d), (e, f) = (digits(y, False) for y in (low * low, low * high, high * high))
        return a, b + (c << 1), (d << 1) + e, f

    def empty(code: Code) -> Vectors:
        return (code.constant(LONGS, 0),) * parts

    def add(code: Code, a: Vectors, b: Vectors) -> Vectors:
        return tuple(x + y for x, y in zip(a, b, strict=True))

    def step(code: Code, tile: Vectors, x: Value) -> Vectors:
        return add(code, tile, terms(x))

    if wide or lift == "square":
        return Accumulation(empty, step, add, empty, add, add, (LONGS,) * parts, 2**30, across=16)

    # Of narrow integers a tile of one plain sum has room enough.
    def one(code: Code) -> Vectors:
        return (code.constant(LONGS, 0),)

    def add_plain(code: Code, tile: Vectors, x: Value) -> Vectors:
        return (tile[0] + (size(x) if lift == "abs" else x),)

    def absorb(code: Code, total: Vectors, tile: Vectors) -> Vectors:
        return add(code, total, digits(tile[0], True))

    return Accumulation(one, add_plain, add, empty, absorb, add, (LONGS,) * parts, 2**20)


def ending(last: Finish, result: str) -> Decide:
    """Return a function that gives the results in an integer dtype, rounded toward zero and saturated."""
    bits = 8 * size_of(result)
    signed = result.startswith("int")
    least, most = ends(result)

    def decide(code: Code, total: Vectors, terms: Value) -> Vectors:
        digits = _carried(total)
        if last == "identity":
            value = _saturated(digits, signed or bits < 64)
            if bits < 64:
                value = value.larger(least).smaller(most)
            return value, value.differs(value)
        if last == "sqrt" and bits < 64:
            value = _root(digits, most)
            return value, value.differs(value)
        small = _small(digits, 2**19 if last == "mean" else 2**31)
        found = code.variable(digits[0])
        with code.either(code.all_of(small)) as (then, otherwise):
            with then:
                value = _mean(digits, terms) if last == "mean" else _root(digits, 2**32 - 1)
                value = value.larger(least)
                found.set(value.smaller(most) if bits < 64 else value)
            with otherwise:
                found.set(
                    _wide_mean(digits, terms, least, most) if last == "mean" else _wide_root(digits, most)
                )
        return found.now, small & ~small

    return decide


def _small(digits: Vectors, most: int) -> Value:
    """Return where a value is less than `most` * 2**32 in size."""
    small = (digits[1] < most) & (digits[1] >= -most)
    for digit in digits[2:]:
        small = small & digit.equals(0)
    return small


def _saturated(digits: Vectors, signed: bool) -> Value:
    """Return the value in 64 bits, at the end of their range where it lies beyond."""
    value = digits[0] | (digits[1] << 32)
    above = digits[1] >= (2**31 if signed else 2**32)
    for digit in digits[2:]:
        above = above | digit.differs(0)
    value = above.where(value.all(2**63 - 1 if signed else -1), value)
    below = digits[-1] < (-(2**31) if signed else 0)
    return below.where(value.all(-(2**63) if signed else 0), value)


def _mean(digits: Vectors, terms: Value) -> Value:
    """Return the means of sums below 2**51 in size."""
    value, count = digits[0] | (digits[1] << 32), terms.to(INT64, "fptosi")
    mean = (value.to(DOUBLE, "sitofp") / terms).to(INT64, "fptosi")
    # The division was rounded: away from zero, it may have reached the next integer.
    rest = value - mean * count
    beyond = ((rest < 0) & (value > 0)) | ((rest > 0) & (value < 0))
    return beyond.where(mean - ((value >> 63) | 1), mean)


def _root(digits: Vectors, most: int) -> Value:
    """Return the roots, up to `most`, which is less than 2**32, of sums without sign."""
    value = digits[0] | (digits[1] << 32)
    near = digits[1].to(DOUBLE, "sitofp") * 2.0**32 + digits[0].to(DOUBLE, "sitofp")
    root = near.sqrt().to(INT64, "fptosi")
    rest = value - root * root  # small, also where both have wrapped around
    root = (rest < 0).where(root - 1, root)
    root = (rest > root * 2).where(root + 1, root)
    above = digits[1] >= 2**32
    for digit in digits[2:]:
        above = above | digit.differs(0)
    return above.where(root.all(most), root.smaller(most))


def _wide_mean(digits: Vectors, terms: Value, least: int, most: int) -> Value:
    """Return the means of sums of any size, between two bounds of at most 64 bits."""
    low, high = digits
    negative, count = high < 0, terms.to(INT64, "fptosi")
    borrow = low.differs(0).where(high.all(1), 0)
    upper, rest = _divided(negative.where(-high - borrow, high), terms, count)
    lower, _ = _divided((rest << 32) | (negative.where(-low, low) & _MASK), terms, count)
    mean = (upper << 32) | lower
    mean = negative.where(-mean, mean)
    if most == 2**64 - 1:
        return negative.where(mean.all(0), mean)
    beyond = upper >= 2**31
    if most == 2**63 - 1:
        return (beyond & ~negative).where(mean.all(most), mean)
    return beyond.where(negative.where(mean.all(least), most), mean.larger(least).smaller(most))


def _divided(value: Value, divisor: Value, whole: Value) -> tuple[Value, Value]:
    """Divide integers from 0 to 2**62 by one below 2**30, given as a double too; quotient and rest."""
    quotient = (value.to(DOUBLE, "sitofp") / divisor).to(INT64, "fptosi")
    rest = value - quotient * whole  # the double had 53 digits
    more = (rest.to(DOUBLE, "sitofp") / divisor).to(INT64, "fptosi")
    quotient, rest = quotient + more, rest - more * whole
    under, over = rest < 0, rest >= rest.all_like(whole)
    quotient = under.where(quotient - 1, over.where(quotient + 1, quotient))
    return quotient, under.where(rest + whole, over.where(rest - whole, rest))


def _wide_root(digits: Vectors, most: int) -> Value:
    """Return the roots of sums without sign and of any size, lane by lane."""
    value = _wide(digits[-1], "sext")
    near = digits[-1].to(DOUBLE, "sitofp")
    for digit in reversed(digits[:-1]):
        value = (value << 32) | _wide(digit, "zext")
        near = near * 2.0**32 + digit.to(DOUBLE, "sitofp")
    guess = near.sqrt()
    upper = (guess * 2.0**-32).to(INT64, "fptosi")
    lower = (guess - upper.to(DOUBLE, "sitofp") * 2.0**32).to(INT64, "fptosi")
    root = (_wide(upper, "sext") << 32) + _wide(lower, "sext")
    # What is missing is below 2**80, and the step that makes up for it off by 1 at most.
    missing = ((value - root * root) >> 32).to(INT64, "trunc").to(DOUBLE, "sitofp") * 2.0**31
    step = (missing / (guess > 1.0).where(guess, 1.0)).to(INT64, "fptosi")
    root = root + _wide(step, "sext")
    root = (root * root > value).where(root - 1, root)
    root = (root * root > value).where(root - 1, root)
    root = ((root + 1) * (root + 1) <= value).where(root + 1, root)
    return root.smaller(most).to(INT64, "trunc")


def _wide(digit: Value, how: str) -> Value:
    return digit.to(WIDE, how)


def _carried(digits: Vectors) -> Vectors:
    """Return the same value with all digits but the last from 0 to 2**32 - 1."""
    done, above = [], None
    for digit in digits[:-1]:
        whole = digit if above is None else digit + above
        done.append(whole & _MASK)
        above = whole >> 32
    assert above is not None
    return (*done, digits[-1] + above)
