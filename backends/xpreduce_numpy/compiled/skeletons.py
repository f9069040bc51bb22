"""How kernels walk through memory: along rows, and down columns.

A kernel sees an array as (outer…, A, R, B): B kept elements next to each other in memory, R reduced
ones, A kept ones, and any number of dimensions outside them, reduced and kept. Where the innermost
dimension is reduced, B is 1 and the elements of a *row* fill a vector's lanes; otherwise a vector holds
neighbouring *columns*. Totals of many outputs are kept in memory part by part, `pitch` bytes apart.
"""

from __future__ import annotations

from typing import Any

from xpreduce_numpy.compiled.accumulation import Accumulation, Vectors
from xpreduce_numpy.compiled.memory import Elements, load_parts, prefetch, store_parts
from xpreduce_numpy.compiled.writing import BYTES, INT64, Code, Value, function

_AT_ONCE = 4
"""Vectors that are worked on side by side, so that none waits for the one before."""

_SHORT = 8
"""Vectors in a row up to which the rows of as many outputs as there are lanes are read together."""

_AHEAD = 2**12
"""Bytes that memory is asked for ahead of what is read; processors themselves stop at the end of a page."""

_FAR = 2**13
"""Bytes of a row from which several are read at a time: as streams in pages of their own."""

_ROWS = 16
"""Rows of which columns are added up before they join the totals."""


def rows(module: Any, name: str, acc: Accumulation, elements: Elements) -> Any:
    """Write the function that adds the rows of (A, R) to the totals of A outputs.

    It takes the address, A and its stride, R and its stride, the totals' address and pitch.
    """
    lanes = acc.lanes

    def body(
        code: Code, x: Value, a: Value, across: Value, r: Value, stride: Value, totals: Value, pitch: Value
    ) -> None:
        buffer = code.room(acc.kinds[0], lanes * acc.parts)
        buffer = Value(code.builder, code.builder.ptrtoint(buffer, INT64))
        tile_kinds = [part.ir.type for part in acc.tile(code)]

        def absorb(place: Value, tile: Vectors) -> None:
            total = load_parts(code, acc.kinds, place, pitch)
            store_parts(code, place, pitch, acc.absorb(code, total, tile))

        def load_tiles() -> list[Vectors]:
            places = [buffer + i * (acc.parts * BYTES) for i in range(lanes)]
            return [load_parts(code, tile_kinds, at, BYTES) for at in places]

        def keep(i: Value | int, tile: Vectors) -> None:
            store_parts(code, buffer + code.integer(i) * (acc.parts * BYTES), BYTES, tile)

        with code.loop(0, a, lanes) as first:
            place, top, count = totals + first * acc.item, x + first * across, a - first
            with code.either(count >= lanes) as (whole, some):
                with whole, code.either(r <= _SHORT * lanes) as (short, long):
                    with short:
                        starts = [top + across * i for i in range(lanes)]
                        tiles = _together(code, acc, elements, starts, r, stride)
                        absorb(place, _folded(code, acc, tiles))
                    with long, code.loop(0, r, acc.depth * lanes) as start:
                        length = (r - start).smaller(acc.depth * lanes)
                        far = length * elements.size >= _FAR
                        with code.either(far) as (apart, near):
                            with apart, code.loop(0, lanes, _AT_ONCE) as i:
                                starts = [top + across * (i + k) + start * stride for k in range(_AT_ONCE)]
                                tiles = _together(code, acc, elements, starts, length, stride)
                                for k, tile in enumerate(tiles):
                                    keep(i + k, tile)
                            with near, code.loop(0, lanes) as i:
                                at = top + across * i + start * stride
                                keep(i, _along(code, acc, elements, at, length, stride))
                        absorb(place, _folded(code, acc, load_tiles()))
                with some, code.loop(0, r, acc.depth * _AT_ONCE * lanes) as start:
                    length = (r - start).smaller(acc.depth * _AT_ONCE * lanes)
                    with code.loop(0, lanes) as i:
                        keep(i, acc.tile(code))
                    with code.loop(0, count) as i:
                        keep(
                            i,
                            _in_parts(code, acc, elements, top + across * i + start * stride, length, stride),
                        )
                    absorb(place, _folded(code, acc, load_tiles()))

    return function(module, name, "x a across r stride totals pitch", body)


def _folded(code: Code, acc: Accumulation, tiles: list[Vectors]) -> Vectors:
    """Return one tile with a lane for each of as many tiles as there are lanes."""
    step = 1
    while len(tiles) > 1:
        tiles = [acc.crossed(code, a, b, step) for a, b in zip(tiles[::2], tiles[1::2], strict=True)]
        step *= 2
    return tiles[0]


def _short_row(
    code: Code, acc: Accumulation, elements: Elements, x: Value, r: Value, stride: Value
) -> Vectors:
    """Return a row's tile, spread over the lanes."""
    tile, by = code.variable(acc.tile(code)), elements.step(stride)
    whole = r // acc.lanes
    with code.loop(0, whole) as i:
        prefetch(code, x + i * by + _AHEAD)
        tile.set(acc.step(code, tile.now, elements.read(code, x + i * by, stride)))
    left = r - whole * acc.lanes
    with code.when(left > 0):
        tile.set(acc.step(code, tile.now, elements.read(code, x + whole * by, stride, left)))
    return tile.now


