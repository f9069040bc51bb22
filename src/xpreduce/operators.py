"""The operators as data: the one place that knows an operator's name and what it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from xpreduce.dtypes import NUMERIC, ORDERED, DType

Lift = Literal["identity", "abs", "square", "exp"]
Combine = Literal["sum", "product", "maximum", "minimum"]
Finish = Literal["identity", "sqrt", "mean", "log"]
Empty = Literal["zero", "one", "lowest", "highest", "undefined"]


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
    lift : {"identity", "abs", "square", "exp"}
        What becomes of each value before they are put together.
    combine : {"sum", "product", "maximum", "minimum"}
        How two values are put together.
    finish : {"identity", "sqrt", "mean", "log"}
        What becomes of the whole.
    empty : {"zero", "one", "lowest", "highest", "undefined"}
        The value of an empty set: the lowest of floats is -inf; undefined is NaN, and 0 for integers.
    versions : tuple of int
        The versions of its ONNX schema.
    dtypes : tuple of str
        The names of the dtypes that it takes and gives.
    """

    name: str
    short: str
    formula: str
    lift: Lift
    combine: Combine
    finish: Finish
    empty: Empty
    versions: tuple[int, ...]
    dtypes: tuple[str, ...] = NUMERIC

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return find, (self.name,)  # one object each, in every process: they compare by identity

    @property
    def terms(self) -> tuple[Lift, Combine]:
        """What its states depend on besides dtypes: operators of the same terms share them."""
        return self.lift, self.combine

    def empty_value(self, dtype: DType) -> float | int:
        """Return the value of an empty set as a number of `dtype`."""
        if self.empty in ("lowest", "highest"):
            highest = self.empty == "highest"
            if dtype.is_float:
                return float("inf") if highest else float("-inf")
            return dtype.maximum if highest else dtype.minimum
        if self.empty == "undefined" and dtype.is_float:
            return float("nan")
        return 1 if self.empty == "one" else 0


_SINCE_1 = (1, 11, 13, 18)
_LOG = (1, 11, 13, 18, 28)
_ORDER = (1, 11, 12, 13, 18, 20)

OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (
        Operator("ReduceL1", "l1", "sum of absolute values", "abs", "sum", "identity", "zero", _SINCE_1),
        Operator("ReduceL2", "l2", "root of the sum of squares", "square", "sum", "sqrt", "zero", _SINCE_1),
        Operator("ReduceSum", "sum", "sum", "identity", "sum", "identity", "zero", (1, 11, 13)),
        Operator(
            "ReduceSumSquare", "sum_square", "sum of squares", "square", "sum", "identity", "zero", _SINCE_1
        ),
        Operator("ReduceMean", "mean", "mean", "identity", "sum", "mean", "undefined", _SINCE_1),
        Operator("ReduceProd", "prod", "product", "identity", "product", "identity", "one", _SINCE_1),
        Operator("ReduceMax", "max", "largest", "identity", "maximum", "identity", "lowest", _ORDER, ORDERED),
        Operator(
            "ReduceMin", "min", "smallest", "identity", "minimum", "identity", "highest", _ORDER, ORDERED
        ),
        Operator("ReduceLogSum", "log_sum", "logarithm of the sum", "identity", "sum", "log", "lowest", _LOG),
        Operator(
            "ReduceLogSumExp",
            "log_sum_exp",
            "logarithm of the sum of exponentials",
            "exp",
            "sum",
            "log",
            "lowest",
            _LOG,
        ),
    )
}

_BY_ANY_NAME = {
    key: operator for operator in OPERATORS.values() for key in (operator.name.lower(), operator.short)
}


def find(name: str | Operator) -> Operator:
    """Return the operator called `name`: its ONNX name or its short one, in any case.

    Raises
    ------
    TypeError
        If `name` is not a string.
    ValueError
        If there is no such operator; the message lists those there are.
    """
    if isinstance(name, Operator):
        return name
    if not isinstance(name, str):
        kind = type(name).__qualname__
        raise TypeError(
            f'the name of an operator is a string, such as "ReduceL2" or "l2", not of type {kind}'
        )
    found = _BY_ANY_NAME.get(name.lower())
    if found is None:
        known = ", ".join(f"{o.name} ({o.short})" for o in OPERATORS.values())
        raise ValueError(f"there is no operator {name!r}; the operators are {known}")
    return found


def find_all(names: Any, argument: str) -> list[Operator]:
    """Return the operators called `names`, which a caller passed as `argument`.

    Raises
    ------
    TypeError
        If `names` is one string, or no iterable of strings.
    ValueError
        If there is no such operator.
    """
    if isinstance(names, (str, bytes)):
        raise TypeError(
            f"{argument} must be a sequence of operators' names, such as [{names!r}], not a string"
        )
    if not hasattr(names, "__iter__") or getattr(names, "ndim", 1) != 1:
        kind = type(names).__qualname__
        raise TypeError(
            f'{argument} must be a sequence of operators\' names, such as ["l2"], not of type {kind}'
        )
    return [find(name) for name in names]
