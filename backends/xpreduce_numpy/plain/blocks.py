"""Scratch memory, and blocks of narrow floats in it as float64.

Large temporaries cost more than the arithmetic on them: the allocator takes each from the operating
system anew, and the first touch of every page is a fault. So block-sized arrays are kept and used again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

SHORT = 2**6
"""Length up to which an inner loop costs more to start than to run."""


class Scratch:
    """Arrays that are made once, by name, and handed out again with whatever they hold."""

    def __init__(self) -> None:
        self._arrays: dict[str, Any] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
        """Return the start of the array called `name`, in this shape; one name, one dtype."""
        size = math.prod(shape)
        found = self._arrays.get(name)
        if found is None or found.size < size:
            found = self._arrays[name] = np.empty(size, dtype)
        return found[:size].reshape(shape)


def turned(block: Any, longest: int = SHORT**2) -> tuple[Any, tuple[int, ...]]:
    """Return a view of (outer, reduced, inner), and the shape to give to a copy of it.

    Where inner loops would be short, that is (1, reduced, outer * inner), in the same order when flat; not
    where more than `longest` are reduced: of long rows, parts can be laid side by side instead.
    """
    a, r, b = block.shape
    if a > 1 and b < SHORT and r <= longest:
        return block.transpose(1, 0, 2), (1, r, a * b)
    return block, block.shape


def as_float64(block: Any, half: str | None, scratch: Scratch) -> Any:
    """Return a scratch array with the values of a block of floats; `half` names a 16-bit dtype."""
    values = scratch.array("values", block.shape)
    if half == "bfloat16":
        bits = scratch.array("bits", block.shape, np.uint32)
        bits[...] = block.view(np.uint16)
        bits <<= 16
        values[...] = bits.view(np.float32)
    elif half == "float16" and block.dtype.isnative:
        _fill_from_half(values, block, scratch)
    else:
        values[...] = block
    return values


def _fill_from_half(values: Any, block: Any, scratch: Scratch) -> None:
    """Convert by moving bits, several times faster than NumPy's own conversion, subnormals included."""
    bits = scratch.array("bits", block.shape, np.uint32)
    bits[...] = block.view(np.uint16)
    sign = np.bitwise_and(bits, 0x8000, out=scratch.array("sign", block.shape, np.uint32))
    bits &= 0x7FFF
    if bits.max(initial=0) >= 0x7C00:  # infinity or NaN: their exponent does not move with the others
        values[...] = block
        return
    bits <<= 13
    size = bits.view(np.float32)
    size *= 2.0**112  # the difference of the exponents' biases
    sign <<= 16
    bits |= sign
    values[...] = size
