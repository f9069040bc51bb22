"""Boxes that cover an index space, each with a bounded number of elements; knows no array library."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

Box = tuple[slice, ...]


def extents(sizes: tuple[int, ...], budget: int) -> tuple[int, ...]:
    """Return the shape of the largest box of at most `budget` elements that is contiguous in C order."""
    left, result = max(budget, 1), []
    for size in reversed(sizes):
        length = max(1, min(size, left))
        result.append(length)
        left = left // length if length == size else 1
    return tuple(reversed(result))


def boxes(sizes: tuple[int, ...], lengths: tuple[int, ...]) -> Iterator[Box]:
    """Yield the boxes of shape `lengths`, smaller at the ends, that cover `sizes`, in C order."""
    ranges = (
        [slice(start, min(start + length, size)) for start in range(0, size, length)]
        for size, length in zip(sizes, lengths, strict=True)
    )
    yield from product(*ranges)


def box_size(box: Box) -> int:
    """Return the number of elements in a box."""
    return math.prod(part.stop - part.start for part in box)
