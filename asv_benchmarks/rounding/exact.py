"""What a reduction of finite numbers is, in exact arithmetic: Python's integers, and mpmath for logarithms.

Every row of numbers becomes whole significands with exponents of two. Their sums, sums of squares and
products are then sums and products of Python integers. A quotient or root keeps 120 binary digits, and its
last one is 1 where more would follow, so that rounding it to a dtype always goes the right way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import logarithms

HALF = 60
LOW = (1 << HALF) - 1
#: Digits that a quotient or root is computed to, before it is shortened.
GUARD = 140


@dataclass
class Rows:
    """Rows of numbers, significand × 2**exponent: Python integers in an object array, and an int64 array."""

    significands: np.ndarray
    exponents: np.ndarray

    @property
    def count(self) -> int:
        """How many numbers a row has."""
        return int(self.significands.shape[1])


@dataclass
class Values:
    """One real number for each row, to at least 120 digits: sign × (high + low × 2**-60) × 2**exponent.

    `high` has exactly 60 digits, or is 0; the last digit of `low` is 1 where more digits would follow.
    `other` is NaN or an infinity where the result is no number, else 0.
    `terms` and `terms_exponent` are the sum of the sizes of the terms, in the units of the result.
    """

    sign: np.ndarray
    high: np.ndarray
    low: np.ndarray
    exponent: np.ndarray
    other: np.ndarray
    terms: np.ndarray
    terms_exponent: np.ndarray


def rows_of(x: np.ndarray) -> Rows:
    """Split an array of shape (rows, n) of any of the dtypes; a float64 holds each number of the others."""
    if x.dtype.kind in "iu":
        return Rows(x.astype(object), np.zeros(x.shape, np.int64))
    fraction, exponent = np.frexp(x.astype(np.float64))
    whole = np.ldexp(fraction, 53).astype(np.int64)
    exponents = exponent.astype(np.int64) - 53
    exponents[whole == 0] = 2000  # no number has it: the least exponent of a row is that of its numbers
    lowest = exponents.min(axis=1, keepdims=True)
    return Rows(whole.astype(object), np.where(whole == 0, lowest, exponents))


def totals(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's sum as integers and exponents."""
    lowest = rows.exponents.min(axis=1)
    shifts = (rows.exponents - lowest[:, None]).astype(object)
    return np.add.reduce(rows.significands << shifts, axis=1), lowest


def products(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's product as integers and exponents."""
    factors = rows.significands
    while factors.shape[1] > 1:
        even = factors[:, : factors.shape[1] // 2 * 2]
        factors = np.concatenate(
            [even[:, ::2] * even[:, 1::2], factors[:, even.shape[1] :]],
            axis=1,
        )
    return factors[:, 0], rows.exponents.sum(axis=1)


def lifted(op: str, rows: Rows) -> Rows:
    """Return the terms that are summed."""
    if op == "l1":
        return Rows(abs(rows.significands), rows.exponents)
    if op in ("l2", "sum_square"):
        return Rows(rows.significands * rows.significands, 2 * rows.exponents)
    return rows


def root(number: int) -> int:
    """Return the square root × 2**GUARD, its last digit 1 if the root goes on after it."""
    scaled = number << (2 * GUARD)
    whole = math.isqrt(scaled)
    return whole | (whole * whole != scaled)


def quotient(number: int, divisor: int) -> int:
    """Return the quotient × 2**GUARD, its last digit 1 if it goes on after it."""
    whole, rest = divmod(abs(number) << GUARD, divisor)
    size = whole | (rest != 0)
    return size if number >= 0 else -size


def shortened(numbers: Sequence[int], exponents: np.ndarray) -> Values:
    """Return number × 2**exponent in 120 digits."""
    high, low, shift, sign = [], [], [], []
    for number in numbers:
        size = abs(number)
        extra = size.bit_length() - 2 * HALF
        if extra > 0:
            digits = size >> extra
            if digits << extra != size:
                digits |= 1
        else:
            digits = size << -extra
        high.append(digits >> HALF)
        low.append(digits & LOW)
        shift.append(extra + HALF)
        sign.append(1 if number >= 0 else -1)
    zeros = np.zeros(len(high))
    return Values(
        np.array(sign, np.float64),
        np.array(high, np.int64),
        np.array(low, np.int64),
        np.asarray(exponents, np.int64) + np.array(shift, np.int64),
        zeros,
        zeros,
        np.zeros(len(high), np.int64),
    )


def sizes(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the sizes of a row's numbers as float64 and an exponent of two."""
    largest = rows.exponents.max(axis=1)
    shifts = (rows.exponents - largest[:, None]).astype(np.int64)
    return np.ldexp(abs(rows.significands).astype(np.float64), shifts).sum(axis=1), largest


def largest(x: np.ndarray) -> np.ndarray:
    """Return the largest number of each row, by sorting."""
    return np.sort(x, axis=1)[:, -1]


def smallest(x: np.ndarray) -> np.ndarray:
    """Return the smallest number of each row, by sorting."""
    return np.sort(x, axis=1)[:, 0]


def values(op: str, x: np.ndarray) -> Values:
    """Return `op` of each row of an array of shape (rows, n), of finite floats or of integers."""
    if op in ("max", "min"):
        ends = largest(x) if op == "max" else smallest(x)
        rows = rows_of(ends[:, None])
        return shortened(rows.significands[:, 0].tolist(), rows.exponents[:, 0])
    rows = rows_of(x)
    if op == "prod":
        numbers, exponents = products(rows)
        found = shortened(numbers.tolist(), exponents)
        found.terms, found.terms_exponent = found.high.astype(np.float64), found.exponent
        return found
    if op == "log_sum_exp":
        numbers, exponents = logarithms.log_sum_exp(rows.significands, rows.exponents)
        found = shortened(numbers, exponents)
        found.terms = np.ones(len(numbers))
        return found
    terms = lifted(op, rows)
    numbers, exponents = totals(terms)
    if op == "l2":
        found = shortened(list(map(root, numbers.tolist())), exponents // 2 - GUARD)
        found.terms, found.terms_exponent = found.high.astype(np.float64), found.exponent
        return found
    if op == "mean":
        found = shortened([quotient(one, rows.count) for one in numbers.tolist()], exponents - GUARD)
        found.terms, found.terms_exponent = sizes(terms)
        found.terms = found.terms / rows.count
        return found
    if op == "log_sum":
        summed = shortened(numbers.tolist(), exponents)
        logs, log_exponents = logarithms.logs(numbers.tolist(), exponents.tolist())
        found = shortened(logs, log_exponents)
        negative, zero = numbers < 0, numbers == 0
        found.other = np.where(negative.astype(bool), np.nan, np.where(zero.astype(bool), -np.inf, 0.0))
        # An error of the sum is divided by the sum.
        size, exponent = sizes(terms)
        with np.errstate(divide="ignore", invalid="ignore"):
            found.terms = np.ldexp(size / summed.high.astype(np.float64), exponent - summed.exponent)
        return found
    found = shortened(numbers.tolist(), exponents)
    found.terms, found.terms_exponent = sizes(terms)
    return found
