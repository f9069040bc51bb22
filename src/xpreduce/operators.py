"""The operators as data: the one place that knows an operator's name and what it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from xpreduce.dtypes import NUMERIC

Lift = Literal["identity", "abs", "square"]
Combine = Literal["sum"]
Finish = Literal["identity", "sqrt"]


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """One reduction: ``finish(combine(lift(x) for x in the set))``.

    Attributes
    ----------
    name : str
        The ONNX name, such as ``"ReduceL2"``.
    short : str
        The name on the command line, such as ``"l2"``; the public function is ``reduce_<short>``.
    formula : str
        What the result is, in words.
    lift : {"identity", "abs", "square"}
        What becomes of each value before they are put together.
    combine : {"sum"}
        How two values are put together.
    finish : {"identity", "sqrt"}
        What becomes of the whole.
    empty : dict
        The value of an empty set, by the kind of the dtype (``"float"``, ``"int"``, ``"uint"``).
    dtypes : tuple of str
        The names of the dtypes that it takes.
    versions : tuple of int
        The versions of its ONNX schema.
    """

    name: str
    short: str
    formula: str
    lift: Lift
    combine: Combine
    finish: Finish
    empty: tuple[tuple[str, float | int], ...]
    dtypes: tuple[str, ...]
    versions: tuple[int, ...]

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return find, (self.name,)  # one object each, in every process: they compare by identity

    def empty_value(self, kind: str) -> float | int:
        """Return the value of an empty set for dtypes of this kind."""
        return dict(self.empty)[kind]


_ZERO = (("float", 0.0), ("int", 0), ("uint", 0))

OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (
        Operator(
            "ReduceL2",
            "l2",
            "square root of the sum of squares",
            "square",
            "sum",
            "sqrt",
            _ZERO,
            NUMERIC,
            (1, 11, 13, 18),
        ),
        Operator("ReduceSum", "sum", "sum", "identity", "sum", "identity", _ZERO, NUMERIC, (1, 11, 13)),
    )
}

_BY_ANY_NAME = {
    key: operator for operator in OPERATORS.values() for key in (operator.name.lower(), operator.short)
}


def find(name: str | Operator) -> Operator:
    """Return the operator called `name`: its ONNX name or its short one, in any case.

    Raises
    ------
    ValueError
        If there is no such operator; the message lists those there are.
    """
    if isinstance(name, Operator):
        return name
    found = _BY_ANY_NAME.get(name.lower()) if isinstance(name, str) else None
    if found is None:
        known = ", ".join(f"{o.name} ({o.short})" for o in OPERATORS.values())
        raise ValueError(f"there is no operator {name!r}; the operators are {known}")
    return found
