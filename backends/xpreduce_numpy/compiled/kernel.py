"""Reductions of one array by compiled kernels, shared out among threads.

How an array is cut into tasks depends on its layout alone, and what tasks found is put together in one
order: so results do not depend on the number of threads.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from array import array
from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from xpreduce.algebra import algebra_of
from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State
from xpreduce.threads import get_num_threads
from xpreduce.tiles import Box, box_size
from xpreduce_numpy import careful
from xpreduce_numpy.compiled import kernels, pool
from xpreduce_numpy.compiled.accumulation import Accumulation
from xpreduce_numpy.compiled.family import Family, Summation
from xpreduce_numpy.compiled.geometry import Geometry, geometry_of
from xpreduce_numpy.compiled.machine import HELD
from xpreduce_numpy.compiled.writing import BYTES
from xpreduce_numpy.walk import Walk

_BOX = 2**10
"""Outputs whose totals are held at once: they stay near."""

_WIDE_BOX = 2**13
"""The same of columns with more than a few terms, of which long parts of lines are read then."""

_FEW = 2**4

_BLOCK = 2**16

_SHORT = 2**16
"""Elements up to which a kernel is done sooner than Python's lock is had back from other threads."""

_slow = threading.Lock()
"""Held where NumPy works with many temporary arrays, so that only one thread has them."""


class Summed:
    """Totals of one array."""

    def __init__(self, x: Any, reduction: Reduction, summation: Summation) -> None:
        self._x, self._reduction, self._summation = x, reduction, summation
        self._address = x.ctypes.data
        self._geometry = geometry_of(x.shape, x.strides, x.dtype.itemsize, reduction.plan)
        (self._terms_bits,) = struct.unpack("q", struct.pack("d", self._geometry.terms))

    def totals(self, box: Box, piece: Box | None, group: str, accumulation: Accumulation) -> Totals:
        """Return the totals of a piece of a box, or of the whole."""
        lines, _, padded = self._geometry.lines(box, accumulation.lanes)
        totals = Totals(accumulation, lines * padded)
        self._call(group, "totals", box, piece, totals)
        return totals

    def join(self, box: Box, group: str, totals: Totals, other: Totals) -> None:
        """Add other totals of a box to `totals`."""
        # The kernel looks for them where results would be.
        self._call(group, "join", box, None, totals, other.memory)

    def _call(
        self,
        group: str,
        name: str,
        box: Box,
        piece: Box | None,
        memory: Totals,
        out: Any = None,
        marks: bytearray | None = None,
        room: int = 0,
    ) -> int:
        """Run a kernel of a module on a part of the array."""
        geometry = self._geometry
        if name == "join":
            numbers, held = [0] * 5 + [memory.outputs] + [0] * 5, None
        else:
            numbers, held = geometry.parameters(self._address, box, piece)
        numbers += (
            self._terms_bits,
            0 if out is None else out.ctypes.data,
            0 if marks is None else ctypes.addressof(ctypes.c_char.from_buffer(marks)),
            memory.address,
            memory.pitch,
            room,
            memory.buffer,
        )
        parameters = array("q", numbers)
        name += HELD if self._x.size < _SHORT else ""
        function = self._summation.functions(group, geometry.by_rows, geometry.apart)[name]
        found = int(function(parameters.buffer_info()[0]))
        del held  # the kernel read it
        return found


