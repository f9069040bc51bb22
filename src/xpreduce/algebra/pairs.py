"""Double-double arithmetic: unevaluated sums of two floats, accurate to twice the working precision.

The algorithms are the classic error-free transformations (Knuth 1969; Dekker, Numer. Math. 18, 1971;
Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26, 2005) and the accurate addition of Joldes, Muller and
Popescu (ACM TOMS 44, 2017). They need rounding to nearest and no overflow; the callers scale.

A pair (high, low) is *normalised* when high is the float nearest to high + low.
"""

from __future__ import annotations

from typing import Any

from xpreduce.algebra import limbs
from xpreduce.dtypes import DTYPES, DType, in_namespace

Pair = tuple[Any, Any]

_SPLITTER = 134217729.0  # 2**27 + 1 cuts 53 bits into 26 and 26


def two_sum(a: Any, b: Any) -> Pair:
    """Return the float sum of a and b, and its exact error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def fast_two_sum(a: Any, b: Any) -> Pair:
    """Return the float sum of a and b, and its exact error, where abs(a) >= abs(b) or a is 0."""
    s = a + b
    return s, b - (s - a)


def two_product(a: Any, b: Any) -> Pair:
    """Return the float product of a and b, and its exact error, for float64 below 2**996."""
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    p = a * b
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _split(a: Any) -> Pair:
    c = _SPLITTER * a
    high = c - (c - a)
    return high, a - high


def add(xp: Any, a: Pair, b: Pair) -> Pair:
    """Return the normalised sum of two normalised pairs, within 3 * 2**-106 of its own size.

    Plain addition of the high parts is what decides about infinities, NaN and the sign of zero.
    """
    s, e = two_sum(a[0], b[0])
    t, f = two_sum(a[1], b[1])
    v, w = fast_two_sum(s, e + t)
    high, low = fast_two_sum(v, f + w)
    plain = ((s == 0) & (t == 0)) | ~xp.isfinite(s)
    return xp.where(plain, s, high), xp.where(plain, xp.zeros_like(low), low)


def normalised(xp: Any, pair: Pair) -> Pair:
    """Return the pair of the same value whose high part is the value's nearest float."""
    high, low = pair
    s, e = two_sum(high, low)
    plain = (low == 0) | ~xp.isfinite(high)
    return xp.where(plain, high, s), xp.where(plain, xp.zeros_like(e), e)


def sum_along(xp: Any, high: Any, low: Any | None, axis: int) -> Pair:
    """Sum along an axis of length 1 or more, by halves; `low` may be None where it is all zeros.

    With n values the result is within (log2(n) * 2**-53)**2 times the sum of their absolute values. It
    is normalised. Infinities and NaN in the high part are what plain addition makes of them.
    """
    size = high.shape[axis]
    while size > 1:
        half = size // 2
        s, e = two_sum(_part(high, axis, 0, half), _part(high, axis, half, 2 * half))
        if low is not None:
            e = e + (_part(low, axis, 0, half) + _part(low, axis, half, 2 * half))
        if size % 2:
            last = _part(high, axis, size - 1, size)
            last_low = xp.zeros_like(last) if low is None else _part(low, axis, size - 1, size)
            s, e = xp.concat((s, last), axis=axis), xp.concat((e, last_low), axis=axis)
        high, low, size = s, e, half + size % 2
    high = xp.squeeze(high, axis=axis)
    if low is None:
        return high, xp.zeros_like(high)
    return normalised(xp, (high, xp.squeeze(low, axis=axis)))


def _part(array: Any, axis: int, start: int, stop: int) -> Any:
    return array[(slice(None),) * (axis % array.ndim) + (slice(start, stop),)]


def multiply(a: Pair, b: Pair) -> Pair:
    """Return the product of two pairs, within 2**-102 of its size, where nothing leaves the range."""
    p, e = two_product(a[0], b[0])
    return fast_two_sum(p, e + (a[0] * b[1] + a[1] * b[0]))


def sqrt(xp: Any, pair: Pair) -> Pair:
    """Return the square root of a normalised pair without sign, as a normalised pair."""
    root = xp.sqrt(pair[0])
    square, error = two_product(root, root)
    rest = ((pair[0] - square) - error) + pair[1]
    return _corrected(xp, root, rest, 2 * root)


