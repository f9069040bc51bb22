"""One node: `run_node`, the checks on what a node says, and the reduction that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from onnx import AttributeProto, NodeProto, defs, helper
from onnx.backend.base import namedtupledict

from xpreduce.dtypes import SMALL, cast_hint, name_of
from xpreduce.onnx.versions import Version, first_with, is_ours, version_of
from xpreduce.operators import OPERATORS
from xpreduce.reductions import reduce

Reading = Literal["elementwise", "identity"]

NOOP: dict[str, Any] = {"elementwise": "elementwise", "identity": True}
"""What `xpreduce.reduce` calls the readings of the attribute ``noop_with_empty_axes=1``."""


def run_node(
    node: NodeProto,
    inputs: Sequence[Any] | Mapping[str, Any],
    *,
    opset_version: int | None = None,
    noop: Reading = "elementwise",
) -> tuple[Any, ...]:
    """Run one node of the ten Reduce operators on arrays of any library.

    Parameters
    ----------
    node : onnx.NodeProto
        The node; its domain is ``""`` or ``"ai.onnx"``.
    inputs : sequence of array, or mapping of str to array
        The node's inputs in order, None for one that is left out; or by name. The first is an array of
        any library that xpreduce takes. `axes`, where it is an input, is a 1-D int64 array of any library
        whose arrays hold their values.
    opset_version : int, optional
        The opset that says which version of the operator's schema holds. The newest that the installed
        onnx knows by default.
    noop : {"elementwise", "identity"}, optional
        What the attribute ``noop_with_empty_axes=1`` means where there are no axes. "elementwise", as in
        newer texts of ONNX and in its runtimes: no dimension is reduced, the rest of the formula is
        applied. "identity", as in the older texts: the input itself.

    Returns
    -------
    tuple of array
        The one output, an array of the library of the data; also by the output's name. It has the
        dtype of the data and the shape that ONNX says.

    Raises
    ------
    AxisError
        If an axis is out of range.
    TypeError
        If the version does not take the dtype of the data, `axes` is not of int64, or an attribute is
        not of the schema's type.
    ValueError
        If the node has an attribute that the version does not have, too many or too few inputs or
        outputs, or is of another operator, `axes` is not one-dimensional or names a dimension twice, or
        there is no such opset.

    See Also
    --------
    Backend

    Examples
    --------
    >>> import numpy as np, onnx, xpreduce.onnx
    >>> node = onnx.helper.make_node("ReduceL2", ["x", "axes"], ["y"], keepdims=0)
    >>> x = np.asarray([[300, 400], [5, 12]], dtype="float16")
    >>> outputs = xpreduce.onnx.run_node(node, [x, np.asarray([1])], opset_version=18)
    >>> outputs[0]
    array([500.,  13.], dtype=float16)
    >>> outputs["y"] is outputs[0]
    True
    """
    check_reading(noop)
    if not isinstance(node, NodeProto):
        raise TypeError(f"node must be an onnx.NodeProto, not {type(node).__name__}")
    if not is_ours(node):
        domain = f" of domain {node.domain!r}" if node.domain else ""
        raise ValueError(
            f"run_node takes nodes of {', '.join(OPERATORS)}, not {node.op_type!r}{domain}; "
            "xpreduce.onnx.Backend.run_node takes all operators"
        )
    version = version_of(OPERATORS[node.op_type], opset_version)
    check_node(version, node)
    attributes = {a.name: _value(version, a) for a in node.attribute}
    result = evaluate(version, in_order(str(version), list(node.input), inputs), attributes, noop)
    return named(tuple(node.output), (result,))


def evaluate(version: Version, inputs: Sequence[Any], attributes: Mapping[str, Any], noop: Reading) -> Any:
    """Return the reduction of a node's inputs, which are None where they are left out."""
    data, *rest = inputs
    _check_dtype(version, data)
    if version.axes_are_an_input:
        axes = rest[0] if rest else None
        if axes is not None:
            _check_axes(version, axes)
    else:
        axes = attributes.get("axes")
    flag = attributes.get("noop_with_empty_axes", 0)
    return reduce(
        version.operator.name,
        data,
        axes,
        keepdims=attributes.get("keepdims", 1),
        noop_with_empty_axes=NOOP[noop] if flag == 1 else flag,
    )


def check_reading(noop: object) -> None:
    """Raise ValueError if `noop` is no reading of the no-op."""
    if not isinstance(noop, str) or noop not in NOOP:
        raise ValueError(f'noop must be "elementwise" or "identity", not {noop!r}')


