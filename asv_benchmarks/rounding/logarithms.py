"""Logarithms to as many digits as it takes to know how they round.

A logarithm of a rational number other than 1 is no rational number, nor is that of a sum of exponentials of
different rationals (Lindemann, Weierstrass): neither lies exactly in the middle between two numbers of a
dtype, and with enough digits it is clear on which side. It is computed to 320 binary digits, and to more
where those leave it open.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from mpmath.libmp import fone, from_int, from_man_exp, fzero, mpf_add, mpf_exp, mpf_log, mpf_mul

PRECISIONS = (320, 640, 1280, 2560)
#: Last digits that the operations may have spoilt.
SPOILT = 16
#: Digits of a float64 and one more: the middle between two numbers is 0 after these.
DIGITS = 54
#: Digits of a result that are handed on.
KEPT = 120
#: exp(x) of anything less is below 2**-2300: no sum of them can be seen in a float64.
NEGLIGIBLE = -1600


def digits_of(number: tuple, precision: int, lost: int = 0) -> tuple[int, int] | None:
    """Return an mpmath number as an integer of KEPT digits, the last one 1, and an exponent.

    None if the digits after a float64's are all 0 or all 1, up to those that are spoilt or `lost`: then the
    number may lie on either side of a middle.
    """
    sign, size, exponent, length = number
    size, exponent = int(size) << (precision - length), exponent - (precision - length)
    tail = size & ((1 << (precision - DIGITS)) - 1)
    margin = 1 << (SPOILT + lost)
    if not margin < tail < (1 << (precision - DIGITS)) - margin:
        return None
    shift = precision - KEPT
    digits = size >> shift | 1
    return (-digits if sign else digits), exponent + shift


def log(number: int, exponent: int) -> tuple[int, int]:
    """Return the logarithm of number × 2**exponent, which is above 0."""
    value = from_man_exp(number, exponent)
    if value == fone:
        return 0, 0
    for precision in PRECISIONS:
        found = digits_of(mpf_log(value, precision), precision)
        if found is not None:
            return found
    raise ArithmeticError(f"log({number} * 2**{exponent}) is not decided by {PRECISIONS[-1]} digits")


def logs(numbers: list[int], exponents: list[int]) -> tuple[list[int], np.ndarray]:
    """Return the logarithms of numbers × 2**exponents as integers and exponents; 0 where there is none."""
    found = [
        log(number, exponent) if number > 0 else (0, 0)
        for number, exponent in zip(numbers, exponents, strict=True)
    ]
    return [one for one, _ in found], np.array([shift for _, shift in found], np.int64)


def log_sum_exp(significands: np.ndarray, exponents: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return log(sum(exp(x))) of each row as integers and exponents.

    It is the largest x plus the logarithm of the sum of exp(x - largest), in which the largest counts 1.
    """
    lowest = exponents.min(axis=1)
    whole = significands << (exponents - lowest[:, None]).astype(object)
    largest = np.maximum.reduce(whole, axis=1)
    below = whole - largest[:, None]
    found = [
        one_log_sum_exp(*row) for row in zip(largest.tolist(), below.tolist(), lowest.tolist(), strict=True)
    ]
    return [one for one, _ in found], np.array([shift for _, shift in found], np.int64)


def just_above(number: int, exponent: int) -> tuple[int, int]:
    """Return what stands for a number and a positive rest that is far too small to be seen beside it."""
    return ((number << 200) | 1, exponent - 200) if number else (1, -2400)


def one_log_sum_exp(largest: int, below: list[int], exponent: int) -> tuple[int, int]:
    """Return log_sum_exp of one row, from its largest value and the distances to it, in 2**exponent."""
    if len(below) == 1:
        return largest, exponent
    limit = NEGLIGIBLE << -exponent if exponent < 0 else NEGLIGIBLE >> exponent
    counts = Counter([distance for distance in below if distance >= limit])
    equal = counts.pop(0)
    if equal == 1 and not counts:
        return just_above(largest, exponent)
    top = from_man_exp(largest, exponent)
    for precision in PRECISIONS:
        rest = fzero
        for distance, count in counts.items():
            term = mpf_exp(from_man_exp(distance, exponent), precision)
            rest = mpf_add(rest, mpf_mul(term, from_int(count), precision) if count > 1 else term, precision)
        # log(1 + rest) is rest where rest is that small.
        tiny = equal == 1 and magnitude(rest) < -precision
        more = rest if tiny else mpf_log(mpf_add(from_int(equal), rest), precision)
        if largest and magnitude(more) < magnitude(top) - KEPT:
            return just_above(largest, exponent)
        value = mpf_add(top, more, precision)
        # Where the two cancel, leading digits are gone.
        lost = max(magnitude(more) - magnitude(value), 0)
        found = digits_of(value, precision, lost)
        if found is not None:
            return found
    raise ArithmeticError(f"log_sum_exp of a row is not decided by {PRECISIONS[-1]} digits")


def magnitude(number: tuple) -> int:
    """Return the exponent of the power of two above an mpmath number."""
    return int(number[2] + number[3])