def divide(xp: Any, pair: Pair, by: Any) -> Pair:
    """Return a pair over a float that is not 0, as a normalised pair."""
    quotient = pair[0] / by
    product, error = two_product(quotient, by)
    rest = ((pair[0] - product) - error) + pair[1]
    return _corrected(xp, quotient, rest, by + xp.zeros_like(quotient))


def log(xp: Any, pair: Pair) -> Pair:
    """Return the logarithm of a normalised pair, as accurate as the library's own of the high part."""
    return _corrected(xp, xp.log(pair[0]), pair[1], pair[0])


def _corrected(xp: Any, first: Any, rest: Any, slope: Any) -> Pair:
    """Return first + rest / slope as a normalised pair; where that is not a number, `first`."""
    usable = xp.isfinite(first) & (slope != 0)
    one, zero = xp.ones_like(slope), xp.zeros_like(first)
    return normalised(xp, (first, xp.where(usable, rest / xp.where(usable, slope, one), zero)))


def rounded(xp: Any, pair: Pair, result: DType) -> Any:
    """Round a normalised pair of float64 once: to nearest with ties to even, or toward zero to integers."""
    high, low = pair
    if not result.is_float:
        return _truncated(xp, high, low, result)
    if result.name == "float64":
        return high
    single = _round_once(xp, high, low, DTYPES["float32"])
    if result.name == "float32":
        return single
    # Some libraries cast float64 to 16 bits by way of float32, so that step is made here, and what it
    # leaves over is carried into the next rounding.
    near = xp.astype(single, high.dtype)
    rest = xp.where(xp.isfinite(near), (high - near) + low, xp.zeros_like(low))
    return _round_once(xp, near, rest, result)


def logarithm(xp: Any, pair: Pair, result: DType) -> Any:
    """Round a logarithm: for integers by way of float64, which is what they are defined by."""
    return rounded(xp, pair if result.is_float else (pair[0], xp.zeros_like(pair[1])), result)


def _truncated(xp: Any, high: Any, low: Any, result: DType) -> Any:
    """Round toward zero, saturate, and make 0 of NaN."""
    size, part = xp.abs(high), xp.where(high < 0, -low, low)
    whole = xp.floor(size)
    # Beyond 2**64 all saturate, and a low part may lead from it back into the range of uint64.
    inside = (size < 2.0**64) | ((size == 2.0**64) & (part < 0))
    zero = xp.zeros_like(size)
    whole, part = xp.where(inside, whole, zero), xp.where(inside, part, zero)
    step = xp.floor(part)
    left = xp.where(inside, size - whole, zero)
    # A part below 0 takes one from the integer unless as much is left; one above 0 never fills it up.
    kept = (part < 0) & (left >= -part)
    # As two limbs, since 2**64 - 1 has more digits than a float.
    upper = xp.floor(whole * 2.0**-32)
    lower = whole - upper * 2.0**32
    value = limbs.carry(
        (
            xp.astype(lower, xp.int64) + xp.astype(step, xp.int64) + xp.astype(kept, xp.int64),
            xp.astype(upper, xp.int64),
            xp.zeros_like(xp.astype(upper, xp.int64)),
        )
    )
    return limbs.saturated(xp, value, high < 0, inside | (size != size), result)


def _round_once(xp: Any, high: Any, low: Any, result: DType) -> Any:
    """Round high + low, where low is too small to matter except next to a tie of `high`."""
    dtype = in_namespace(xp, result.name)
    nearest = xp.astype(high, dtype)
    back = xp.astype(nearest, high.dtype)
    distance = high - back
    # At a tie, and only there, the same distance again leads to the neighbour on the other side.
    other = high + distance
    neighbour = xp.astype(other, dtype)
    tie = (distance != 0) & (xp.astype(neighbour, high.dtype) == other) & xp.isfinite(back)
    nearest = xp.where(tie & (low != 0) & ((low > 0) == (distance > 0)), neighbour, nearest)
    # The tie between the largest number and infinity: what lies below it is the largest number.
    largest = xp.full_like(nearest, result.maximum)
    edge = float(result.maximum) + _half_ulp_of_maximum(result)
    for sign in (1, -1):
        below = (high == sign * edge) & (low * sign < 0)
        nearest = xp.where(below, sign * largest, nearest)
    return nearest


def _half_ulp_of_maximum(result: DType) -> float:
    digits, exponent = {"float16": (11, 15), "bfloat16": (8, 127), "float32": (24, 127)}[result.name]
    return 2.0 ** (exponent - digits)