def _together(
    code: Code, acc: Accumulation, elements: Elements, rows: list[Value], r: Value, stride: Value
) -> list[Vectors]:
    """Return the tiles of several rows of a length that a lane's depth allows, read at the same time.

    Memory gives more to several streams at a time than to one.
    """
    by, lanes = code.integer(elements.step(stride)), acc.lanes
    tiles = [code.variable(acc.tile(code)) for _ in rows]
    whole = r // lanes
    with code.loop(0, whole) as i:
        for tile, row in zip(tiles, rows, strict=True):
            prefetch(code, row + i * by + _AHEAD)
            tile.set(acc.step(code, tile.now, elements.read(code, row + i * by, stride)))
    left = r - whole * lanes
    with code.when(left > 0):
        for tile, row in zip(tiles, rows, strict=True):
            tile.set(acc.step(code, tile.now, elements.read(code, row + whole * by, stride, left)))
    return [tile.now for tile in tiles]


def _along(code: Code, acc: Accumulation, elements: Elements, x: Value, r: Value, stride: Value) -> Vectors:
    """Return a row's tile, spread over the lanes, read from its start to its end."""
    by, together = code.integer(elements.step(stride)), _AT_ONCE * acc.lanes
    tiles = [code.variable(acc.tile(code)) for _ in range(_AT_ONCE)]
    whole = r // together
    with code.loop(0, whole) as i:
        for k, tile in enumerate(tiles):
            at = x + (i * _AT_ONCE + k) * by
            prefetch(code, at + _AHEAD)
            tile.set(acc.step(code, tile.now, elements.read(code, at, stride)))
    rest = _short_row(code, acc, elements, x + whole * by * _AT_ONCE, r - whole * together, stride)
    return _merged(code, acc, [tile.now for tile in tiles], rest)


def _in_parts(
    code: Code, acc: Accumulation, elements: Elements, x: Value, r: Value, stride: Value
) -> Vectors:
    """Return the tile of a row no longer than a tile is deep, read in several parts at the same time."""
    part = r // (_AT_ONCE * acc.lanes) * acc.lanes
    starts = [x + part * stride * k for k in range(_AT_ONCE)]
    tiles = _together(code, acc, elements, starts, part, stride)
    done = part * _AT_ONCE
    rest = _short_row(code, acc, elements, x + done * stride, r - done, stride)
    return _merged(code, acc, tiles, rest)


def _merged(code: Code, acc: Accumulation, tiles: list[Vectors], rest: Vectors) -> Vectors:
    first, second = (acc.merge(code, a, b) for a, b in zip(tiles[::2], tiles[1::2], strict=True))
    return acc.merge(code, acc.merge(code, first, second), rest)


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
            tops: list[Value], count: Value, places: list[Value], ahead: Value, left: Value | None = None
        ) -> None:
            totals = [load_parts(code, acc.kinds, place, pitch) for place in places]
            tiles = [code.variable(total if acc.flows else acc.tile(code)) for total in totals]
            with code.loop(0, count) as i:
                for tile, top in zip(tiles, tops, strict=True):
                    at = top + i * down
                    prefetch(code, at + ahead)
                    tile.set(acc.step(code, tile.now, elements.read(code, at, stride, left)))
            for tile, total, place in zip(tiles, totals, places, strict=True):
                found = tile.now if acc.flows else acc.absorb(code, total, tile.now)
                store_parts(code, place, pitch, found)

        def several(x: Value, totals: Value, across: Value, line: Value, left: Value | None) -> None:
            """Add one vector of each of several lines, all their rows at a time."""
            with code.loop(0, r, acc.depth) as start:
                count = (r - start).smaller(acc.depth)
                tops = [x + across * k + start * down for k in range(_AT_ONCE)]
                places = [totals + line * k for k in range(_AT_ONCE)]
                add(tops, count, places, code.integer(_AHEAD), left)

        def one(x: Value, totals: Value) -> None:
            together = _AT_ONCE * lanes
            wide, whole = b // together * together, b // lanes * lanes
            with code.loop(0, r, _ROWS) as start:
                count = (r - start).smaller(_ROWS)
                top = x + start * down
                ahead = code.choose(r - start > _ROWS, down * _ROWS, _AHEAD)
                with code.loop(0, wide, together) as j:
                    tops = [top + j * stride + by * k for k in range(_AT_ONCE)]
                    places = [totals + j * acc.item + k * BYTES for k in range(_AT_ONCE)]
                    add(tops, count, places, ahead)
                with code.loop(wide, whole, lanes) as j:
                    add([top + j * stride], count, [totals + j * acc.item], ahead)
                with code.when(whole < b):
                    place = totals + whole * acc.item
                    add([top + whole * stride], count, [place], ahead, b - whole)

        done = code.variable(code.integer(0))
        with code.when(b <= lanes):
            fours = a // _AT_ONCE * _AT_ONCE
            with code.either(b.equals(lanes)) as (full, partly):
                with full, code.loop(0, fours, _AT_ONCE) as i:
                    several(x + i * across, totals + i * line, across, line, None)
                with partly, code.loop(0, fours, _AT_ONCE) as i:
                    several(x + i * across, totals + i * line, across, line, b)
            done.set(fours)
        with code.loop(done.now, a) as i:
            one(x + i * across, totals + i * line)

    return function(module, name, "x a across r down b stride totals line pitch", body)
