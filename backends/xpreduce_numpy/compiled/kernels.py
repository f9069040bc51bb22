"""Whole kernels: the skeletons around one accumulation, for one input dtype, result dtype and operator.

A kernel works on a part of an array that it knows as (outer…, A, R, B): B kept elements next to each other
in memory, R reduced ones, A kept ones, and any number of dimensions outside them, reduced and kept. Where
the innermost dimension is reduced, B is 1. Totals of many outputs are kept in memory part by part, `pitch`
bytes apart. Its argument is
the address of 64-bit integers, in the order of `PARAMETERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from xpreduce_numpy.compiled.accumulation import Accumulation, Decide
from xpreduce_numpy.compiled.columns import columns
from xpreduce_numpy.compiled.memory import (
    Elements,
    is_marked,
    load,
    load_parts,
    mark,
    mark_one,
    size_of,
    store_parts,
    write,
)
from xpreduce_numpy.compiled.rows import rows
from xpreduce_numpy.compiled.steps import AT_ONCE
from xpreduce_numpy.compiled.writing import BYTES, DOUBLE, INT64, Code, Value, Variable, function

PARAMETERS = (
    "x",  # address of the first element
    "kept",  # address of the outer kept dimensions: their sizes, then their strides
    "kept_count",
    "reduced",  # the same of the outer reduced ones
    "reduced_count",
    "a",
    "a_stride",
    "r",
    "r_stride",
    "b",
    "b_stride",
    "terms",  # number of terms of an output, a double
    "out",  # address of the results
    "marks",  # address of a byte for each result, 0, that becomes 1 where it is left open; and 8 more
    "totals",  # address of the totals
    "pitch",  # bytes from one part of a total to the next
    "box",  # outputs that there is room for among the totals
    "buffer",  # address of some more memory, of `BUFFER_BYTES`
)

_NARROW = 64


@dataclass(frozen=True)
class Terms:
    """An accumulation, the elements that it takes, and whether the innermost dimension is reduced."""

    accumulation: Accumulation
    elements: Elements
    by_rows: bool


@dataclass(frozen=True)
class Ending:
    """How totals become results.

    Attributes
    ----------
    result : str
        The results' dtype.
    decide : function
        What makes results of totals.
    again : Terms or None
        What computes the results once more that were left open, one at a time.
    decide_again : function or None
        What makes results of that.
    """

    result: str
    decide: Decide
    again: Terms | None = None
    decide_again: Decide | None = None

    @property
    def size(self) -> int:
        """Bytes of a result."""
        return size_of(self.result)


BUFFER_BYTES = 2**13
"""Size of the memory that kernels need besides the totals."""


def _narrow_pitch(lanes: int) -> int:
    return (_NARROW + 3 * lanes) * (BYTES // lanes)


def _padded(count: Value, lanes: int) -> Value:
    return (count + (lanes - 1)) // lanes * lanes


class _Part:
    """What a kernel is told, by name, as values; some of it narrowed down to a part of the array."""

    def __init__(self, values: dict[str, Value]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Value:
        return self._values[name]

    def but(self, **others: Value) -> _Part:
        """Return the same with other values for some names."""
        return _Part({**self._values, **others})


def _exported(module: Any, name: str, body: Callable[[Code, _Part], Value | None]) -> None:
    def unpacked(code: Code, parameters: Value) -> Value | None:
        values = {}
        for index, parameter in enumerate(PARAMETERS):
            kind = DOUBLE if parameter == "terms" else INT64
            values[parameter] = load(code, kind, parameters + index * 8)
        return body(code, _Part(values))

    function(module, name, "parameters", unpacked).linkage = "external"


class _Writer:
    """Writes the functions that kernels are put together of into a module."""

    def __init__(self, terms: Terms, ending: Ending | None) -> None:
        self.module = ir.Module("xpreduce")
        self._by_rows, self._acc, self._ending = terms.by_rows, terms.accumulation, ending
        self._offset = function(self.module, "offset", "index count dimensions", _offset)
        skeleton = rows if terms.by_rows else columns
        self._add = skeleton(self.module, "add", self._acc, terms.elements)
        self._again = ending.again if ending else None
        if self._again is not None:
            self._add_again = rows(self.module, "again", self._again.accumulation, self._again.elements)

    def results(self, code: Code, part: _Part) -> Value:
        """Write the computation of all results, box by box of outputs; it gives the number left open."""
        assert self._ending is not None
        lanes, size = self._acc.lanes, self._ending.size
        open_ = code.variable(code.integer(0))
        width = part.b if self._by_rows else part.b.smaller(part.box)
        wide = code.integer(1) if self._by_rows else _padded(width, lanes)
        lines = (part.box // wide).larger(1).smaller(part.a)
        with (
            self._outer(code, part.x, part.kept, part.kept_count) as (index, start),
            self._steps(code, part.a, lines) as i,
            self._steps(code, part.b, width) as j,
        ):
            place = (index * part.a + i) * part.b + j
            inner = part.but(
                x=start + i * part.a_stride + j * part.b_stride,
                a=(part.a - i).smaller(lines),
                b=(part.b - j).smaller(width),
                out=part.out + place * size,
                marks=part.marks + place,
            )
            self._clear(code, inner, inner.a * wide)
            self._accumulate(code, inner)
            self._finish(code, inner, part.b, open_)
        return open_.now

    def totals(self, code: Code, part: _Part) -> None:
        """Write the computation of totals; each line of them starts from a full vector."""
        lanes = self._acc.lanes
        line = _padded(part.a, lanes) if self._by_rows else part.a * _padded(part.b, lanes)
        with self._outer(code, part.x, part.kept, part.kept_count) as (index, start):
            inner = part.but(x=start, totals=part.totals + index * line * self._acc.item)
            self._clear(code, inner, line)
            self._accumulate(code, inner)

    def finish(self, code: Code, part: _Part) -> Value:
        """Write the computation of results from totals as `totals` leaves them."""
        assert self._ending is not None
        lanes = self._acc.lanes
        open_ = code.variable(code.integer(0))
        line = _padded(part.a, lanes) if self._by_rows else part.a * _padded(part.b, lanes)
        with self._outer(code, part.x, part.kept, part.kept_count) as (index, start):
            place = index * part.a * part.b
            inner = part.but(
                x=start,
                totals=part.totals + index * line * self._acc.item,
                out=part.out + place * self._ending.size,
                marks=part.marks + place,
            )
            self._finish(code, inner, part.b, open_)
        return open_.now

    def join(self, code: Code, part: _Part) -> None:
        """Write the addition of other totals, which lie at `out`, to the first `a`."""
        with code.loop(0, part.a, self._acc.lanes) as first:
            at = first * self._acc.item
            both = (load_parts(code, self._acc.kinds, x + at, part.pitch) for x in (part.totals, part.out))
            store_parts(code, part.totals + at, part.pitch, self._acc.join(code, *both))

    def _clear(self, code: Code, part: _Part, count: Value) -> None:
        """Make the first `count` totals empty."""
        with code.loop(0, count, self._acc.lanes) as first:
            place = part.totals + first * self._acc.item
            store_parts(code, place, part.pitch, self._acc.total(code))

    @staticmethod
    @contextmanager
    def _steps(code: Code, stop: Value, step: Value) -> Iterator[Value]:
        with code.loop(0, (stop + step - 1) // step) as index:
            yield index * step

    @contextmanager
    def _outer(self, code: Code, x: Value, sizes: Value, count: Value) -> Iterator[tuple[Value, Value]]:
        """Write a loop over some dimensions; gives the number of each of their elements, and its address."""
        with code.loop(0, self._count(code, sizes, count)) as index:
            yield index, x + code.call(self._offset, index, count, sizes)

    @staticmethod
    def _count(code: Code, dimensions: Value, count: Value) -> Value:
        """Return how many elements some dimensions have."""
        product = code.variable(code.integer(1))
        with code.loop(0, count) as i:
            product.set(product.now * load(code, INT64, dimensions + i * 8))
        return product.now

    def _accumulate(self, code: Code, part: _Part) -> None:
        """Add the elements of a box to its totals."""
        with self._outer(code, part.x, part.reduced, part.reduced_count) as (_, x):
            if self._by_rows:
                row = (part.r, part.r_stride, part.totals, part.pitch)
                code.call(self._add, x, part.a, part.a_stride, *row)
            else:
                self._add_columns(code, part.but(x=x))

    def _add_columns(self, code: Code, part: _Part) -> None:
        """Add columns; of narrow ones several rows together, where these are neighbours and few lines."""
        acc, own = self._acc, _narrow_pitch(self._acc.lanes)
        b, down = part.b, part.r_stride
        line = _padded(b, acc.lanes) * acc.item
        beside = down.equals(b * part.b_stride) & (b < _NARROW // 2)
        beside = beside & (b.differs(acc.lanes) | (part.a < AT_ONCE))
        together = code.choose(beside, code.integer(_NARROW) // b, 1)
        together = code.choose(part.r < together * 4, 1, together)
        whole = part.r // together
        with code.when(together > 1), code.loop(0, part.a) as i:
            with code.loop(0, _NARROW + 2 * acc.lanes, acc.lanes) as k:
                store_parts(code, part.buffer + k * acc.item, own, acc.total(code))
            rows = (whole, down * together, b * together, part.b_stride)
            code.call(self._add, part.x + i * part.a_stride, 1, 0, *rows, part.buffer, 0, own)
            with code.loop(0, together) as k, code.loop(0, b, acc.lanes) as j:
                other = load_parts(code, acc.kinds, part.buffer + (k * b + j) * acc.item, own)
                place = part.totals + i * line + j * acc.item
                total = load_parts(code, acc.kinds, place, part.pitch)
                store_parts(code, place, part.pitch, acc.join(code, total, other))
        done = code.choose(together > 1, whole * together, 0)
        rest = (part.r - done, down, b, part.b_stride)
        lines = (part.a, part.a_stride)
        code.call(self._add, part.x + done * down, *lines, *rest, part.totals, line, part.pitch)

    def _finish(self, code: Code, part: _Part, line: Value, open_: Variable[Value]) -> None:
        """Write the results of a box; `line` is how many results lie between one of A and the next."""
        ending, acc = self._ending, self._acc
        assert ending is not None
        width, step = (part.a, part.a_stride) if self._by_rows else (part.b, part.b_stride)
        with code.loop(0, 1 if self._by_rows else part.a) as i:
            totals = part.totals + i * _padded(width, acc.lanes) * acc.item
            out, marks = part.out + i * line * ending.size, part.marks + i * line
            found = code.variable(code.integer(0))
            with code.loop(0, width, acc.lanes) as first:
                count = (width - first).smaller(acc.lanes)
                total = load_parts(code, acc.kinds, totals + first * acc.item, part.pitch)
                value, mask = ending.decide(code, total, part.terms)
                write(code, ending.result, out + first * ending.size, count, value)
                with code.when(code.any_of(mask)):
                    found.set(found.now + mark(code, marks + first, count, mask))
            if self._again is not None:
                with code.when(found.now > 0):
                    x = part.x + i * part.a_stride
                    found.set(self._repaired(code, part.but(x=x, out=out, marks=marks), width, step))
            open_.set(open_.now + found.now)

    def _repaired(self, code: Code, part: _Part, width: Value, step: Value) -> Value:
        """Compute the open results of a line again; gives how many stay open."""
        ending, again = self._ending, self._again
        assert ending is not None
        assert again is not None
        assert ending.decide_again is not None
        acc, left = again.accumulation, code.variable(code.integer(0))
        # Marks are looked at eight at a time, since few are set.
        with (
            code.loop(0, width, 8) as first,
            code.when(load(code, INT64, part.marks + first).differs(0)),
            code.loop(first, (first + 8).smaller(width)) as i,
            code.when(is_marked(code, part.marks + i)),
        ):
            store_parts(code, part.buffer, BYTES, acc.total(code))
            with self._outer(code, part.x + i * step, part.reduced, part.reduced_count) as (_, x):
                code.call(self._add_again, x, 1, 0, part.r, part.r_stride, part.buffer, BYTES)
            total = load_parts(code, acc.kinds, part.buffer, BYTES)
            value, mask = ending.decide_again(code, total, part.terms)
            write(code, ending.result, part.out + i * ending.size, None, value)
            left.set(left.now + mark_one(code, part.marks + i, mask))
        return left.now


def _offset(code: Code, index: Value, count: Value, dimensions: Value) -> Value:
    """Return how many bytes an element of some dimensions lies from their first."""
    total, left = code.variable(code.integer(0)), code.variable(index)
    with code.loop(0, count) as i:
        place = dimensions + (count - 1 - i) * 8
        size, stride = load(code, INT64, place), load(code, INT64, place + count * 8)
        total.set(total.now + left.now % size * stride)
        left.set(left.now // size)
    return total.now


def module(names: tuple[str, ...], terms: Terms, ending: Ending | None) -> str:
    """Return the module, as LLVM reads it, with the kernels of these names: methods of `_Writer`."""
    writer = _Writer(terms, ending)
    for name in names:
        _exported(writer.module, name, getattr(writer, name))
    return str(writer.module)
