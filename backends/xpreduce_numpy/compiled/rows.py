"""How kernels walk along rows: the elements of a row fill a vector's lanes.

The innermost dimension of (outer…, A, R) is reduced, see `kernels`. Many rows that are short are read side by
side, few that are long in several parts.
"""

from __future__ import annotations

from typing import Any

from xpreduce_numpy.compiled.accumulation import Accumulation, Vectors
from xpreduce_numpy.compiled.memory import Elements, load, load_parts, prefetch, store_parts
from xpreduce_numpy.compiled.steps import AHEAD, AT_ONCE, step_all, steps
from xpreduce_numpy.compiled.writing import BYTES, INT64, Code, Value, function

_SHORT = 8
"""Vectors in a row up to which the rows of as many outputs as there are lanes are read together."""

_FAR = 2**13
"""Bytes of a row from which several are read at a time: as streams in pages of their own."""


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

        def empty(row: Value) -> Vectors:
            """Return the empty tile that goes on after a row's total."""
            if acc.resume is None:
                return acc.tile(code)
            at = totals + row * acc.item
            total = [load(code, kind.element, at + pitch * k) for k, kind in enumerate(acc.kinds)]
            like = acc.total(code)
            return acc.resume(code, tuple(x.all_like(one) for x, one in zip(like, total, strict=True)))

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
                        absorb(place, _of_short(code, acc, elements, starts, r, stride))
                    with long, code.loop(0, r, acc.depth * lanes) as start:
                        length = (r - start).smaller(acc.depth * lanes)
                        far = length * elements.size >= _FAR
                        with code.either(far) as (apart, near):
                            with apart, code.loop(0, lanes, AT_ONCE) as i:
                                starts = [top + across * (i + k) + start * stride for k in range(AT_ONCE)]
                                tiles = [empty(first + i + k) for k in range(AT_ONCE)]
                                tiles = _together(code, acc, elements, tiles, starts, length, stride)
                                for k, tile in enumerate(tiles):
                                    keep(i + k, tile)
                            with near, code.loop(0, lanes) as i:
                                at = top + across * i + start * stride
                                keep(i, _along(code, acc, elements, empty(first + i), at, length, stride))
                        absorb(place, _folded(code, acc, load_tiles()))
                with some, code.loop(0, r, acc.depth * AT_ONCE * lanes) as start:
                    length = (r - start).smaller(acc.depth * AT_ONCE * lanes)
                    with code.loop(0, lanes) as i:
                        keep(i, acc.tile(code))
                    with code.loop(0, count) as i:
                        at, tile = top + across * i + start * stride, empty(first + i)
                        keep(i, _in_parts(code, acc, elements, tile, at, length, stride))
                    absorb(place, _folded(code, acc, load_tiles()))

    return function(module, name, "x a across r stride totals pitch", body)


def _folded(code: Code, acc: Accumulation, tiles: list[Vectors]) -> Vectors:
    """Return one tile with a lane for each of as many tiles as there are lanes."""
    step = 1
    while len(tiles) > 1:
        tiles = [acc.crossed(code, a, b, step) for a, b in zip(tiles[::2], tiles[1::2], strict=True)]
        step *= 2
    return tiles[0]


def _of_short(
    code: Code, acc: Accumulation, elements: Elements, rows: list[Value], r: Value, stride: Value
) -> Vectors:
    """Return the tile of as many short rows as there are lanes, with a lane for each."""
    found = code.variable(acc.tile(code))

    def merged() -> None:
        tiles = _together(code, acc, elements, [acc.tile(code)] * len(rows), rows, r, stride)
        found.set(_folded(code, acc, tiles))

    if not acc.across:
        merged()
        return found.now
    with code.either(r <= acc.across) as (turned, not_turned):
        with turned:
            found.set(_across(code, acc, elements, rows, r, stride))
        with not_turned:
            merged()
    return found.now


