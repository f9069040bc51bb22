"""Writing functions in LLVM's language: numbers, short vectors, loops and branches.

Kernels are Python functions that run once, when a kernel is compiled: each operation on a `Value` writes
an instruction, each call of a Python function writes what that function does in its place. Vectors are
meant to fill a register: 8 doubles or 64-bit integers, or 16 32-bit integers. On a processor with
narrower registers LLVM cuts each into several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, cast

from llvmlite import ir

BYTES = 64
"""What a vector holds: the widest register that processors have, and a cache line."""

INT8, INT16, INT32, INT64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
WIDE = ir.IntType(192)
"""Integers with room for any sum of squares of 64-bit integers; slow."""

SINGLE, DOUBLE = ir.FloatType(), ir.DoubleType()

FLOATS = ir.VectorType(DOUBLE, 8)
LONGS = ir.VectorType(INT64, 8)
INTEGERS = ir.VectorType(INT32, 16)


class Value:
    """A vector, a mask or a number in the function that is being written.

    Operators take numbers for vectors of them. Integers wrap around; ``>>`` keeps the sign.
    """

    __slots__ = ("_builder", "ir")

    def __init__(self, builder: Any, value: Any) -> None:
        self._builder = builder
        self.ir = value

    @property
    def _floating(self) -> bool:
        return isinstance(getattr(self.ir.type, "element", self.ir.type), (ir.DoubleType, ir.FloatType))

    def _like(self, other: Value | float) -> Any:
        """Return a number as a vector like this one, or another vector as it is."""
        kind = self.ir.type
        if not isinstance(other, Value):
            return ir.Constant(kind, [other] * kind.count if isinstance(kind, ir.VectorType) else other)
        if other.ir.type == kind:
            return other.ir
        start = self._builder.insert_element(ir.Constant(kind, ir.Undefined), other.ir, INT32(0))
        return self._builder.shuffle_vector(
            start, start, ir.Constant(ir.VectorType(INT32, kind.count), [0] * kind.count)
        )

    def _with(self, other: Value | float, floats: str, integers: str) -> Value:
        emit = getattr(self._builder, floats if self._floating else integers)
        return Value(self._builder, emit(self.ir, self._like(other)))

    def __add__(self, other: Value | float) -> Value:
        return self._with(other, "fadd", "add")

    def __sub__(self, other: Value | float) -> Value:
        return self._with(other, "fsub", "sub")

    def __mul__(self, other: Value | float) -> Value:
        return self._with(other, "fmul", "mul")

    def __truediv__(self, other: Value | float) -> Value:
        return self._with(other, "fdiv", "")

    def __and__(self, other: Value | int) -> Value:
        return self._with(other, "", "and_")

    def __or__(self, other: Value | int) -> Value:
        return self._with(other, "", "or_")

    def __xor__(self, other: Value | int) -> Value:
        return self._with(other, "", "xor")

    def __lshift__(self, bits: int) -> Value:
        return self._with(bits, "", "shl")

    def __rshift__(self, bits: int) -> Value:
        return self._with(bits, "", "ashr")

    def shifted_in_zeros(self, bits: int) -> Value:
        """Return integers shifted to the right, with zeros coming in."""
        return self._with(bits, "", "lshr")

    def __floordiv__(self, other: Value | int) -> Value:
        """Divide integers that are not negative."""
        return self._with(other, "", "sdiv")

    def __mod__(self, other: Value | int) -> Value:
        """Return what is left of dividing integers that are not negative."""
        return self._with(other, "", "srem")

    def __neg__(self) -> Value:
        if self._floating:
            return Value(self._builder, self._builder.fneg(self.ir))
        return Value(self._builder, self._builder.neg(self.ir))

    def __invert__(self) -> Value:
        return Value(self._builder, self._builder.not_(self.ir))

    def _compared(self, sign: str, other: Value | float) -> Value:
        # As IEEE 754 has it: with NaN only != is true.
        if self._floating:
            compare = self._builder.fcmp_unordered if sign == "!=" else self._builder.fcmp_ordered
        else:
            compare = self._builder.icmp_signed
        return Value(self._builder, compare(sign, self.ir, self._like(other)))

    def __lt__(self, other: Value | float) -> Value:
        return self._compared("<", other)

    def __le__(self, other: Value | float) -> Value:
        return self._compared("<=", other)

    def __gt__(self, other: Value | float) -> Value:
        return self._compared(">", other)

    def __ge__(self, other: Value | float) -> Value:
        return self._compared(">=", other)

    def equals(self, other: Value | float) -> Value:
        """Return where both are the same number."""
        return self._compared("==", other)

    def differs(self, other: Value | float) -> Value:
        """Return where they are not the same number, as NaN never is."""
        return self._compared("!=", other)

    def is_finite(self) -> Value:
        """Return where floats are neither infinite nor NaN."""
        return abs(self) < float("inf")

    def where(self, yes: Value, no: Value | float) -> Value:
        """Take each lane from `yes` where this mask is true, and from `no` elsewhere."""
        return Value(self._builder, self._builder.select(self.ir, yes.ir, yes._like(no)))

    def known(self, name: str, *others: Value | float) -> Value:
        """Return what LLVM's own function of this name makes of the vectors."""
        arguments = [self.ir, *(self._like(other) for other in others)]
        return Value(self._builder, known(self._builder, name, self.ir.type, *arguments))

    def smaller(self, other: Value | int) -> Value:
        """Return the smaller of integers, lane by lane."""
        return self.known("smin", other)

    def larger(self, other: Value | int) -> Value:
        """Return the larger of integers, lane by lane."""
        return self.known("smax", other)

    def __abs__(self) -> Value:
        return self.known("fabs")

    def sqrt(self) -> Value:
        """Return square roots."""
        return self.known("sqrt")

    def times_plus(self, factor: Value, term: Value) -> Value:
        """Return self * factor + term, rounded once."""
        return self.known("fma", factor, term)

    def to(self, element: Any, how: str) -> Value:
        """Return the vector with elements of another type, by one of LLVM's conversions."""
        many = isinstance(self.ir.type, ir.VectorType)
        kind = ir.VectorType(element, self.ir.type.count) if many else element
        return Value(self._builder, getattr(self._builder, how)(self.ir, kind))

    def bits(self) -> Value:
        """Return the bits of floats as integers of the same size."""
        return self.to(INT64 if self.ir.type.element == DOUBLE else INT32, "bitcast")

    def as_float(self) -> Value:
        """Return the floats that have these bits."""
        return self.to(DOUBLE if self.ir.type.element == INT64 else SINGLE, "bitcast")

    def all(self, number: float) -> Value:
        """Return a vector like this one with the same number in every lane."""
        return Value(self._builder, self._like(number))

    def all_like(self, number: Value) -> Value:
        """Return a vector like this one with the same value in every lane."""
        return Value(self._builder, self._like(number))

    def first(self) -> Value:
        """Return the first lane."""
        return Value(self._builder, self._builder.extract_element(self.ir, INT32(0)))

    def blocks(self, other: Value, step: int, odd: bool) -> Value:
        """Return every second block of `step` lanes of this and of another vector, in turn."""
        lanes = self.ir.type.count
        chosen = [
            source * lanes + block + lane
            for block in range(step if odd else 0, lanes, 2 * step)
            for source in (0, 1)
            for lane in range(step)
        ]
        places = ir.Constant(ir.VectorType(INT32, lanes), chosen)
        return Value(self._builder, self._builder.shuffle_vector(self.ir, other.ir, places))


