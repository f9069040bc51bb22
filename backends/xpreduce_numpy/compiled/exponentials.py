"""Logarithms of sums of exponentials: a shift for each lane, and the compensated sum relative to it.

The shift follows the largest element at a distance of 1 at most: it moves seldom, and when it does, what
was summed up before shrinks so much that rounding errors of many such steps add up to little. Elements are
looked at twice, the first time only for the largest.
"""

from __future__ import annotations

from xpreduce.algebra.pairs import two_sum
from xpreduce_numpy.compiled.accumulation import Accumulation, Decide, Vectors
from xpreduce_numpy.compiled.logarithm import clamped, exponential, logarithm
from xpreduce_numpy.compiled.rounding import NARROWING, packed
from xpreduce_numpy.compiled.writing import FLOATS, Code, Value

_DEPTH = 2**8
_LARGEST = (2 - 2.0**-52) * 2.0**1023

_ERROR = 2.0**-44
"""What a sum of exponentials that need not be exact is off by, as a share of it.

`NEAR_ERROR`, as much again for every shift that shrinks the sum, and a tile's rounding errors. Shifted
elements are off by 2**-53 of their size, and so are their exponentials; what lies 32 below the shift has no
weight.
"""

_LOGARITHM_ERROR = 2.0**-50


def _term(x: Value, shift: Value) -> Value:
    """Return exp(x - shift), with what the subtraction rounds off."""
    difference, error = two_sum(x, -shift)
    usable = clamped(difference)
    value = exponential(usable)
    # Of NaN, the error is NaN too.
    weighs: Value = ~((usable < difference) | (usable > difference))
    return weighs.where(value.times_plus(error, value), value)


def _moved(code: Code, parts: Vectors, shift: Value) -> Vectors:
    """Return a sum relative to a shift that is as large or larger."""
    before, *sums = parts
    found = code.variable(tuple(sums))
    moves = before.differs(shift) & sums[0].differs(0.0)
    with code.when(code.any_of(moves), rarely=True):
        down = _term(before, shift)
        found.set(tuple(moves.where(part * down, part) for part in sums))
    return shift, *found.now


def _joined(code: Code, a: Vectors, b: Vectors) -> Vectors:
    """Add sums of one part or two; the second may have fewer parts."""
    shift = (a[0] > b[0]).where(a[0], b[0])
    (_, *a_sums), (_, *b_sums) = _moved(code, a, shift), _moved(code, b, shift)
    if len(a_sums) == 1:
        return shift, a_sums[0] + b_sums[0]
    high, error = two_sum(a_sums[0], b_sums[0])
    return shift, high, sum(b_sums[1:], error + a_sums[1])


def _ready(code: Code, tile: Vectors, largest: Value) -> Vectors:
    """Return a tile whose shift allows elements up to `largest`; infinity is added here."""
    now = code.variable(tile)
    above = largest > tile[0] + 1.0
    with code.when(code.any_of(above), rarely=True):
        # A shift is always finite, so that it can be subtracted of infinity.
        infinite = largest > _LARGEST
        shift = above.where(infinite.where(largest.all(_LARGEST), largest), tile[0])
        _, high, *low = _moved(code, tile, shift)
        now.set((shift, infinite.where(high + largest, high), *low))  # NaN stays NaN
    return now.now


def accumulation(exactly: bool) -> Accumulation:
    """Return the accumulation of floats; tiles are plain sums, or pairs if they are to be exact."""
    parts = 2 if exactly else 1

    def empty(code: Code, sums: int = 2) -> Vectors:
        return code.constant(FLOATS, -_LARGEST), *([code.constant(FLOATS, 0.0)] * sums)

    def step(code: Code, tile: Vectors, x: Value) -> Vectors:
        shift, high, *low = tile
        if not exactly:
            return shift, high + exponential(clamped(x - shift), exactly=False)
        high, error = two_sum(high, _term(x, shift))
        return shift, high, low[0] + error

    return Accumulation(
        lambda code: empty(code, parts),
        step,
        _joined,
        empty,
        _joined,
        _joined,
        (FLOATS,) * 3,
        _DEPTH,
        resume=lambda code, total: (total[0], *empty(code, parts)[1:]),
        ready=_ready,
        across=64,
    )


def ending(result: str) -> Decide:
    """Return a function that gives the logarithms, and where their rounding is not certain."""

    def decide(code: Code, total: Vectors, terms: Value) -> Vectors:
        shift, high, low = total
        # Whatever is not -inf counts as 1 at least; of -inf alone only what stands for exp(-inf) is there.
        high = (high < 0.5).where(high.all(0.0), high)
        log = logarithm(high, low)
        value, rest = two_sum(shift, log)
        usable = value.is_finite() & log.is_finite()
        if result not in NARROWING:
            # The logarithm's own rounding error shows where the shift cancels it: a step of Newton's.
            inverse = exponential(clamped(-log))
            better = rest + ((high.times_plus(inverse, log.all(-1.0))) + low * inverse)
            exact = value + (log > 0.5).where(better, rest)
            return usable.where(exact, value), value.nowhere()
        error = abs(log) * _LOGARITHM_ERROR + abs(value) * _LOGARITHM_ERROR + _ERROR
        narrow = NARROWING[result]
        upper, lower = narrow(usable.where(value + error, value)), narrow(value - error)
        return packed(upper, result), usable & upper.bits().differs(lower.bits())

    return decide