def check_node(version: Version, node: NodeProto) -> None:
    """Raise TypeError or ValueError if the node is not one of this version of its operator."""
    given, most = len(node.input), len(version.schema.inputs)
    if not 1 <= given <= most or not node.input[0]:
        takes = "data, and axes if there are any" if most > 1 else "data alone, axes are an attribute"
        raise ValueError(f"{version}: the inputs are {takes}; this node has {_listed(node.input)}")
    if len(node.output) != 1 or not node.output[0]:
        raise ValueError(f"{version}: there is one output; this node has {_listed(node.output)}")
    seen = set()
    for attribute in node.attribute:
        _check_attribute(version, attribute)
        if attribute.name in seen:
            raise ValueError(f"{version}: the attribute {attribute.name} is there twice")
        seen.add(attribute.name)


def _check_attribute(version: Version, attribute: AttributeProto) -> None:
    known = version.schema.attributes
    if attribute.name not in known:
        hint = ""
        if attribute.name == "axes" and version.axes_are_an_input:
            hint = "; from this version on, axes are the second input"
        elif attribute.name == "noop_with_empty_axes":
            hint = "; it comes with the version in which axes are an input"
        raise ValueError(
            f"{version} has no attribute {attribute.name!r}, it has {' and '.join(sorted(known))}{hint}"
        )
    integers = known[attribute.name].type == defs.OpSchema.AttrType.INTS  # all others are one integer
    wanted = AttributeProto.INTS if integers else AttributeProto.INT
    if attribute.type != wanted:
        kinds = AttributeProto.AttributeType
        raise TypeError(
            f"{version}: the attribute {attribute.name} must be of type {kinds.Name(wanted)}, "
            f"not {kinds.Name(attribute.type)}"
        )


def _value(version: Version, attribute: AttributeProto) -> Any:
    if attribute.ref_attr_name:
        raise ValueError(
            f"{version}: the attribute {attribute.name} takes its value from a function's attribute "
            f"{attribute.ref_attr_name!r}; xpreduce.onnx.Backend runs the model that the function is in"
        )
    return helper.get_attribute_value(attribute)


def in_order(what: str, names: Sequence[str], inputs: Any) -> list[Any]:
    """Return inputs, given in order or by name, in the order of `names`; None where there is none.

    Raises
    ------
    TypeError, ValueError
        If they don't fit; `what` is said to take them.
    """
    if isinstance(inputs, Mapping):
        wanted = {name for name in names if name}
        if set(inputs) != wanted:
            raise ValueError(f"{what}: the inputs are {_listed(sorted(wanted))}, not {_listed(list(inputs))}")
        return [inputs[name] if name else None for name in names]
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"{what}: inputs must be a list, or a dict by name, not {type(inputs).__name__}")
    if len(inputs) == len(names):
        return list(inputs)
    present = [name for name in names if name]
    if len(inputs) != len(present):
        raise ValueError(f"{what}: the inputs are {_listed(present)}; {len(inputs)} were given")
    given = iter(inputs)
    return [next(given) if name else None for name in names]


def named(names: tuple[str, ...], values: Sequence[Any]) -> tuple[Any, ...]:
    """Return outputs as backends of ONNX do: a tuple whose values are also found by name."""
    outputs: tuple[Any, ...] = _outputs(names)(*values)
    return outputs


@lru_cache(maxsize=256)
def _outputs(names: tuple[str, ...]) -> Any:
    return namedtupledict("Outputs", names)


def _check_dtype(version: Version, data: Any) -> None:
    if data is None:
        raise ValueError(f"{version}: the data is missing")
    if not hasattr(data, "dtype"):
        return  # the reduction says what an array is
    name = name_of(data.dtype)
    if name in version.dtypes:
        return
    since = first_with(version.operator, name)
    if since is not None and since > version.schema.since_version:
        hint = f"opset {since} takes it"
    elif since is not None:
        hint = "cast it first, to float32 or float64"
    else:
        hint = "cast it first, to int32 or float32" if name in SMALL else cast_hint(name)
    raise TypeError(f"{version} takes no {name}; it takes {', '.join(version.dtypes)}: {hint}")


def _check_axes(version: Version, axes: Any) -> None:
    if not hasattr(axes, "dtype") or not hasattr(axes, "shape"):
        raise TypeError(
            f"{version}: axes must be an array of int64, not a {type(axes).__name__}; a NumPy array will do "
            "for data of any library"
        )
    if name_of(axes.dtype) != "int64":
        raise TypeError(f"{version}: axes must be of int64, not {name_of(axes.dtype)}")
    if len(axes.shape) != 1:
        raise ValueError(f"{version}: axes must be one-dimensional, not of shape {tuple(axes.shape)}")


def _listed(names: Sequence[str]) -> str:
    return f"{len(names)} ({', '.join(repr(name) for name in names)})" if len(names) else "none"
