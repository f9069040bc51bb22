"""Exact integers of any size as tuples of int64 arrays: limbs of 32 bits, the last one signed.

A value is the sum of ``limb[k] * 2**(32 * k)``. It is *carried* when all limbs but the last lie in
[0, 2**32).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xpreduce.dtypes import DType, in_namespace

Limbs = tuple[Any, ...]

BITS = 32
MASK = 2**32 - 1


def place(limbs: list[Any], value: Any, bit: int) -> None:
    """Add ``value * 2**bit`` to `limbs` in place, for an int64 array of any values; carries nothing.

    Up to 2**63 goes to each of two limbs, so `carry` between the calls unless values are known small.
    """
    index, shift = divmod(bit, BITS)
    limbs[index] = limbs[index] + ((value & MASK) << shift)
    limbs[index + 1] = limbs[index + 1] + ((value >> BITS) << shift)


def carry(limbs: list[Any] | Limbs) -> Limbs:
    """Return the same value, carried."""
    done, above = [], 0
    for limb in limbs[:-1]:
        total = limb + above
        done.append(total & MASK)
        above = total >> BITS
    return (*done, limbs[-1] + above)


def add(a: Limbs, b: Limbs) -> Limbs:
    """Return the carried sum."""
    return carry([x + y for x, y in zip(a, b, strict=True)])


def subtract(a: Limbs, b: Limbs) -> Limbs:
    """Return the carried difference."""
    return carry([x - y for x, y in zip(a, b, strict=True)])


def negative(a: Limbs) -> Any:
    """Return where a carried value is below zero."""
    return a[-1] < 0


def to_float(xp: Any, a: Limbs) -> Any:
    """Return a carried value as float64, within 2**-51 of its size."""
    total = xp.astype(a[-1], xp.float64)
    for limb in reversed(a[:-1]):
        total = total * 2.0**BITS + xp.astype(limb, xp.float64)
    return total


def fits(a: Limbs, bits: int, signed: bool) -> Any:
    """Return where a carried value fits an integer of 8 to 64 bits."""
    if bits < BITS:
        value = to_int64(a)
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return fits(a, 64, True) & (value >= low) & (value <= high)
    words = bits // BITS
    sign = a[-1] >> 63  # 0 or -1
    last = len(a) - 1
    good = True
    for k in range(words, len(a)):
        good = good & (a[k] == (sign if k == last else sign & MASK))
    if signed:
        return good & ((a[words - 1] >> (BITS - 1)) == (sign & 1))
    return good & (sign == 0)


def to_int64(a: Limbs) -> Any:
    """Return the lowest 64 bits of a carried value as int64, wrapping beyond."""
    return a[0] | (a[1] << BITS)


def from_int64(xp: Any, value: Any, signed: bool) -> Limbs:
    """Return int64 values, or the uint64 values that wrapped to them, as three carried limbs."""
    return value & MASK, (value >> BITS) & MASK, value >> 63 if signed else xp.zeros_like(value)


def absolute(xp: Any, a: Limbs) -> Limbs:
    """Return the size of a carried value, carried."""
    below = negative(a)
    return carry([xp.where(below, -limb, limb) for limb in a])


def multiply(xp: Any, a: Limbs, b: Limbs, size: int) -> Limbs:
    """Return the product of carried values without sign as `size` limbs, which must suffice."""
    total = [xp.zeros_like(a[0] * b[0]) for _ in range(size + 2)]
    b_digits = [part for limb in b for part in (limb & 0xFFFF, limb >> 16)]
    for i, limb in enumerate(a):
        for j, digit in enumerate(b_digits):
            # 32 by 16 bits: a product below 2**48, shifted by 16 at most.
            bit = BITS * i + 16 * j
            if bit < BITS * size:
                place(total, limb * digit, bit)
        total = list(carry(total))
    return tuple(total[:size])


def divide(xp: Any, a: Limbs, by: Limbs) -> Limbs:
    """Return carried values without sign over one of two limbs from 1 on, rounded down, as three limbs.

    The quotient must be below 2**64.
    """
    size, divisor = len(a), to_float(xp, by)
    quotient = _split(xp, xp.floor(to_float(xp, a) / divisor))
    # The estimate is off by 2**14 at most, and after one more step by one.
    rest = subtract(a, multiply(xp, quotient, by, size))
    step = xp.astype(xp.floor(to_float(xp, rest) / divisor), xp.int64)
    return _settled(xp, carry((quotient[0] + step, quotient[1])), lambda q: multiply(xp, q, by, size), a)


def _split(xp: Any, value: Any) -> Limbs:
    """Return integral floats from 0 on as two limbs."""
    upper = xp.floor(value * 2.0**-BITS)
    return carry((xp.astype(value - upper * 2.0**BITS, xp.int64), xp.astype(upper, xp.int64)))


def _settled(xp: Any, x: Limbs, function: Callable[[Limbs], Limbs], a: Limbs) -> Limbs:
    """Return the largest x of which a growing function is at most `a`, given one that is off by one."""
    high = xp.astype(negative(subtract(a, function(x))), xp.int64)
    x = carry((x[0] - high, x[1]))
    following = carry((x[0] + 1, x[1]))
    low = xp.astype(~negative(subtract(a, function(following))), xp.int64)
    return carry((x[0] + low, x[1], xp.zeros_like(x[0])))


def saturated(xp: Any, size: Limbs, below: Any, known: Any, result: DType) -> Any:
    """Return a value as an integer dtype, given its size, its sign, and where the size is known.

    What is out of range becomes the end of the range, as does what is not `known`: it must be large.
    """
    signed = [xp.where(below, -limb, limb) for limb in size]
    value = carry(signed)
    good = known & fits(value, result.bits, result.kind == "int")
    # In int64, where 2**64 - 1 is -1: some libraries can do no more with unsigned integers than cast.
    number = to_int64(value)
    largest = result.maximum if result.maximum < 2**63 else -1
    ends = xp.where(below, xp.full_like(number, result.minimum), xp.full_like(number, largest))
    return xp.astype(xp.where(good, number, ends), in_namespace(xp, result.name))


def to_pair(xp: Any, a: Limbs) -> tuple[Any, Any]:
    """Return a carried value as a normalised pair of float64, within 2**-104 of its size."""
    high = xp.zeros(a[0].shape, dtype=xp.float64, device=a[0].device)
    low = high
    for index in reversed(range(len(a))):
        part = xp.astype(a[index], xp.float64) * 2.0 ** (BITS * index)
        total = high + part
        back = total - high
        low = low + ((high - (total - back)) + (part - back))
        high = total
    total = high + low
    return total, low - (total - high)


def isqrt(xp: Any, a: Limbs, words: int) -> tuple[Limbs, Any]:
    """Return the integer square roots of carried values without sign, and where they are right.

    They are right where the value lies below ``2**(32 * words)``, for 2 or 4 words. A root comes as
    three carried limbs.
    """
    zero = xp.zeros_like(a[0])
    right = zero == 0
    for limb in a[words:]:
        right = right & (limb == 0)
    a = tuple(xp.where(right, limb, zero) for limb in a)
    estimate = xp.floor(xp.sqrt(to_float(xp, a)))
    root = _split(xp, estimate)
    # The estimate is off by 2**12 at most, so one step of Newton's method leaves an error of one.
    rest = to_float(xp, subtract(a, multiply(xp, root, root, len(a))))
    step = xp.floor(rest / xp.where(estimate > 0, 2 * estimate, xp.ones_like(estimate)))
    root = carry((root[0] + xp.astype(step, xp.int64), root[1]))
    return _settled(xp, root, lambda x: multiply(xp, x, x, len(a)), a), right
