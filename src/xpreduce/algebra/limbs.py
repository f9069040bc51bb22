"""Exact integers of any size as tuples of int64 arrays: limbs of 32 bits, the last one signed.

A value is the sum of ``limb[k] * 2**(32 * k)``. It is *carried* when all limbs but the last lie in
[0, 2**32).
"""

from __future__ import annotations

from typing import Any

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
    """Return where a carried value fits an integer of 32 or 64 bits."""
    words = bits // BITS
    sign = a[-1] >> 63  # 0 or -1
    last = len(a) - 1
    good = True
    for k in range(words, len(a)):
        good = good & (a[k] == (sign if k == last else sign & MASK))
    if signed:
        return good & ((a[words - 1] >> (BITS - 1)) == (sign & 1))
    return good & (sign == 0)


def to_int64(a: Limbs, bits: int) -> Any:
    """Return the lowest 32 or 64 bits of a carried value as int64, wrapping beyond."""
    return a[0] if bits == BITS else a[0] | (a[1] << BITS)


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
    upper = xp.floor(estimate * 2.0**-BITS)
    lower = estimate - upper * 2.0**BITS
    root = carry((xp.astype(lower, xp.int64), xp.astype(upper, xp.int64), zero))
    # The estimate is off by 2**12 at most, so one step of Newton's method leaves an error of one.
    step = to_float(xp, subtract(a, _square(xp, root, len(a)))) / xp.where(estimate > 0, 2 * estimate, 1.0)
    root = carry((root[0] + xp.astype(xp.floor(step), xp.int64), *root[1:]))
    high = xp.astype(negative(subtract(a, _square(xp, root, len(a)))), xp.int64)
    root = carry((root[0] - high, *root[1:]))
    next_root = carry((root[0] + 1, *root[1:]))
    low = xp.astype(~negative(subtract(a, _square(xp, next_root, len(a)))), xp.int64)
    return carry((root[0] + low, *root[1:])), right


def _square(xp: Any, root: Limbs, size: int) -> Limbs:
    """Return the square of a carried value from 0 to 2**64, as `size` limbs, which must suffice."""
    digits = (root[0] & 0xFFFF, root[0] >> 16, root[1] & 0xFFFF, (root[1] >> 16) + (root[2] << 16))
    limbs = [xp.zeros_like(root[0]) for _ in range(6)]
    for i, x in enumerate(digits):
        for j, y in enumerate(digits[: i + 1]):
            place(limbs, x * y if i == j else 2 * (x * y), 16 * (i + j))
    return carry(limbs)[:size]