def suffix(kind: Any) -> str:
    """Return how LLVM's own functions on values of this type are called."""
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{suffix(kind.element)}"
    return {DOUBLE: "f64", SINGLE: "f32"}.get(kind) or f"i{kind.width}"


def known(builder: Any, name: str, kind: Any, *arguments: Any, gives: Any = None) -> Any:
    """Call one of LLVM's own functions, the one of this name on values of this type."""
    full = f"llvm.{name}.{suffix(kind)}"
    if name.startswith("masked"):
        full += ".p0"
    function = builder.module.globals.get(full)
    if function is None:
        signature = ir.FunctionType(gives or kind, [argument.type for argument in arguments])
        function = ir.Function(builder.module, signature, full)
    return builder.call(function, arguments)


T = TypeVar("T", "Value", "tuple[Value, ...]")


class Variable(Generic[T]):
    """A value, or a tuple of values, that changes while the function runs."""

    def __init__(self, code: Code, value: T) -> None:
        self._code = code
        self._single = isinstance(value, Value)
        self._places = [code.room(part.ir.type) for part in self._parts(value)]
        self.set(value)

    @staticmethod
    def _parts(value: Value | tuple[Value, ...]) -> tuple[Value, ...]:
        return (value,) if isinstance(value, Value) else value

    def set(self, value: T) -> None:
        """Give it another value."""
        for part, place in zip(self._parts(value), self._places, strict=True):
            self._code.builder.store(part.ir, place)

    @property
    def now(self) -> T:
        """Its value at this point of the function."""
        parts = tuple(Value(self._code.builder, self._code.builder.load(place)) for place in self._places)
        return cast(T, parts[0] if self._single else parts)


