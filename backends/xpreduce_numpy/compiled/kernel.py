"""Reductions of one array by compiled kernels, shared out among threads.

How an array is cut into tasks depends on its layout alone, and what tasks found is put together in one
order: so results do not depend on the number of threads.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from array import array
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
from xpreduce_numpy.compiled.families import Family
from xpreduce_numpy.compiled.geometry import geometry_of
from xpreduce_numpy.compiled.writing import BYTES
from xpreduce_numpy.walk import Walk

_BOX = 2**10
"""Outputs whose totals are held at once: they stay near."""

_WIDE_BOX = 2**13
"""The same of columns with more than a few terms, of which long parts of lines are read then."""

_FEW = 2**4

_BLOCK = 2**16

_slow = threading.Lock()
"""Held where NumPy works with many temporary arrays, so that only one thread has them."""


class Compiled:
    """Results and states of one array."""

    def __init__(self, x: Any, reduction: Reduction, family: Family) -> None:
        self._x, self._reduction, self._family = x, reduction, family
        self._address = x.ctypes.data
        self._geometry = geometry_of(x.shape, x.strides, x.dtype.itemsize, reduction.plan)
        (self._terms_bits,) = struct.unpack("q", struct.pack("d", self._geometry.terms))

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
        tasks = [partial(self._state, box, pieces) for box, pieces in geometry.state_boxes]
        states = pool.run(tasks, get_num_threads() if geometry.state_boxes[0][1] is None else 1)
        return tuple(
            geometry.places[True].of(np.concatenate(parts)) if parts[0].ndim else parts[0]
            for parts in zip(*states, strict=True)
        )

    def _results(self, box: Box, pieces: list[Box] | None, out: Any) -> None:
        """Compute the results of a box into `out`, which is flat."""
        if not self._family.finishes:
            state = self._state(box, pieces)
            with _slow:
                out[...] = algebra_of(self._reduction).finish(np, state)
            return
        accumulation = self._family.accumulation
        marks = bytearray(out.size + 8)
        if pieces is None:
            near = self._geometry.by_rows or self._geometry.terms <= _FEW
            room = min(_BOX if near else _WIDE_BOX, -(-out.size // accumulation.lanes) * accumulation.lanes)
            memory = _kept_totals(accumulation, room + accumulation.lanes)
            left = self._call("results", "results", box, None, memory, out, marks, room)
        else:
            memory = self._totals(box, pieces, "pieces", accumulation)
            left = self._call("pieces", "finish", box, None, memory, out, marks)
        if left:
            open_: Any = np.frombuffer(marks, np.bool_, out.size)
            with _slow:
                out[...] = careful.mended(out, self.walk, self._reduction, box, open_)

    def _state(self, box: Box, pieces: list[Box] | None) -> State:
        """Return the state of a box, flat."""
        accumulation = self._family.state_accumulation
        memory = self._totals(box, pieces, "states", accumulation)
        lines, width, padded = self._geometry.lines(box, accumulation.lanes)
        parts = [part.reshape(lines, padded)[:, :width].reshape(-1) for part in memory.parts(lines * padded)]
        state, wrong = self._family.state(parts, self._geometry.terms)
        if wrong is not None and wrong.any():
            chosen = np.flatnonzero(wrong)
            with _slow:
                right = careful.state(self.walk, self._reduction, box, chosen)
            for part, better in zip(state, right, strict=True):
                if part.ndim:
                    part[chosen] = better
        return state

    def _totals(self, box: Box, pieces: list[Box] | None, group: str, accumulation: Accumulation) -> _Totals:
        """Return the totals of a box, piece by piece in threads and then put together in order."""
        lines, _, padded = self._geometry.lines(box, accumulation.lanes)

        def of(piece: Box | None) -> _Totals:
            memory = _Totals(accumulation, lines * padded)
            self._call(group, "totals", box, piece, memory)
            return memory

        parts: list[Box | None] = [None] if pieces is None else list(pieces)
        first: _Totals
        first, *others = pool.run([partial(of, part) for part in parts], get_num_threads())
        for other in others:
            # The kernel looks for them where results would be.
            self._call(group, "join", box, None, first, other.memory)
        return first

    def _call(
        self,
        group: str,
        name: str,
        box: Box,
        piece: Box | None,
        memory: _Totals,
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
        function = self._family.functions(group, geometry.by_rows, geometry.apart)[name]
        found = int(function(parameters.buffer_info()[0]))
        del held  # the kernel read it
        return found


_kept = threading.local()


def _kept_totals(accumulation: Accumulation, outputs: int) -> _Totals:
    """Return a thread's memory for totals that nobody needs once the kernel returns."""
    key = accumulation.parts, accumulation.item, outputs
    if getattr(_kept, "key", None) != key:
        _kept.totals, _kept.key = _Totals(accumulation, outputs), key
    found: _Totals = _kept.totals
    return found


class _Totals:
    """Memory for the totals of so many outputs, and for what else a kernel needs."""

    def __init__(self, accumulation: Accumulation, outputs: int) -> None:
        self._accumulation = accumulation
        self.outputs = outputs
        # Not a power of two: parts a page apart would share a place in the cache.
        self.pitch = outputs * accumulation.item + BYTES
        size = accumulation.parts * self.pitch + kernels.BUFFER_BYTES
        self._bytes: Any = np.empty(size + BYTES, np.uint8)
        start = -self._bytes.ctypes.data % BYTES
        self.memory = self._bytes[start : start + size]
        self.address = self.memory.ctypes.data
        self.buffer = self.address + accumulation.parts * self.pitch

    def parts(self, count: int) -> list[Any]:
        """Return the parts of the first `count` totals."""
        return [
            self.memory[k * self.pitch : k * self.pitch + count * dtype.itemsize].view(dtype)
            for k, dtype in enumerate(self._accumulation.dtypes)
        ]
