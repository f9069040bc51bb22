"""Reductions of one array by compiled kernels: its layout as they know it, shared out among threads.

How an array is cut into tasks depends on its layout alone, and what tasks found is put together in one
order: so results do not depend on the number of threads.
"""

from __future__ import annotations

import struct
from array import array
from functools import partial
from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of
from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State
from xpreduce.threads import get_num_threads
from xpreduce.tiles import Box, box_size, boxes, extents
from xpreduce_numpy import careful
from xpreduce_numpy.compiled import kernels, pool
from xpreduce_numpy.compiled.accumulation import Accumulation
from xpreduce_numpy.compiled.families import Family
from xpreduce_numpy.compiled.kernels import Terms
from xpreduce_numpy.compiled.writing import BYTES
from xpreduce_numpy.walk import Walk

_TASK = 2**20
"""Elements that are worth a thread's while."""

_RUN = 2**15
"""Bytes next to each other that a task reads, where so many are."""

_OUTPUTS = 2**18
"""The most results of a task: each has a byte that says whether it is open."""

_STATES = 2**14
"""Outputs whose states are made at once."""

_BOX = {True: 2**10, False: 2**13}
"""Outputs whose totals are held at once, of rows and of columns: they stay in cache."""

_PIECES = 2**6
_PIECES_BYTES = 2**23


