"""How kernels see an array: the roles of its dimensions, and the parts that it is worked on in.

All of it depends on shape, strides and axes alone, and is kept for the next array like it.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

from xpreduce.axes import Plan
from xpreduce.layout import Places, merge
from xpreduce.tiles import Box, box_size, boxes, extents

_TASK = 2**22, 2**26
"""The fewest and the most bytes of a task: enough to be worth a thread's while."""

_TASKS = 2**6
"""Tasks that a large array is cut into, at least."""

_RUN = 2**15
"""Bytes next to each other that a task reads, where so many are."""

_OUTPUTS = 2**16
"""The most results of a task: each has a byte that says whether it is open."""

_STATES = 2**14
"""Outputs whose states are made at once."""

_PIECES = 2**6
_PIECES_BYTES = 2**23


class Geometry:
    """The dimensions of an array, merged, and what they are to a kernel."""

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], item: int, plan: Plan) -> None:
        dimensions = merge(shape, strides, plan.axes)
        self._item = item
        self._strides = [d.stride for d in dimensions]
        self._sizes = [d.size for d in dimensions]
        self._kept = [i for i, d in enumerate(dimensions) if not d.reduced]
        self._reduced = [i for i, d in enumerate(dimensions) if d.reduced]
        self.kept = tuple(self._sizes[i] for i in self._kept)
        self.reduced = tuple(self._sizes[i] for i in self._reduced)
        self.terms = math.prod(self.reduced)
        self.by_rows = dimensions[-1].reduced
        self.apart = dimensions[-1].stride != item
        # A, R and B are the innermost dimensions of the kinds that they must be.
        left = list(range(len(dimensions)))
        b = None if self.by_rows else left.pop()
        r = left.pop() if left and dimensions[left[-1]].reduced else None
        a = left.pop() if left and not dimensions[left[-1]].reduced else None
        self._roles = a, r, b
        self._outer = [[i for i in left if dimensions[i].reduced is reduced] for reduced in (False, True)]
        self._whole = tuple(slice(0, size) for size in self.reduced)
        self._task = min(max(math.prod(self._sizes) * item // _TASKS, _TASK[0]), _TASK[1]) // item
        self.places = {
            keepdims: Places(dimensions, shape, replace(plan, keepdims=keepdims))
            for keepdims in (True, False)
        }
        self.boxes = self._boxes(_OUTPUTS)
        self.state_boxes = self._boxes(_STATES)

    def _boxes(self, most: int) -> list[tuple[Box, list[Box] | None]]:
        """Return how the results are cut into tasks, and these into pieces that make part of a sum each."""
        _, r, b = self._roles
        row = self._sizes[r] if self.by_rows and r is not None else 1
        run = max(1, _RUN // (self._item * row))
        if b is not None:
            run = min(run, self._sizes[b])
        outputs = min(max(self._task // self.terms, run), most)
        return [(box, self._pieces(box)) for box in boxes(self.kept, extents(self.kept, outputs))]

    def _pieces(self, box: Box) -> list[Box] | None:
        outputs = box_size(box)
        elements = outputs * self.terms
        if elements < 2 * self._task:
            return None
        count = min(_PIECES, max(2, _PIECES_BYTES // (outputs * 32)), elements // self._task)
        return list(boxes(self.reduced, extents(self.reduced, -(-self.terms // count))))

    def lines(self, box: Box, lanes: int) -> tuple[int, int, int]:
        """Return how the totals of a box lie: lines, outputs in each, and the room for these."""
        last = self._roles[0 if self.by_rows else 2]
        width = 1 if last is None else box_size((box[self._kept.index(last)],))
        return box_size(box) // width, width, -(-width // lanes) * lanes

    @cached_property
    def _of_all(self) -> tuple[list[int], Any]:
        return self._parameters(0, self.boxes[0][0], None)

    def parameters(self, address: int, box: Box, piece: Box | None) -> tuple[list[int], Any]:
        """Return the first of a kernel's parameters for a part of an array, and what holds their memory."""
        if piece is None and box is self.state_boxes[0][0] and len(self.state_boxes) == 1:
            numbers, held = self._whole_array
            return [address, *numbers], held
        return self._parameters(address, box, piece)

    @cached_property
    def _whole_array(self) -> tuple[list[int], Any]:
        """The same for the whole of it, but for the address."""
        (_, *numbers), held = self._parameters(0, self.state_boxes[0][0], None)
        return numbers, held

    def _parameters(self, address: int, box: Box, piece: Box | None) -> tuple[list[int], Any]:
        sizes = self._sizes.copy()
        for indices, parts in ((self._kept, box), (self._reduced, piece or self._whole)):
            for i, part in zip(indices, parts, strict=True):
                address += part.start * self._strides[i]
                sizes[i] = part.stop - part.start
        numbers, held = [address], []
        for outer in self._outer:
            listed = array("q", [*(sizes[i] for i in outer), *(self._strides[i] for i in outer)])
            held.append(listed)
            numbers += (listed.buffer_info()[0], len(outer))
        for role in self._roles:
            numbers += (1, self._item) if role is None else (sizes[role], self._strides[role])
        return numbers, held


@lru_cache(maxsize=256)
def geometry_of(shape: tuple[int, ...], strides: tuple[int, ...], item: int, plan: Plan) -> Geometry:
    """Return the geometry of arrays like this."""
    return Geometry(shape, strides, item, plan)
