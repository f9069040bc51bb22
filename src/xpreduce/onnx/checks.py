"""The checks on what a node says and on what goes into it, against a version of its schema."""

from __future__ import annotations

from typing import Any, Literal

from onnx import AttributeProto, NodeProto, defs

from xpreduce.dtypes import SMALL, cast_hint, name_of
from xpreduce.onnx.values import listed
from xpreduce.onnx.versions import Version, first_with

Reading = Literal["elementwise", "identity"]

NOOP: dict[str, Any] = {"elementwise": "elementwise", "identity": True}
"""What `xpreduce.reduce` calls the readings of the attribute ``noop_with_empty_axes=1``."""


def check_reading(noop: object) -> None:
    """Raise ValueError if `noop` is no reading of the no-op."""
    if not isinstance(noop, str) or noop not in NOOP:
        raise ValueError(f'noop must be "elementwise" or "identity", not {noop!r}')


def check_node(version: Version, node: NodeProto) -> None:
    """Raise TypeError or ValueError if the node is not one of this version of its operator."""
    given, most = len(node.input), len(version.schema.inputs)
    if not 1 <= given <= most or not node.input[0]:
        takes = "data, and axes if there are any" if most > 1 else "data alone, axes are an attribute"
        raise ValueError(f"{version}: the inputs are {takes}; this node has {listed(node.input)}")
    if len(node.output) != 1 or not node.output[0]:
        raise ValueError(f"{version}: there is one output; this node has {listed(node.output)}")
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


def check_dtype(version: Version, data: Any) -> None:
    """Raise TypeError if the version does not take the dtype of the data, ValueError if there are none."""
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


def check_axes(version: Version, axes: Any) -> None:
    """Raise TypeError or ValueError if `axes` is no tensor of int64 with one dimension."""
    if not hasattr(axes, "dtype") or not hasattr(axes, "shape"):
        raise TypeError(
            f"{version}: axes must be an array of int64, not a {type(axes).__name__}; a NumPy array will do "
            "for data of any library"
        )
    if name_of(axes.dtype) != "int64":
        raise TypeError(f"{version}: axes must be of int64, not {name_of(axes.dtype)}")
    if len(axes.shape) != 1:
        raise ValueError(f"{version}: axes must be one-dimensional, not of shape {tuple(axes.shape)}")