class Code:
    """The function that is being written."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def constant(self, kind: Any, number: float) -> Value:
        """Return a vector of one number, or the number."""
        many = isinstance(kind, ir.VectorType)
        return Value(self.builder, ir.Constant(kind, [number] * kind.count if many else number))

    def integer(self, number: int | Value) -> Value:
        """Return a 64-bit integer."""
        return number if isinstance(number, Value) else self.constant(INT64, number)

    def room(self, kind: Any, count: int = 1) -> Any:
        """Return a pointer to memory that lasts as long as the function runs."""
        with self.builder.goto_entry_block():
            place = self.builder.alloca(kind, INT32(count))
        place.align = BYTES
        return place

    def variable(self, value: T) -> Variable[T]:
        """Return a variable with this value."""
        return Variable(self, value)

    def call(self, function: Any, *arguments: Value | float) -> Value:
        """Call a function that `function` made."""
        given = [
            argument.ir if isinstance(argument, Value) else parameter.type(argument)
            for argument, parameter in zip(arguments, function.args, strict=True)
        ]
        return Value(self.builder, self.builder.call(function, given))

    @contextmanager
    def loop(self, start: Value | int, stop: Value | int, step: int = 1) -> Iterator[Value]:
        """Write a loop around what is written inside: from `start` to below `stop`."""
        index = self.variable(self.integer(start))
        stop = self.integer(stop)
        head, body, end = (self.builder.append_basic_block(name) for name in ("head", "body", "end"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        self.builder.cbranch((index.now < stop).ir, body, end)
        self.builder.position_at_end(body)
        yield index.now
        index.set(index.now + step)
        self.builder.branch(head)
        self.builder.position_at_end(end)

    @contextmanager
    def when(self, condition: Value, rarely: bool = False) -> Iterator[None]:
        """Write what is written inside to run only if the condition is true."""
        with self.builder.if_then(condition.ir, likely=False if rarely else None):
            yield

    @contextmanager
    def either(self, condition: Value) -> Iterator[Any]:
        """Give two contexts: what is written in the first runs if the condition is true, else the other."""
        with self.builder.if_else(condition.ir) as branches:
            yield branches

    def choose(self, condition: Value, yes: Value | int, no: Value | int) -> Value:
        """Return one of two integers."""
        return condition.where(self.integer(yes), no)

    def all_of(self, mask: Value) -> Value:
        """Return whether all lanes of a mask are true."""
        return ~self.any_of(~mask)

    def any_of(self, mask: Value) -> Value:
        """Return whether any lane of a mask is true."""
        bits = ir.IntType(mask.ir.type.count)
        return Value(
            self.builder, self.builder.icmp_unsigned("!=", self.builder.bitcast(mask.ir, bits), bits(0))
        )


def function(module: Any, name: str, parameters: str, body: Callable[..., Value | None]) -> Any:
    """Write a function of 64-bit integers that gives one.

    `parameters` are the names of its parameters; those that end with ``.`` are doubles. `body` takes the
    code and the parameters, and returns the result, or None for 0.
    """
    names = parameters.split()
    kinds = [DOUBLE if name.endswith(".") else INT64 for name in names]
    made = ir.Function(module, ir.FunctionType(INT64, kinds), name)
    made.linkage = "internal"
    code = Code(ir.IRBuilder(made.append_basic_block("entry")))
    result = body(code, *(Value(code.builder, argument) for argument in made.args))
    code.builder.ret(code.integer(0 if result is None else result).ir)
    return made