class Compiled:
    """Results and states of one array."""

    def __init__(self, x: Any, reduction: Reduction, family: Family) -> None:
        self.walk = Walk(x, reduction.plan, _TASK)
        self._reduction, self._family = reduction, family
        self._x = x  # whose memory the kernels read
        self._address = x.__array_interface__["data"][0]
        dimensions = self.walk.dimensions
        self._strides = [d.stride for d in dimensions]
        self._kept = [i for i, d in enumerate(dimensions) if not d.reduced]
        self._reduced = [i for i, d in enumerate(dimensions) if d.reduced]
        self._by_rows = dimensions[-1].reduced
        self._apart = dimensions[-1].stride != x.dtype.itemsize
        # A, R and B are the innermost dimensions of the kinds that they must be.
        left = list(range(len(dimensions)))
        self._b = None if self._by_rows else left.pop()
        self._r = left.pop() if left and dimensions[left[-1]].reduced else None
        self._a = left.pop() if left and not dimensions[left[-1]].reduced else None
        self._outer_kept = [i for i in left if not dimensions[i].reduced]
        self._outer_reduced = [i for i in left if dimensions[i].reduced]
        (self._terms_bits,) = struct.unpack("q", struct.pack("d", self.walk.terms))

    @property
    def kernel(self) -> str:
        """What runs, in words."""
        return f"compiled, {'along rows' if self._by_rows else 'down columns'}: {self._family.words}"

    def reduce(self) -> Any:
        """Return the results."""
        out: Any = np.empty(self.walk.kept, in_namespace(np, self._reduction.result.name))
        flat, start, tasks = out.reshape(-1), 0, []
        found = list(boxes(self.walk.kept, extents(self.walk.kept, self._outputs(_OUTPUTS))))
        for box in found:
            stop = start + box_size(box)
            tasks.append(partial(self._results, box, flat[start:stop]))
            start = stop
        pool.run(tasks, get_num_threads() if self._pieces(found[0]) is None else 1)
        return self.walk.in_place(out, self._reduction.plan.keepdims)

    def partial(self) -> tuple[Any, ...]:
        """Return the state, with every reduced dimension at length 1."""
        found = list(boxes(self.walk.kept, extents(self.walk.kept, self._outputs(_STATES))))
        threads = get_num_threads() if self._pieces(found[0]) is None else 1
        states = pool.run([partial(self._state, box) for box in found], threads)
        return tuple(
            self.walk.in_place(np.concatenate(parts), True) if parts[0].ndim else parts[0]
            for parts in zip(*states, strict=True)
        )

    def _outputs(self, most: int) -> int:
        """Return how many results a task should have."""
        sizes = self.walk.sizes
        row = 1 if self._r is None or not self._by_rows else sizes[self._r]
        run: int = max(1, _RUN // (self._x.dtype.itemsize * row))
        if self._b is not None:
            run = min(run, sizes[self._b])
        return min(max(_TASK // self.walk.terms, run), most)

    def _pieces(self, box: Box) -> list[Box] | None:
        """Return how a box of results is cut along its reduced dimensions, or None if it is not worth it."""
        outputs = box_size(box)
        elements = outputs * self.walk.terms
        if elements <= 4 * _TASK:
            return None
        count = min(_PIECES, max(2, _PIECES_BYTES // (outputs * 32)), elements // _TASK)
        sizes = self.walk.reduced
        return list(boxes(sizes, extents(sizes, -(-self.walk.terms // count))))

    def _results(self, box: Box, out: Any) -> None:
        """Compute the results of a box into `out`, which is flat."""
        if not self._family.finishes:
            out[...] = algebra_of(self._reduction).finish(np, self._state(box))
            return
        terms = self._family.terms(self._by_rows, self._apart)
        marks: Any = np.zeros(out.size, np.bool_)
        pieces = self._pieces(box)
        if pieces is None:
            room = _BOX[self._by_rows]
            memory = _Totals(terms.accumulation, room + terms.accumulation.lanes)
            left = self._call("results", "results", box, None, memory, out, marks, room)
        else:
            memory = self._totals(box, pieces, "pieces", terms)
            left = self._call("pieces", "finish", box, None, memory, out, marks)
        if left:
            out[...] = careful.mended(out, self.walk, self._reduction, box, marks)

    def _state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        terms = self._family.state_terms(self._by_rows, self._apart)
        whole = tuple(slice(0, size) for size in self.walk.reduced)
        memory = self._totals(box, self._pieces(box) or [whole], "states", terms)
        lines, width, padded = self._lines(box, terms)
        parts = [part.reshape(lines, padded)[:, :width].reshape(-1) for part in memory.parts(lines * padded)]
        state, wrong = self._family.state(parts, self.walk.terms)
        if wrong is not None and wrong.any():
            chosen = np.flatnonzero(wrong)
            right = careful.state(self.walk, self._reduction, box, chosen)
            for part, better in zip(state, right, strict=True):
                if part.ndim:
                    part[chosen] = better
        return state

    def _lines(self, box: Box, terms: Terms) -> tuple[int, int, int]:
        """Return how the totals of a box lie: lines, outputs in each, and the room for these."""
        last = self._a if self._by_rows else self._b
        width = 1 if last is None else box_size((box[self._kept.index(last)],))
        lanes = terms.accumulation.lanes
        return box_size(box) // width, width, -(-width // lanes) * lanes

    def _totals(self, box: Box, pieces: list[Box], group: str, terms: Terms) -> _Totals:
        """Return the totals of a box, piece by piece in threads and then put together in order."""
        lines, _, padded = self._lines(box, terms)

        def of(piece: Box) -> _Totals:
            memory = _Totals(terms.accumulation, lines * padded)
            self._call(group, "totals", box, piece, memory)
            return memory

        first: _Totals
        first, *others = pool.run([partial(of, piece) for piece in pieces], get_num_threads())
        for other in others:
            # The kernel looks for them where results would be.
            self._call(group, "join", box, None, first, other.memory)
        return first

    def _call(
        self,
        group: str,
        name: str,
        box: Box,
        inner: Box | None,
        memory: _Totals,
        out: Any = None,
        marks: Any = None,
        room: int = 0,
    ) -> int:
        """Run a kernel of a module on a part of the array."""
        address, sizes = self._address, list(self.walk.sizes)
        for indices, parts in ((self._kept, box), (self._reduced, inner or ())):
            for i, part in zip(indices, parts, strict=False):
                address += part.start * self._strides[i]
                sizes[i] = part.stop - part.start
        if name == "join":
            numbers = [0] * 5 + [memory.outputs] + [0] * 5
        else:
            kept, reduced = (
                array("q", [*(sizes[i] for i in outer), *(self._strides[i] for i in outer)])
                for outer in (self._outer_kept, self._outer_reduced)
            )
            numbers = [address]
            for outer in (kept, reduced):
                numbers += (outer.buffer_info()[0], len(outer) // 2)
            for role in (self._a, self._r, self._b):
                missing = 1, self._x.dtype.itemsize
                numbers += missing if role is None else (sizes[role], self._strides[role])
        parameters = array(
            "q",
            [
                *numbers,
                self._terms_bits,
                0 if out is None else out.__array_interface__["data"][0],
                0 if marks is None else marks.__array_interface__["data"][0],
                memory.address,
                memory.pitch,
                room,
                memory.buffer,
            ],
        )
        found = self._family.functions(group, self._by_rows, self._apart)[name]
        return int(found(parameters.buffer_info()[0]))


class _Totals:
    """Memory for the totals of so many outputs, and for what else a kernel needs."""

    def __init__(self, accumulation: Accumulation, outputs: int) -> None:
        self._accumulation = accumulation
        self.outputs = outputs
        # Not a power of two: parts a page apart would share a place in the cache.
        self.pitch = outputs * accumulation.item + BYTES
        size = accumulation.parts * self.pitch + kernels.BUFFER_BYTES
        self._bytes: Any = np.empty(size + BYTES, np.uint8)
        start = -self._bytes.__array_interface__["data"][0] % BYTES
        self.memory = self._bytes[start : start + size]
        self.address = self.memory.__array_interface__["data"][0]
        self.buffer = self.address + accumulation.parts * self.pitch

    def parts(self, count: int) -> list[Any]:
        """Return the parts of the first `count` totals."""
        return [
            self.memory[k * self.pitch : k * self.pitch + count * dtype.itemsize].view(dtype)
            for k, dtype in enumerate(self._accumulation.dtypes)
        ]
