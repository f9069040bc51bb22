"""How vectors come from memory and go back: input elements of every dtype, totals, results, marks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import binding, ir

from xpreduce_numpy.compiled.writing import (
    DOUBLE,
    FLOATS,
    INT8,
    INT16,
    INT32,
    INT64,
    LONGS,
    SINGLE,
    Code,
    Value,
    known,
)

STORED: dict[str, Any] = {
    "float16": INT16,
    "bfloat16": INT16,
    "float32": SINGLE,
    "float64": DOUBLE,
    "int8": INT8,
    "uint8": INT8,
    "bool": INT8,
    "int16": INT16,
    "uint16": INT16,
    "int32": INT32,
    "uint32": INT32,
    "int64": INT64,
    "uint64": INT64,
}
"""What an element of each dtype is in memory."""

SIXTEEN_BITS = ("float16", "bfloat16")
FLOATING = (*SIXTEEN_BITS, "float32", "float64")


def size_of(dtype: str) -> int:
    """Return the bytes of an element."""
    stored = STORED[dtype]
    return {SINGLE: 4, DOUBLE: 8}.get(stored) or int(stored.width // 8)


def _first_lanes(code: Code, lanes: int, count: Value) -> Value:
    """Return the mask of the first `count` lanes."""
    numbers = ir.Constant(ir.VectorType(INT64, lanes), list(range(lanes)))
    return Value(code.builder, numbers) < count


def _pointer(code: Code, kind: Any, address: Value) -> Any:
    return code.builder.inttoptr(address.ir, kind.as_pointer())


def load(code: Code, kind: Any, address: Value) -> Value:
    """Load what lies at an address, aligned or not."""
    value = code.builder.load(_pointer(code, kind, address))
    value.align = 1
    return Value(code.builder, value)


def store(code: Code, address: Value, value: Value) -> None:
    """Store a value at an address, aligned or not."""
    stored = code.builder.store(value.ir, _pointer(code, value.ir.type, address))
    stored.align = 1


def store_first(code: Code, address: Value, count: Value, value: Value) -> None:
    """Store the first `count` lanes."""
    kind = value.ir.type
    mask = _first_lanes(code, kind.count, count)
    pointer = _pointer(code, kind, address)
    known(code.builder, "masked.store", kind, value.ir, pointer, INT32(1), mask.ir, gives=ir.VoidType())


def prefetch(code: Code, address: Value) -> None:
    """Ask for what lies at an address, which need not exist, to be brought near."""
    pointer = _pointer(code, INT8, address)
    function = code.builder.module.globals.get("llvm.prefetch.p0")
    if function is None:
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, INT32, INT32, INT32])
        function = ir.Function(code.builder.module, kind, "llvm.prefetch.p0")
    code.builder.call(function, [pointer, INT32(0), INT32(3), INT32(1)])  # to read, keep, data


def load_parts(code: Code, kinds: Any, address: Value, pitch: Value | int) -> tuple[Value, ...]:
    """Load a tuple of vectors, `pitch` bytes apart."""
    return tuple(load(code, kind, address + code.integer(pitch) * i) for i, kind in enumerate(kinds))


def store_parts(code: Code, address: Value, pitch: Value | int, parts: tuple[Value, ...]) -> None:
    """Store a tuple of vectors, `pitch` bytes apart."""
    for i, part in enumerate(parts):
        store(code, address + code.integer(pitch) * i, part)


def mark(code: Code, address: Value, count: Value, mask: Value) -> Value:
    """Store the first `count` lanes of a mask as a byte each; return how many of these are true."""
    lanes = mask.ir.type.count
    store_first(code, address, count, mask.to(INT8, "zext"))
    bits = code.builder.bitcast((mask & _first_lanes(code, lanes, count)).ir, ir.IntType(lanes))
    return Value(code.builder, code.builder.zext(code.builder.ctpop(bits), INT64))


def mark_one(code: Code, address: Value, mask: Value) -> Value:
    """Store the first lane of a mask as a byte; return 1 if it is true, else 0."""
    bit = mask.first()
    store(code, address, bit.to(INT8, "zext"))
    return bit.to(INT64, "zext")


def is_marked(code: Code, address: Value) -> Value:
    """Return whether the byte at an address is not 0."""
    return load(code, INT8, address).differs(0)


@dataclass(frozen=True)
class Elements:
    """How elements of an array become vectors.

    Attributes
    ----------
    dtype : str
        Their dtype.
    kind : LLVM type
        The vectors' type.
    convert : function of (value)
        What makes such a vector of one as it lies in memory.
    neutral : number
        What stands in the lanes beyond the last element.
    apart : bool
        Whether neighbours in the array are not neighbours in memory.
    """

    dtype: str
    kind: Any
    convert: Callable[[Value], Value]
    neutral: float
    apart: bool

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return size_of(self.dtype)

    def step(self, stride: Value) -> Value | int:
        """Return how many bytes a vector of elements covers."""
        lanes: int = self.kind.count
        return stride * lanes if self.apart else self.size * lanes

    def vectors_in(self, count: int) -> int:
        """Return how many vectors this many bytes of memory hold, 1 at least."""
        return 1 if self.apart else max(1, count // (self.size * self.kind.count))

    def read(self, code: Code, address: Value, stride: Value, count: Value | None = None) -> Value:
        """Load a vector, or its first `count` lanes without touching what lies behind them."""
        return self.converted(code, self.loaded(code, address, stride, count), count)

    def loaded(self, code: Code, address: Value, stride: Value, count: Value | None) -> Value:
        """Load a vector as it lies in memory; what is in its lanes from `count` on says nothing."""
        kind = ir.VectorType(STORED[self.dtype], self.kind.count)
        if self.apart:
            return self._gathered(code, kind, address, stride, count)
        if count is None:
            return load(code, kind, address)
        mask, zero = _first_lanes(code, kind.count, count), ir.Constant(kind, None)
        pointer = _pointer(code, kind, address)
        return Value(code.builder, known(code.builder, "masked.load", kind, pointer, INT32(1), mask.ir, zero))

    def converted(self, code: Code, value: Value, count: Value | None) -> Value:
        """Return a vector as it lies in memory as one of elements, of which the first `count` count."""
        value = self.convert(value)
        if count is None:
            return value
        return _first_lanes(code, self.kind.count, count).where(value, self.neutral)

    @staticmethod
    def _gathered(code: Code, kind: Any, address: Value, stride: Value, count: Value | None) -> Value:
        vector = ir.Constant(kind, ir.Undefined)
        for lane in range(kind.count):
            offset = stride * lane
            if count is not None:
                offset = code.choose(count > lane, offset, 0)
            element = load(code, kind.element, address + offset)
            vector = code.builder.insert_element(vector, element.ir, INT32(lane))
        return Value(code.builder, vector)


def floats(dtype: str, apart: bool, neutral: float) -> Elements:
    """Return elements of a dtype of floats as doubles."""
    return Elements(dtype, FLOATS, lambda x: _as_double(x, dtype), neutral, apart)


def integers(dtype: str, apart: bool, neutral: int) -> Elements:
    """Return integers as 64 bits."""
    return Elements(dtype, LONGS, lambda x: as_integer(x, dtype, INT64), neutral, apart)


def _single_from_half(half: Value) -> Value:
    if binding.get_host_cpu_features().get("f16c"):
        return half.to(ir.HalfType(), "bitcast").to(SINGLE, "fpext")
    bits = half.to(INT32, "zext")
    size = bits & 0x7FFF
    # The biases of the exponents differ by 112; infinity and NaN keep an exponent of ones.
    value = ((size << 13).as_float() * 2.0**112).bits()
    value = (size >= 0x7C00).where(value | 0x7F800000, value)
    return (value | ((bits & 0x8000) << 16)).as_float()


def _as_double(value: Value, dtype: str) -> Value:
    if dtype == "float64":
        return value
    if dtype not in FLOATING:
        return value.to(DOUBLE, "sitofp" if dtype.startswith("int") else "uitofp")
    if dtype == "float16":
        value = _single_from_half(value)
    elif dtype == "bfloat16":
        value = (value.to(INT32, "zext") << 16).as_float()
    return value.to(DOUBLE, "fpext")


def as_integer(value: Value, dtype: str, kind: Any) -> Value:
    """Return integers of a dtype in wider lanes."""
    if value.ir.type.element == kind:
        return value
    return value.to(kind, "zext" if dtype.startswith(("uint", "bool")) else "sext")


def write(code: Code, dtype: str, address: Value, count: Value | None, value: Value) -> None:
    """Store the first `count` lanes as elements of `dtype`, or the first lane alone.

    Values fit: doubles are values of `dtype`, of 16 bits their bits as integers; integers are in range.
    """
    element = STORED[dtype]
    if element == SINGLE:
        value = value.to(SINGLE, "fptrunc")
    elif isinstance(element, ir.IntType) and value.ir.type.element.width > element.width:
        value = value.to(element, "trunc")
    if count is None:
        store(code, address, value.first())
    else:
        store_first(code, address, count, value)
