"""The versions of the operators' ONNX schemas, as the installed onnx has them."""

from __future__ import annotations

import operator as _operator
from dataclasses import dataclass
from functools import lru_cache

from onnx import NodeProto, defs

from xpreduce.onnx.domains import DOMAINS
from xpreduce.operators import OPERATORS, Operator

_TYPES = {"float": "float32", "double": "float64"}
"""What ONNX calls otherwise than array libraries do."""


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One operator as one version of its schema has it.

    Attributes
    ----------
    operator : Operator
        The operator.
    schema : onnx.defs.OpSchema
        ONNX's own description: inputs, attributes and their defaults.
    dtypes : tuple of str
        The names of the dtypes that it takes and gives.
    """

    operator: Operator
    schema: defs.OpSchema
    dtypes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.operator.name}-{self.schema.since_version}"

    @property
    def axes_are_an_input(self) -> bool:
        """Whether `axes` is the second input, no longer an attribute."""
        return len(self.schema.inputs) > 1


def is_ours(node: NodeProto) -> bool:
    """Whether a node is of one of the ten operators."""
    return node.domain in DOMAINS and node.op_type in OPERATORS


def newest() -> int:
    """Return the newest opset that the installed onnx knows."""
    return defs.onnx_opset_version()


def version_of(operator: Operator, opset: object) -> Version:
    """Return the operator as a model of this opset means it; None stands for the newest opset.

    Raises
    ------
    TypeError
        If `opset` is not an integer.
    ValueError
        If there is no such opset.
    """
    if opset is None:
        return _version(operator, newest())
    try:
        if isinstance(opset, bool):
            raise TypeError
        number = _operator.index(opset)  # type: ignore[arg-type]  # asking is the test
    except TypeError:
        raise TypeError(f"{operator.name}: the opset version must be an integer, not {opset!r}") from None
    if not 1 <= number <= newest():
        raise ValueError(
            f"{operator.name}: there is no opset {number}; the installed onnx knows 1 to {newest()}"
            + (", a newer onnx may know it" if number > 0 else "")
        )
    return _version(operator, number)


def first_with(operator: Operator, dtype: str) -> int | None:
    """Return the first version of the schema that allows a dtype, or None."""
    for since in operator.versions:
        if since <= newest() and dtype in _version(operator, since).dtypes:
            return since
    return None


@lru_cache(maxsize=1024)
def _version(operator: Operator, opset: int) -> Version:
    schema = defs.get_schema(operator.name, max_inclusive_version=opset, domain="")
    (constraint,) = [c for c in schema.type_constraints if c.type_param_str == "T"]
    names = [text.removeprefix("tensor(").removesuffix(")") for text in constraint.allowed_type_strs]
    return Version(operator, schema, tuple(_TYPES.get(name, name) for name in names))