def _across(
    code: Code, acc: Accumulation, elements: Elements, rows: list[Value], r: Value, stride: Value
) -> Vectors:
    """Return the like of `_of_short`, of columns of all rows: blocks of them are turned in registers."""
    by, lanes = code.integer(elements.step(stride)), acc.lanes
    tile = code.variable(acc.tile(code))

    def add(i: Value, left: Value | None = None) -> None:
        vectors = [elements.read(code, row + i * by, stride, left) for row in rows]
        step = 1
        while step < lanes:
            pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
            vectors = [a.blocks(b, step, odd) for odd in (False, True) for a, b in pairs]
            step *= 2
        step_all(code, acc, tile, vectors)

    whole = r // lanes
    with code.loop(0, whole) as i:
        for row in rows:
            prefetch(code, row + i * by + AHEAD)
        add(i)
    left = r - whole * lanes
    with code.when(left > 0):
        add(whole, left)
    return tile.now


def _together(
    code: Code,
    acc: Accumulation,
    elements: Elements,
    empty: list[Vectors],
    rows: list[Value],
    r: Value,
    stride: Value,
) -> list[Vectors]:
    """Return the tiles of several rows of a length that a lane's depth allows, read at the same time.

    Memory gives more to several streams at a time than to one.
    """
    by = code.integer(elements.step(stride))
    tiles = [code.variable(tile) for tile in empty]

    def read(i: Value, k: int, ahead: bool) -> Value:
        at = rows[k] + i * by
        if ahead:
            prefetch(code, at + AHEAD)
        return elements.read(code, at, stride)

    whole = r // acc.lanes
    steps(code, acc, tiles, whole, read, elements.vectors_in(BYTES))
    left = r - whole * acc.lanes
    with code.when(left > 0):
        for tile, row in zip(tiles, rows, strict=True):
            step_all(code, acc, tile, [elements.read(code, row + whole * by, stride, left)])
    return [tile.now for tile in tiles]


def _along(
    code: Code,
    acc: Accumulation,
    elements: Elements,
    empty: Vectors,
    x: Value,
    r: Value,
    stride: Value,
) -> Vectors:
    """Return a row's tile, spread over the lanes, read from its start to its end."""
    by, together = code.integer(elements.step(stride)), AT_ONCE * acc.lanes
    tiles = [code.variable(empty) for _ in range(AT_ONCE)]

    def read(i: Value, k: int, ahead: bool) -> Value:
        at = x + (i * AT_ONCE + k) * by
        if ahead and k % elements.vectors_in(BYTES) == 0:
            prefetch(code, at + AHEAD)
        return elements.read(code, at, stride)

    whole = r // together
    steps(code, acc, tiles, whole, read)
    rest = x + whole * by * AT_ONCE
    (last,) = _together(code, acc, elements, [empty], [rest], r - whole * together, stride)
    return _merged(code, acc, [tile.now for tile in tiles], last)


def _in_parts(
    code: Code,
    acc: Accumulation,
    elements: Elements,
    empty: Vectors,
    x: Value,
    r: Value,
    stride: Value,
) -> Vectors:
    """Return the tile of a row no longer than a tile is deep, read in several parts at the same time."""
    part = r // (AT_ONCE * acc.lanes) * acc.lanes
    starts = [x + part * stride * k for k in range(AT_ONCE)]
    tiles = _together(code, acc, elements, [empty] * AT_ONCE, starts, part, stride)
    rest = x + part * AT_ONCE * stride
    (last,) = _together(code, acc, elements, [empty], [rest], r - part * AT_ONCE, stride)
    return _merged(code, acc, tiles, last)


def _merged(code: Code, acc: Accumulation, tiles: list[Vectors], rest: Vectors) -> Vectors:
    first, second = (acc.merge(code, a, b) for a, b in zip(tiles[::2], tiles[1::2], strict=True))
    return acc.merge(code, acc.merge(code, first, second), rest)
