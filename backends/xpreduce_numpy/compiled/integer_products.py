"""Products of integers: the size in 64 bits, which wraps around, the size as a double, and the sign.

The double tells whether the size has wrapped around. It grows beyond its range to infinity, and a zero
after that makes it NaN.
"""

from __future__ import annotations

from typing import Any

from xpreduce_numpy.compiled.accumulation import Accumulation, Decide, Vectors
from xpreduce_numpy.compiled.integers import absolute, ends
from xpreduce_numpy.compiled.writing import DOUBLE, FLOATS, LONGS, Code, Value


def accumulation(dtype: str) -> Accumulation:
    """Return the accumulation of integers of a dtype."""
    signed = dtype.startswith("int")

    def empty(code: Code) -> Vectors:
        return code.constant(LONGS, 1), code.constant(FLOATS, 1.0), code.constant(LONGS, 0)

    def step(code: Code, tile: Vectors, x: Value) -> Vectors:
        size = absolute(x) if signed else x
        sign = tile[2] ^ x if signed else tile[2]
        return tile[0] * size, tile[1] * size.to(DOUBLE, "uitofp"), sign

    def merge(code: Code, a: Vectors, b: Vectors) -> Vectors:
        return a[0] * b[0], a[1] * b[1], a[2] ^ b[2]

    return Accumulation(empty, step, merge, empty, merge, merge, (LONGS, FLOATS, LONGS), 2**30, across=16)


def is_zero(total: Any) -> Any:
    """Return where a product, compiled or an array, is zero."""
    return ~(total[1] > 0.0)


def is_over(total: Any) -> Any:
    """Return where the size of a product other than zero, compiled or an array, is 2**64 or more.

    Between the bounds the double leaves that open, but the size, wrapped or not, is far from 2**63.
    """
    return (total[1] >= 1.5 * 2.0**64) | ((total[1] >= 1.5 * 2.0**63) & (total[0] >= 0))


def ending(result: str) -> Decide:
    """Return a function that gives the products in an integer dtype, saturated."""
    least, most = ends(result)
    whole = most if most < 2**64 - 1 else -1

    def decide(code: Code, total: Vectors, terms: Value) -> Vectors:
        size, negative = total[0], total[2] < 0
        over = is_over(total)
        if most < 2**63:
            over = over | (size < 0)
            size = size.larger(0).smaller(most)
        value = over.where(size.all(whole), size)
        if least == 0:
            value = negative.where(value.all(0), value)
        else:
            below = (-total[0]).larger(least)
            value = negative.where(over.where(value.all(least), below), value)
        value = is_zero(total).where(value.all(0), value)
        return value, value.differs(value)

    return decide
