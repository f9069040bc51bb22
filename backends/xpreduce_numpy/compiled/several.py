"""Several reductions of one array by one kernel: an accumulation that is made of others, side by side.

Reductions of the same terms, such as a norm and a sum of squares, share their totals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State
from xpreduce.threads import get_num_threads
from xpreduce.tiles import Box, box_size
from xpreduce_numpy.compiled import pool
from xpreduce_numpy.compiled.accumulation import Accumulation, Vectors
from xpreduce_numpy.compiled.family import Family, Summation
from xpreduce_numpy.compiled.geometry import geometry_of
from xpreduce_numpy.compiled.kernel import Compiled, Summed, Totals, whole
from xpreduce_numpy.compiled.kernels import Terms
from xpreduce_numpy.compiled.memory import Elements
from xpreduce_numpy.compiled.writing import Code, Value

_PARTS = 8
"""The most parts of the totals that one kernel makes: more would leave the registers."""

Group = Sequence[Family]


@dataclass(frozen=True)
class _Elements(Elements):
    """Elements as each of several accumulations takes them, read once."""

    members: tuple[Elements, ...] = ()

    def converted(self, code: Code, value: Value, count: Value | None) -> Any:
        """Return a vector for each member."""
        return tuple(member.converted(code, value, count) for member in self.members)


def _beside(members: Sequence[Accumulation]) -> Accumulation:
    """Return the accumulation that does what all of `members` do; its vectors are theirs, in order."""

    def tile(code: Code) -> Vectors:
        return tuple(vector for member in members for vector in member.tile(code))

    def total(code: Code) -> Vectors:
        return tuple(vector for member in members for vector in member.total(code))

    def cut(code: Code, vectors: Vectors, tiles: bool) -> list[Vectors]:
        found, start = [], 0
        for member in members:
            stop = start + (len(member.tile(code)) if tiles else member.parts)
            found.append(vectors[start:stop])
            start = stop
        return found

    def step(code: Code, a: Vectors, x: Any) -> Vectors:
        parts = zip(members, cut(code, a, True), x, strict=True)
        return tuple(vector for member, part, value in parts for vector in member.step(code, part, value))

    def merge(code: Code, a: Vectors, b: Vectors) -> Vectors:
        parts = zip(members, cut(code, a, True), cut(code, b, True), strict=True)
        return tuple(vector for member, *both in parts for vector in member.merge(code, *both))

    def absorb(code: Code, a: Vectors, b: Vectors) -> Vectors:
        parts = zip(members, cut(code, a, False), cut(code, b, True), strict=True)
        return tuple(vector for member, *both in parts for vector in member.absorb(code, *both))

    def join(code: Code, a: Vectors, b: Vectors) -> Vectors:
        parts = zip(members, cut(code, a, False), cut(code, b, False), strict=True)
        return tuple(vector for member, *both in parts for vector in member.join(code, *both))

    kinds = tuple(kind for member in members for kind in member.kinds)
    return Accumulation(tile, step, merge, total, absorb, join, kinds, min(m.depth for m in members))


class _Several(Summation):
    """The families of one kernel; it makes no results, its members do."""

    def __init__(self, members: Group) -> None:
        self._members = members
        self.shared = ("Several", *(member.shared for member in members))

    def _of(self, terms: list[Terms]) -> Terms:
        if len(terms) == 1:
            return terms[0]
        first, *_ = every = tuple(each.elements for each in terms)
        elements = _Elements(first.dtype, first.kind, first.convert, first.neutral, first.apart, every)
        return Terms(_beside([each.accumulation for each in terms]), elements, terms[0].by_rows)

    def terms(self, by_rows: bool, apart: bool) -> Terms:
        """Return what makes totals for results."""
        return self._of([member.terms(by_rows, apart) for member in self._members])

    def state_terms(self, by_rows: bool, apart: bool) -> Terms:
        """Return what makes totals for states."""
        return self._of([member.state_terms(by_rows, apart) for member in self._members])


@lru_cache(maxsize=256)
def _groups(families: tuple[Family, ...]) -> list[tuple[_Several, list[Family]]]:
    """Return the kernels that serve these families, each with the families whose totals it makes."""
    alone: dict[tuple[Any, ...], Family] = {}
    together: dict[tuple[Any, ...], Family] = {}
    for family in families:
        beside = family.beside
        (alone if beside is None else together).setdefault((beside or family).shared, beside or family)
    groups: list[list[Family]] = []
    for family in together.values():
        parts = sum(member.state_accumulation.parts for member in groups[-1]) if groups else _PARTS
        if parts + family.state_accumulation.parts > _PARTS:
            groups.append([])
        groups[-1].append(family)
    groups += [[family] for family in alone.values()]
    return [(_Several(group), group) for group in groups]


class Together:
    """Results and states of one array by several reductions that read it together."""

    def __init__(self, x: Any, reductions: Sequence[Reduction], families: Sequence[Family]) -> None:
        self.reductions = reductions
        self._geometry = geometry_of(x.shape, x.strides, x.dtype.itemsize, reductions[0].plan)
        self._groups = _groups(tuple(families))
        self._works = [Summed(x, reductions[0], kernel) for kernel, _ in self._groups]
        self._members = [
            (Compiled(x, reduction, family), family.shared)
            for reduction, family in zip(reductions, (each.beside or each for each in families), strict=True)
        ]

    @property
    def kernels(self) -> list[int]:
        """How many kinds of totals each kernel makes."""
        return [len(members) for _, members in self._groups]

    def reduce(self) -> list[Any]:
        """Return the results of each reduction."""
        geometry = self._geometry
        outs: list[Any] = [
            np.empty(geometry.kept, in_namespace(np, reduction.result.name)).reshape(-1)
            for reduction in self.reductions
        ]
        start, tasks = 0, []
        for box, pieces in geometry.state_boxes:
            stop = start + box_size(box)
            tasks.append(partial(self._results, box, pieces, [out[start:stop] for out in outs]))
            start = stop
        self._run(tasks)
        places = geometry.places[self.reductions[0].plan.keepdims]
        return [places.of(out) for out in outs]

    def partial(self) -> list[State]:
        """Return the state of each reduction."""
        tasks = [partial(self._states, box, pieces) for box, pieces in self._geometry.state_boxes]
        return [whole(states, self._geometry) for states in zip(*self._run(tasks), strict=True)]

    def _run(self, tasks: Sequence[Any]) -> list[Any]:
        # Boxes in threads, or the pieces of each.
        whole = self._geometry.state_boxes[0][1] is None
        return pool.run(tasks, get_num_threads() if whole else 1)

    def _results(self, box: Box, pieces: list[Box] | None, outs: list[Any]) -> None:
        totals = self._totals(box, pieces, "totals")
        for (work, key), out in zip(self._members, outs, strict=True):
            work.finish(box, totals[key], out)

    def _states(self, box: Box, pieces: list[Box] | None) -> list[State]:
        totals = self._totals(box, pieces, "states")
        return [work.state(box, totals[key]) for work, key in self._members]

    def _totals(self, box: Box, pieces: list[Box] | None, module: str) -> dict[tuple[Any, ...], Totals]:
        """Return the totals of a box, each under the key of the families that share it."""
        states = module == "states"

        def of(piece: Box | None) -> list[Totals]:
            return [
                work.totals(box, piece, module, kernel.state_accumulation if states else kernel.accumulation)
                for work, (kernel, _) in zip(self._works, self._groups, strict=True)
            ]

        every: list[Box | None] = [None] if pieces is None else list(pieces)
        first, *others = pool.run([partial(of, piece) for piece in every], get_num_threads())
        for other in others:
            for work, a, b in zip(self._works, first, other, strict=True):
                work.join(box, module, a, b)
        found = {}
        for totals, (_, members) in zip(first, self._groups, strict=True):
            start = 0
            for member in members:
                accumulation = member.state_accumulation if states else member.accumulation
                found[member.shared] = totals.of(start, accumulation)
                start += accumulation.parts
        return found
