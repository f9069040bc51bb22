"""Sums of floats: plain in tiles where the terms are exact, or compensated throughout.

The terms of float16, bfloat16 and float32 are exact in float64, and so little is lost in a plain sum of
some hundred of them that the rounding of the whole can be checked. Sums of float64, and those whose
rounding such a check leaves open, take every error along (Ogita, Rump and Oishi, SIAM J. Sci. Comput.
26, 2005). A total is (high, low), and for terms of both signs also the sum of their sizes.
"""

from __future__ import annotations

from collections.abc import Callable

from xpreduce.algebra.pairs import two_sum
from xpreduce.operators import Lift
from xpreduce_numpy.compiled.accumulation import Accumulation, Vectors
from xpreduce_numpy.compiled.writing import FLOATS, LONGS, Code, Value

_PLAIN_DEPTH = 2**9
_WIDE_DEPTH = 2**10

PLAIN_ERROR = (_PLAIN_DEPTH + 2**5) * 2.0**-52
"""What a plain sum may be off by, as a share of the sum of its terms' sizes."""

_BOUNDED_DEPTH = 2**7

EXACT_DEPTH = 2**6
"""Terms of a lane that keep 2**11 float16 in a tile: they are 40 bits wide, and double has 53."""

WIDE_ERROR = 2.0**-70
"""The same of a compensated one: of up to 2**17 tiles a lane, (2**17 + 2**10)**2 * 2**-106.

Of fewer terms it is off by less: terms**2 * 2**-106, and something for the joining of lanes.
"""

# -0 leaves every number as it is, also another -0.
_EMPTY = (-0.0, 0.0, 0.0, float("inf"))


def _empty(parts: int) -> Callable[[Code], Vectors]:
    return lambda code: tuple(code.constant(FLOATS, number) for number in _EMPTY[:parts])


def _added(code: Code, a: Vectors, b: Vectors) -> Vectors:
    """Add plainly, part by part."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _joined(code: Code, a: Vectors, b: Vectors) -> Vectors:
    """Add pairs, and what goes with them."""
    high, error = two_sum(a[0], b[0])
    found = [high, error + (a[1] + b[1]), *(x + y for x, y in zip(a[2:3], b[2:3], strict=True))]
    if len(a) == 4:
        found.append((a[3] < b[3]).where(a[3], b[3]))
    return tuple(found)


def _absorbed(code: Code, total: Vectors, tile: Vectors) -> Vectors:
    """Add a plain tile to a pair."""
    high, error = two_sum(total[0], tile[0])
    return high, total[1] + error, *_added(code, total[2:], tile[1:])


def plain(lift: Lift, sizes: bool, depth: int = _PLAIN_DEPTH) -> Accumulation:
    """Return the accumulation of exact terms in plain float64, with the sum of their sizes if asked."""

    def step(code: Code, tile: Vectors, x: Value) -> Vectors:
        if lift == "square":
            return (x.times_plus(x, tile[0]),)
        if lift == "abs":
            return (tile[0] + abs(x),)
        return (tile[0] + x, tile[1] + abs(x)) if sizes else (tile[0] + x,)

    parts = 3 if sizes else 2
    return Accumulation(
        _empty(parts - 1),
        step,
        _added,
        _empty(parts),
        _absorbed,
        _joined,
        (FLOATS,) * parts,
        depth,
    )


def bounded(lift: Lift) -> Accumulation:
    """Return the accumulation of exact terms in plain float64 whose error needs no check.

    It is off by less than 2**-44 times the sum of the terms' sizes.
    """
    return plain(lift, False, _BOUNDED_DEPTH)


def ranged(lift: Lift) -> Accumulation:
    """Return the accumulation of few exact terms in plain float64 that also tells whether their sum is exact.

    With it go the sum of sizes, and the smallest size but zero: as its bits less 1, so that zero is the
    largest.
    """

    def empty(code: Code) -> Vectors:
        return (*_empty(2)(code), code.constant(LONGS, -1))

    def step(code: Code, tile: Vectors, x: Value) -> Vectors:
        size = abs(x)
        term = size if lift == "abs" else x
        return tile[0] + term, tile[1] + size, tile[2].known("umin", size.bits() - 1)

    def merge(code: Code, a: Vectors, b: Vectors) -> Vectors:
        return a[0] + b[0], a[1] + b[1], a[2].known("umin", b[2])

    return Accumulation(
        empty, step, merge, empty, merge, merge, (FLOATS, FLOATS, LONGS), _PLAIN_DEPTH, across=16
    )


def wide(lift: Lift) -> Accumulation:
    """Return the compensated accumulation, with the sum of the sizes of terms of both signs."""

    def step(code: Code, tile: Vectors, x: Value) -> Vectors:
        if lift == "square":
            term = x * x
            high, error = two_sum(tile[0], term)
            return high, tile[1] + (error + x.times_plus(x, -term))
        high, error = two_sum(tile[0], abs(x) if lift == "abs" else x)
        return high, tile[1] + error, *([tile[2] + abs(x)] if lift == "identity" else [])

    parts = 3 if lift == "identity" else 2
    return _of_pairs(step, parts)


def careful(lift: Lift) -> Accumulation:
    """Return the compensated accumulation with the sum of sizes, and the smallest size but zero.

    Squares must be exact.
    """

    def step(code: Code, tile: Vectors, x: Value) -> Vectors:
        size = abs(x)
        term = x * x if lift == "square" else size if lift == "abs" else x
        high, error = two_sum(tile[0], term)
        smallest = ((size < tile[3]) & (size > 0.0)).where(size, tile[3])
        return high, tile[1] + error, tile[2] + abs(term), smallest

    return _of_pairs(step, 4)


def _of_pairs(step: Callable[[Code, Vectors, Value], Vectors], parts: int) -> Accumulation:
    """Return an accumulation whose tiles are like its totals."""
    empty = _empty(parts)
    return Accumulation(
        empty, step, _joined, empty, _joined, _joined, (FLOATS,) * parts, _WIDE_DEPTH, across=16
    )
