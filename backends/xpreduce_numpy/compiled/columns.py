"""How kernels walk down columns: a vector holds neighbouring columns of (outer…, A, R, B), see `kernels`."""

from __future__ import annotations

from typing import Any

from xpreduce_numpy.compiled.accumulation import Accumulation
from xpreduce_numpy.compiled.memory import Elements, load_parts, prefetch, store_parts
from xpreduce_numpy.compiled.steps import AHEAD, AT_ONCE, steps
from xpreduce_numpy.compiled.writing import BYTES, Code, Value, function

_ROWS = 16
"""Rows of which columns are added up before they join the totals."""


def columns(module: Any, name: str, acc: Accumulation, elements: Elements) -> Any:
    """Write the function that adds the columns of (A, R, B) to the totals of A lines of B outputs.

    It takes the address, A and its stride, R and its stride, B and its stride, the totals' address, how far
    they lie apart from one line to the next, and their pitch.
    """
    lanes = acc.lanes

    def body(
        code: Code,
        x: Value,
        a: Value,
        across: Value,
        r: Value,
        down: Value,
        b: Value,
        stride: Value,
        totals: Value,
        line: Value,
        pitch: Value,
    ) -> None:
        by = code.integer(elements.step(stride))

        def add(
            tops: list[Value],
            count: Value,
            places: list[Value],
            ahead: Value,
            left: Value | None = None,
            apart: bool = False,
        ) -> None:
            totals = [load_parts(code, acc.kinds, place, pitch) for place in places]
            resume = acc.resume or (lambda code, _: acc.tile(code))
            tiles = [code.variable(resume(code, total)) for total in totals]

            def read(i: Value, k: int, first: bool) -> Value:
                at = tops[k] + i * down
                if first and (apart or k % elements.vectors_in(BYTES) == 0):
                    prefetch(code, at + ahead)
                return elements.read(code, at, stride, left)

            steps(code, acc, tiles, count, read)
            for tile, total, place in zip(tiles, totals, places, strict=True):
                store_parts(code, place, pitch, acc.absorb(code, total, tile.now))

        def several(x: Value, totals: Value, across: Value, line: Value, left: Value | None) -> None:
            """Add one vector of each of several lines, all their rows at a time."""
            with code.loop(0, r, acc.depth) as start:
                count = (r - start).smaller(acc.depth)
                tops = [x + across * k + start * down for k in range(AT_ONCE)]
                places = [totals + line * k for k in range(AT_ONCE)]
                add(tops, count, places, code.integer(AHEAD), left, apart=True)

        def one(x: Value, totals: Value) -> None:
            together = AT_ONCE * lanes
            wide, whole = b // together * together, b // lanes * lanes
            with code.loop(0, r, _ROWS) as start:
                count = (r - start).smaller(_ROWS)
                top = x + start * down
                ahead = code.choose(r - start > _ROWS, down * _ROWS, AHEAD)
                with code.loop(0, wide, together) as j:
                    tops = [top + j * stride + by * k for k in range(AT_ONCE)]
                    places = [totals + j * acc.item + k * BYTES for k in range(AT_ONCE)]
                    add(tops, count, places, ahead)
                with code.loop(wide, whole, lanes) as j:
                    add([top + j * stride], count, [totals + j * acc.item], ahead)
                with code.when(whole < b):
                    place = totals + whole * acc.item
                    add([top + whole * stride], count, [place], ahead, b - whole)

        done = code.variable(code.integer(0))
        with code.when(b <= lanes):
            fours = a // AT_ONCE * AT_ONCE
            with code.either(b.equals(lanes)) as (full, partly):
                with full, code.loop(0, fours, AT_ONCE) as i:
                    several(x + i * across, totals + i * line, across, line, None)
                with partly, code.loop(0, fours, AT_ONCE) as i:
                    several(x + i * across, totals + i * line, across, line, b)
            done.set(fours)
        with code.loop(done.now, a) as i:
            one(x + i * across, totals + i * line)

    return function(module, name, "x a across r down b stride totals line pitch", body)
