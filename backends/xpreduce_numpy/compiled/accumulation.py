"""What a kernel does with elements: an accumulation, as a handful of small functions.

A *tile* is what a few registers gather of at most `depth` vectors of elements; a *total* is what is kept
of any number of tiles, and what a state is made of. Both are tuples of vectors. The skeletons know how
elements lie in memory, and nothing of what becomes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from xpreduce_numpy.compiled.writing import BYTES, DOUBLE, Code, Value

Vectors = tuple[Value, ...]

Decide = Callable[[Code, Vectors, Value], Vectors]
"""A function of (total, number of terms) that gives the results, and the mask of the open ones."""


@dataclass(frozen=True)
class Accumulation:
    """The functions of one kind of terms; each takes the code that is being written first.

    Attributes
    ----------
    tile : function of ()
        The empty tile.
    step : function of (tile, vector)
        The tile with a vector of elements more.
    merge : function of (tile, tile)
        The tile of the elements of both.
    total : function of ()
        The empty total.
    absorb : function of (total, tile)
        The total with the elements of a tile.
    join : function of (total, total)
        The total of the elements of both.
    kinds : tuple of LLVM types
        The types of a total's vectors.
    depth : int
        The most vectors that may go into a tile, one after another.
    resume : function of (total) or None
        The empty tile that goes on after a total, if it is not the empty tile.
    ready : function of (tile, vector) or None
        The tile made ready for elements up to these largest ones, if steps depend on that.
    across : int
        The longest rows of which it is cheaper to turn vectors than to merge tiles, lane by lane.
    """

    tile: Callable[[Code], Vectors]
    step: Callable[[Code, Vectors, Value], Vectors]
    merge: Callable[[Code, Vectors, Vectors], Vectors]
    total: Callable[[Code], Vectors]
    absorb: Callable[[Code, Vectors, Vectors], Vectors]
    join: Callable[[Code, Vectors, Vectors], Vectors]
    kinds: tuple[Any, ...]
    depth: int
    resume: Callable[[Code, Vectors], Vectors] | None = None
    ready: Callable[[Code, Vectors, Value], Vectors] | None = None
    across: int = 0

    @property
    def parts(self) -> int:
        """Number of vectors in a total."""
        return len(self.kinds)

    @property
    def lanes(self) -> int:
        """Elements in a vector."""
        return int(self.kinds[0].count)

    @property
    def item(self) -> int:
        """Bytes of an element of a total."""
        return BYTES // self.lanes

    @cached_property
    def dtypes(self) -> list[Any]:
        """NumPy's dtypes of the elements of each part."""
        return [np.dtype(np.float64 if kind.element == DOUBLE else f"i{self.item}") for kind in self.kinds]

    def crossed(self, code: Code, a: Vectors, b: Vectors, step: int) -> Vectors:
        """Merge the lanes of two tiles, blocks of `step` lanes of each with the blocks next to them.

        That again with twice the step, until one tile is left, ends with a lane for each tile that went in.
        """
        evens, odds = (
            tuple(x.blocks(y, step, odd) for x, y in zip(a, b, strict=True)) for odd in (False, True)
        )
        return self.merge(code, evens, odds)
