"""One node: `run_node`, and the reduction that a node stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnx import AttributeProto, NodeProto, helper

from xpreduce.onnx.checks import NOOP, Reading, check_axes, check_dtype, check_node, check_reading
from xpreduce.onnx.values import in_order, named
from xpreduce.onnx.versions import Version, is_ours, version_of
from xpreduce.operators import OPERATORS
from xpreduce.reductions import reduce


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
    check_dtype(version, data)
    if version.axes_are_an_input:
        axes = rest[0] if rest else None
        if axes is not None:
            check_axes(version, axes)
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


def _value(version: Version, attribute: AttributeProto) -> Any:
    if attribute.ref_attr_name:
        raise ValueError(
            f"{version}: the attribute {attribute.name} takes its value from a function's attribute "
            f"{attribute.ref_attr_name!r}; xpreduce.onnx.Backend runs the model that the function is in"
        )
    return helper.get_attribute_value(attribute)