class Compiled(Summed):
    """Results and states of one array."""

    def __init__(self, x: Any, reduction: Reduction, family: Family) -> None:
        super().__init__(x, reduction, family)
        self._family = family

    @property
    def walk(self) -> Walk:
        """The same array in blocks, for what kernels leave open."""
        return Walk(self._x, self._reduction.plan, _BLOCK)

    @property
    def kernel(self) -> str:
        """What runs, in words."""
        along = "along rows" if self._geometry.by_rows else "down columns"
        return f"compiled, {along}: {self._family.words}"

    def reduce(self) -> Any:
        """Return the results."""
        geometry = self._geometry
        out: Any = np.empty(geometry.kept, in_namespace(np, self._reduction.result.name)).reshape(-1)
        start, tasks = 0, []
        boxes = geometry.boxes if self._family.finishes else geometry.state_boxes
        for box, pieces in boxes:
            stop = start + box_size(box)
            tasks.append(partial(self._results, box, pieces, out[start:stop]))
            start = stop
        # Boxes in threads, or the pieces of each.
        pool.run(tasks, get_num_threads() if boxes[0][1] is None else 1)
        return geometry.places[self._reduction.plan.keepdims].of(out)

    def partial(self) -> State:
        """Return the state, with every reduced dimension at length 1."""
        geometry = self._geometry
        if len(geometry.state_boxes) == 1:
            return whole([self._state(*geometry.state_boxes[0])], geometry)
        tasks = [partial(self._state, box, pieces) for box, pieces in geometry.state_boxes]
        states = pool.run(tasks, get_num_threads() if geometry.state_boxes[0][1] is None else 1)
        return whole(states, geometry)

    def _results(self, box: Box, pieces: list[Box] | None, out: Any) -> None:
        """Compute the results of a box into `out`, which is flat."""
        if not self._family.finishes:
            with _slow:
                out[...] = algebra_of(self._reduction).finish(np, self._state(box, pieces))
            return
        accumulation = self._family.accumulation
        if pieces is not None:
            self.finish(box, self._totals(box, pieces, "pieces", accumulation), out, "pieces")
            return
        near = self._geometry.by_rows or self._geometry.terms <= _FEW
        room = min(_BOX if near else _WIDE_BOX, -(-out.size // accumulation.lanes) * accumulation.lanes)
        memory = _kept_totals(accumulation, room + accumulation.lanes)
        marks = bytearray(out.size + 8)
        self._mend(box, out, marks, self._call("results", "results", box, None, memory, out, marks, room))

    def finish(self, box: Box, totals: Totals, out: Any, group: str = "finish") -> None:
        """Make results of the totals of a box, in `out`, which is flat."""
        if not self._family.finishes:
            with _slow:
                out[...] = algebra_of(self._reduction).finish(np, self.state(box, totals))
            return
        marks = bytearray(out.size + 8)
        self._mend(box, out, marks, self._call(group, "finish", box, None, totals, out, marks))

    def _mend(self, box: Box, out: Any, marks: bytearray, left: int) -> None:
        """Compute the results again that kernels left open."""
        if left:
            open_: Any = np.frombuffer(marks, np.bool_, out.size)
            with _slow:
                out[...] = careful.mended(out, self.walk, self._reduction, box, open_)

    def _state(self, box: Box, pieces: list[Box] | None) -> State:
        """Return the state of a box, flat."""
        return self.state(box, self._totals(box, pieces, "states", self._family.state_accumulation))

    def state(self, box: Box, totals: Totals) -> State:
        """Return the totals of a box as its state, flat."""
        lines, width, padded = self._geometry.lines(box, totals.lanes)
        parts = totals.parts(lines * padded)
        if width != padded:
            parts = [part.reshape(lines, padded)[:, :width].reshape(-1) for part in parts]
        state, wrong = self._family.state(parts, self._geometry.terms)
        if wrong is not None and wrong.any():
            chosen = np.flatnonzero(wrong)
            with _slow:
                right = careful.state(self.walk, self._reduction, box, chosen)
            for part, better in zip(state, right, strict=True):
                if part.ndim:
                    part[chosen] = better
        return state

    def _totals(self, box: Box, pieces: list[Box] | None, group: str, accumulation: Accumulation) -> Totals:
        """Return the totals of a box, piece by piece in threads and then put together in order."""
        first: Totals
        if pieces is None:
            return self.totals(box, None, group, accumulation)
        parts: list[Box | None] = list(pieces)
        tasks = [partial(self.totals, box, part, group, accumulation) for part in parts]
        first, *others = pool.run(tasks, get_num_threads())
        for other in others:
            self.join(box, group, first, other)
        return first


def whole(states: Sequence[State], geometry: Geometry) -> State:
    """Return the state of an array of the flat states of its boxes."""
    place = geometry.places[True].of
    if len(states) == 1:
        return tuple(place(part) if part.ndim else part for part in states[0])
    return tuple(
        place(np.concatenate(parts)) if parts[0].ndim else parts[0] for parts in zip(*states, strict=True)
    )


_kept = threading.local()


def _kept_totals(accumulation: Accumulation, outputs: int) -> Totals:
    """Return a thread's memory for totals that nobody needs once the kernel returns."""
    key = accumulation.parts, accumulation.item, outputs
    if getattr(_kept, "key", None) != key:
        _kept.totals, _kept.key = Totals(accumulation, outputs), key
    found: Totals = _kept.totals
    return found


class Totals:
    """Memory for the totals of so many outputs, and for what else a kernel needs."""

    def __init__(self, accumulation: Accumulation, outputs: int) -> None:
        self._dtypes, self.lanes = accumulation.dtypes, accumulation.lanes
        self.outputs = outputs
        # Not a power of two: parts a page apart would share a place in the cache.
        self.pitch = outputs * accumulation.item + BYTES
        size = accumulation.parts * self.pitch + kernels.BUFFER_BYTES
        whole: Any = np.empty(size + BYTES, np.uint8)
        address = whole.__array_interface__["data"][0]
        start = -address % BYTES
        self.memory = whole[start : start + size]
        self.address = address + start
        self.buffer = self.address + accumulation.parts * self.pitch

    def of(self, first: int, accumulation: Accumulation) -> Totals:
        """Return those parts of the totals that belong to one of several accumulations."""
        part = copy(self)
        part._dtypes = accumulation.dtypes
        part.memory = self.memory[first * self.pitch :]
        part.address = self.address + first * self.pitch
        return part

    def parts(self, count: int) -> list[Any]:
        """Return the parts of the first `count` totals."""
        return [
            self.memory[k * self.pitch : k * self.pitch + count * dtype.itemsize].view(dtype)
            for k, dtype in enumerate(self._dtypes)
        ]
