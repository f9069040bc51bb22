"""Boxes that cover an index space, each with a bounded number of elements; knows no array library."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from xpreduce.axes import Plan

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


def tiles(shape: tuple[int, ...], plan: Plan, budget: int) -> Iterator[tuple[Box, Iterator[Box]]]:
    """Yield boxes of results in C order, each with the parts of the array that hold its terms.

    A part has at most `budget` elements. A box of results that have no terms has no parts.
    """
    kept = tuple(shape[axis] for axis in plan.kept)
    reduced = tuple(shape[axis] for axis in plan.axes)
    terms = math.prod(reduced)
    rows = extents(kept, budget // max(1, min(terms, budget)))
    columns = extents(reduced, budget // math.prod(rows))

    def parts(box: Box) -> Iterator[Box]:
        where = [slice(None)] * plan.ndim
        for axis, part in zip(plan.kept, box, strict=True):
            where[axis] = part
        for inner in boxes(reduced, columns) if terms else ():
            for axis, part in zip(plan.axes, inner, strict=True):
                where[axis] = part
            yield tuple(where)

    for box in boxes(kept, rows):
        yield box, parts(box)
