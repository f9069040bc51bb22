"""Logarithms of sums of exponentials: a shift for each lane, and the compensated sum relative to it.

The shift follows the largest element at a distance of 1 at most: it moves seldom, and when it does, what
was summed up before shrinks so much that rounding errors of many such steps add up to little.
"""

from __future__ import annotations

from xpreduce.algebra.pairs import two_sum
from xpreduce_numpy.compiled.accumulation import Accumulation, Decide, Vectors
from xpreduce_numpy.compiled.logarithm import exponential, logarithm
from xpreduce_numpy.compiled.rounding import NARROWING, packed
from xpreduce_numpy.compiled.writing import FLOATS, Code, Value

_DEPTH = 2**10
_LARGEST = (2 - 2.0**-52) * 2.0**1023

_ERROR = 2.0**-45
"""A sum's error as a share of it, where shifted elements are off by 2**-53: their exponential is off by
no more than its argument, and what lies 32 below the shift has no weight."""

_LOGARITHM_ERROR = 2.0**-50


def _term(x: Value, shift: Value, exactly: bool = True) -> Value:
    """Return exp(x - shift)."""
    if not exactly:
        return exponential(x - shift, False)
    difference, error = two_sum(x, -shift)
    value = exponential(difference)
    usable: Value = error.is_finite()
    return usable.where(value.times_plus(error, value), value)


def _moved(parts: Vectors, shift: Value) -> Vectors:
    """Return a sum relative to a larger shift."""
    down = _term(parts[0], shift)
    same = parts[0].equals(shift)
    return shift, same.where(parts[1], parts[1] * down), same.where(parts[2], parts[2] * down)


def _joined(code: Code, a: Vectors, b: Vectors) -> Vectors:
    above = a[0] >= b[0]
    upper, lower = (
        tuple(above.where(*pair) for pair in zip(*order, strict=True)) for order in ((a, b), (b, a))
    )
    shift, first, second = _moved(lower, upper[0])
    high, error = two_sum(upper[1], first)
    return shift, high, error + (upper[2] + second)


def accumulation(exactly: bool) -> Accumulation:
    """Return the accumulation of floats; `exactly` keeps what the subtraction of the shift rounds off."""

    def empty(code: Code) -> Vectors:
        return code.constant(FLOATS, -_LARGEST), code.constant(FLOATS, 0.0), code.constant(FLOATS, 0.0)

    def step(code: Code, tile: Vectors, x: Value) -> Vectors:
        now = code.variable(tile)
        above = x > tile[0] + 1.0
        with code.when(code.any_of(above)):
            # A shift is always finite, so that it can be subtracted of infinity.
            most = (x > _LARGEST).where(x.all(_LARGEST), x)
            now.set(_moved(tile, above.where(most, tile[0])))
        shift, high, low = now.now
        high, error = two_sum(high, _term(x, shift, exactly))
        return shift, high, low + error

    return Accumulation(empty, step, _joined, empty, _joined, _joined, (FLOATS,) * 3, _DEPTH, flows=True)


def ending(result: str) -> Decide:
    """Return a function that gives the logarithms, and where their rounding is not certain."""

    def decide(code: Code, total: Vectors, terms: Value) -> Vectors:
        shift, high, low = total
        # Whatever is not -inf counts as 1 at least; of -inf alone only what stands for exp(-inf) is there.
        high = (high < 0.5).where(high.all(0.0), high)
        log = logarithm(high, low)
        value, rest = two_sum(shift, log)
        # The logarithm's own rounding error shows where the shift cancels it: a step of Newton's.
        inverse = exponential(-log)
        better = rest + ((high.times_plus(inverse, log.all(-1.0))) + low * inverse)
        usable = value.is_finite() & log.is_finite()
        exact = usable.where(value + (usable & (log > 0.5)).where(better, rest), value)
        if result not in NARROWING:
            return exact, usable & ~usable
        narrow = NARROWING[result]
        error = abs(log) * _LOGARITHM_ERROR + abs(exact) * _LOGARITHM_ERROR + _ERROR
        upper, lower = narrow(exact + error), narrow(exact - error)
        found = usable.where(upper, narrow(value))
        return packed(found, result), usable & upper.bits().differs(lower.bits())

    return decide
