"""The largest and smallest as integers in the order of the values, in which NaN lies at the winning end."""

from __future__ import annotations

from typing import Any

from xpreduce_numpy.compiled.accumulation import Accumulation, Decide, Vectors
from xpreduce_numpy.compiled.memory import FLOATING, Elements, as_integer, size_of
from xpreduce_numpy.compiled.writing import INTEGERS, LONGS, Code, Value

_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}


def vector(dtype: str, wide: bool) -> Any:
    """Return the vectors' type: lanes of 32 bits where these do, unless they must be wide."""
    return LONGS if wide or size_of(dtype) == 8 else INTEGERS


def _moved(dtype: str, largest: bool) -> int:
    """Return what is added to the ordered bits of floats, so that both kinds of NaN come to lie at one end.

    For the largest, -inf moves to the smallest integer, and what lies below it, NaN with a sign, wraps
    around to the largest ones, next to NaN without; for the smallest it is the other way round.
    """
    bits = 8 * size_of(dtype)
    moved: int = _INFINITY[dtype] + 1 - 2 ** (bits - 1)
    return moved if largest else -moved


def elements(dtype: str, largest: bool, apart: bool, kind: Any) -> Elements:
    """Return elements as integers in their order."""
    bits = 8 * size_of(dtype)

    def convert(x: Value) -> Value:
        if dtype in FLOATING:
            x = x.bits() if bits > 16 else x
            # Of floats with a sign, the bits but for it count backwards; -0 is below +0.
            x = (x ^ ((x >> (bits - 1)) & (2 ** (bits - 1) - 1))) + _moved(dtype, largest)
            return as_integer(x, "int", kind.element)
        x = as_integer(x, dtype, kind.element)
        return x ^ _sign(dtype, kind) if _sign(dtype, kind) else x

    return Elements(dtype, kind, convert, _worst(kind, largest), apart)


def _sign(dtype: str, kind: Any) -> int:
    """Return what puts unsigned integers as wide as the lanes in the order of signed ones."""
    bits: int = kind.element.width
    return -(2 ** (bits - 1)) if dtype == f"uint{bits}" else 0


def _worst(kind: Any, largest: bool) -> int:
    top = int(2 ** (kind.element.width - 1))
    return -top if largest else top - 1


def accumulation(largest: bool, kind: Any) -> Accumulation:
    """Return the accumulation of ordered integers."""

    def empty(code: Code) -> Vectors:
        return (code.constant(kind, _worst(kind, largest)),)

    def better(code: Code, a: Vectors, b: Vectors) -> Vectors:
        return (a[0].larger(b[0]) if largest else a[0].smaller(b[0]),)

    def step(code: Code, tile: Vectors, x: Value) -> Vectors:
        return better(code, tile, (x,))

    return Accumulation(empty, step, better, empty, better, better, (kind,), 2**30)


def value_of(key: Any, dtype: str, largest: bool, kind: Any) -> Any:
    """Return the bits of the values that ordered integers stand for; of compiled values or of arrays."""
    if dtype not in FLOATING:
        sign = _sign(dtype, kind)
        return key ^ sign if sign else key
    bits = 8 * size_of(dtype)
    key = key - _moved(dtype, largest)
    spare = kind.element.width - bits
    if spare:  # in wider lanes; the sign is the upper one of the lower bits
        key = (key << spare) >> spare
    return key ^ ((key >> (bits - 1)) & (2 ** (bits - 1) - 1))


def ending(dtype: str, largest: bool, kind: Any) -> Decide:
    """Return a function that gives the values, none of them open."""

    def decide(code: Code, total: Vectors, terms: Value) -> Vectors:
        value = value_of(total[0], dtype, largest, kind)
        return value, value.differs(value)

    return decide
