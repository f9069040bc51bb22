"""How tiles take vectors one after another, with memory asked for ahead, and a look ahead if need be."""

from __future__ import annotations

from collections.abc import Callable

from xpreduce_numpy.compiled.accumulation import Accumulation, Vectors
from xpreduce_numpy.compiled.writing import Code, Value, Variable

AT_ONCE = 4
"""Vectors that are worked on side by side, so that none waits for the one before."""

AHEAD = 2**12
"""Bytes that memory is asked for ahead of what is read; processors themselves stop at the end of a page."""

_LOOK = 2**5
"""Vectors that are looked at for the largest elements before they are taken, so that they stay near."""

Read = Callable[[Value, int, bool], Value]
"""A function of (number of a vector, number of a tile, whether to prefetch) that gives a vector."""


def steps(
    code: Code, acc: Accumulation, tiles: list[Variable[Vectors]], count: Value, read: Read, lines: int = 1
) -> None:
    """Write the steps of all tiles through `count` vectors each, of which a cache line holds `lines`."""

    def passes(do: Callable[[int, Value], None], start: Value, stop: Value, ahead: bool) -> None:
        whole = stop if lines == 1 else start + (stop - start) // lines * lines
        with code.loop(start, whole, lines) as first:
            for i in range(lines):
                for k in range(len(tiles)):
                    do(k, read(first + i, k, ahead and i == 0))
        if lines > 1:
            with code.loop(whole, stop) as left:
                for k in range(len(tiles)):
                    do(k, read(left, k, False))

    def step(k: int, x: Value) -> None:
        tiles[k].set(acc.step(code, tiles[k].now, x))

    if acc.ready is None:
        passes(step, code.integer(0), count, True)
        return
    with code.loop(0, count, _LOOK) as start:
        stop = (start + _LOOK).smaller(count)
        seen = [code.variable(tile.now[0].all(float("-inf"))) for tile in tiles]

        def look(k: int, x: Value) -> None:
            seen[k].set((x > seen[k].now).where(x, seen[k].now))

        passes(look, start, stop, True)
        for tile, most in zip(tiles, seen, strict=True):
            tile.set(acc.ready(code, tile.now, most.now))
        passes(step, start, stop, False)


def step_all(code: Code, acc: Accumulation, tile: Variable[Vectors], vectors: list[Value]) -> None:
    """Write the steps of one tile through some vectors."""
    if acc.ready is not None:
        most = vectors[0].all(float("-inf"))
        for vector in vectors:
            most = (vector > most).where(vector, most)
        tile.set(acc.ready(code, tile.now, most))
    for vector in vectors:
        tile.set(acc.step(code, tile.now, vector))
