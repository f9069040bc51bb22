"""The dtypes: what each can hold, what it is called in each library, and how it is asked for by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """One dtype, known by the name that every array library gives it.

    Attributes
    ----------
    name : str
        Canonical name, such as ``"float32"``.
    kind : {"float", "int", "uint", "bool"}
        What its values are.
    bits : int
        Size of one value in bits.
    maximum, minimum : float or int
        The largest and smallest finite value.
    """

    name: str
    kind: Literal["float", "int", "uint", "bool"]
    bits: int
    maximum: float | int
    minimum: float | int

    def __reduce__(self) -> tuple[Any, ...]:
        return _known, (self.name,)  # one object each, in every process

    @property
    def is_float(self) -> bool:
        """Whether the values are floating point."""
        return self.kind == "float"


def _float(name: str, bits: int, maximum: float) -> DType:
    return DType(name, "float", bits, maximum, -maximum)


def _signed(bits: int) -> DType:
    return DType(f"int{bits}", "int", bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)))


def _unsigned(bits: int) -> DType:
    return DType(f"uint{bits}", "uint", bits, 2**bits - 1, 0)


DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        _float("float16", 16, 65504.0),
        _float("bfloat16", 16, (2 - 2.0**-7) * 2.0**127),
        _float("float32", 32, (2 - 2.0**-23) * 2.0**127),
        _float("float64", 64, (2 - 2.0**-52) * 2.0**1023),
        *(_signed(bits) for bits in (8, 16, 32, 64)),
        *(_unsigned(bits) for bits in (8, 16, 32, 64)),
        DType("bool", "bool", 8, True, False),
    )
}


def _known(name: str) -> DType:
    return DTYPES[name]


NUMERIC = ("float16", "bfloat16", "float32", "float64", "int32", "int64", "uint32", "uint64")
"""The dtypes that every operator takes and gives."""

ORDERED = (*NUMERIC, "int8", "uint8", "bool")
"""The dtypes that Max and Min take and give."""

SMALL = ("int8", "int16", "uint8", "uint16")
"""The dtypes that every operator takes where `dtype=` names another for the result."""


def name_of(dtype: Any) -> str:
    """Return the canonical name of a library's dtype object, whatever its byte order.

    NumPy, CuPy, JAX and ml_dtypes dtypes have a ``name``; others print as ``library.name``.
    """
    name = getattr(dtype, "name", None)
    return name if isinstance(name, str) else str(dtype).rpartition(".")[2]


def in_namespace(xp: Any, name: str) -> Any:
    """Return the dtype object called `name` of the array namespace `xp`.

    NumPy, and CuPy from version 14 on, take bfloat16 from ml_dtypes; other libraries have their own.
    """
    found = getattr(xp, name, None)
    if found is not None:
        return found
    if name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    raise TypeError(f"{xp.__name__} has no {name}")


def cast_hint(name: str) -> str:
    """Say which supported dtype would hold the values of an unsupported one, as advice for an error."""
    if name in SMALL:
        return 'pass dtype="int32" or dtype="float32" for a result of that dtype (or cast it first)'
    if name == "bool":
        return "cast it first, for example to int32 or float32"
    if name.startswith("complex"):
        return "reduce the real and imaginary parts, or the absolute value, one by one"
    if name in ("longdouble", "float96", "float128"):
        return "cast it first, to float64"
    if name.startswith(("datetime64", "timedelta64")):
        return "cast it first, to int64"
    if name.startswith(("float4", "float6", "float8")):
        return "cast it first, to float16 or float32"
    if name.startswith(("int", "uint")):
        return "cast it first, to int32"
    return "convert it to a numeric dtype first"
