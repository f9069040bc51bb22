"""`run_node`: which version holds, how axes and attributes are read, every library's arrays, every error."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("onnx.defs", reason="the package onnx is not installed")

import numpy as np
from libraries import BFLOAT16, Dask, Library
from onnx import AttributeProto, NodeProto, defs, helper

import xpreduce
from xpreduce.onnx import run_node
from xpreduce.onnx.versions import newest, version_of
from xpreduce.operators import OPERATORS

X = np.asarray([[3, -4], [-6, 8]], dtype=np.float32)
AXES = np.asarray([1])


def node(
    op: str, inputs: tuple[str, ...] = ("x",), outputs: tuple[str, ...] = ("y",), **attributes: Any
) -> Any:
    return helper.make_node(op, list(inputs), list(outputs), **attributes)


def with_attribute(proto: NodeProto, name: str, kind: Any, **values: Any) -> NodeProto:
    """Add an attribute as it is, also one that helper would not make."""
    proto.attribute.add(name=name, type=kind, **values)
    return proto


def same(got: Any, wanted: Any, dtype: Any = np.float32) -> None:
    assert got.dtype == dtype
    assert got.tolist() == wanted


def test_versions_are_those_of_onnx() -> None:
    """Our table of versions is that of the schemas; where the installed onnx is old it ends earlier."""
    for op in OPERATORS.values():
        found = {s.since_version for s in defs.get_all_schemas_with_history() if s.name == op.name}
        assert sorted(found) == [version for version in op.versions if version <= newest()]


@pytest.mark.parametrize("op", OPERATORS)
def test_every_opset(op: str) -> None:
    """An opset means the newest version that is not newer than it."""
    versions = OPERATORS[op].versions
    for opset in range(1, newest() + 1):
        expected = max(version for version in versions if version <= opset)
        version = version_of(OPERATORS[op], opset)
        assert version.schema.since_version == expected
        assert version.axes_are_an_input == (opset >= (13 if op == "ReduceSum" else 18))
    assert version_of(OPERATORS[op], None) is version


def test_axes() -> None:
    """As an attribute or an input; left out, empty, or without a name, all dimensions are reduced."""
    same(run_node(node("ReduceL2", axes=[1]), [X], opset_version=17)[0], [[5.0], [10.0]])
    same(run_node(node("ReduceL2", axes=[-1], keepdims=0), [X], opset_version=1)[0], [5.0, 10.0])
    same(run_node(node("ReduceL2", ("x", "axes")), [X, AXES])[0], [[5.0], [10.0]])
    whole = [[1.0]]
    same(run_node(node("ReduceSum"), [X])[0], whole)
    same(run_node(node("ReduceSum", ("x", "axes")), [X, np.asarray([], dtype=np.int64)])[0], whole)
    same(run_node(node("ReduceSum", ("x", "axes")), [X, None])[0], whole)
    same(run_node(node("ReduceSum", ("x", "")), [X])[0], whole)
    same(run_node(node("ReduceSum", ("x", "")), [X, None])[0], whole)
    empty = with_attribute(node("ReduceSum"), "axes", AttributeProto.INTS)
    same(run_node(empty, [X], opset_version=12)[0], whole)
    both = np.asarray([1, -2])
    same(run_node(node("ReduceSum", ("x", "axes"), keepdims=0), [X, both])[0], 1.0)


def test_inputs_by_name_and_outputs_by_name() -> None:
    outputs = run_node(node("ReduceMax", ("data", "axes"), ("most",)), {"axes": AXES, "data": X})
    assert isinstance(outputs, tuple)
    assert len(outputs) == 1
    same(outputs["most"], [[3.0], [8.0]])  # type: ignore[call-overload]  # a named tuple of ONNX's


def test_domains() -> None:
    same(run_node(node("ReduceMin", domain="ai.onnx"), [X])[0], [[-6.0]])
    with pytest.raises(ValueError, match=r"not 'ReduceMin' of domain 'mine'"):
        run_node(node("ReduceMin", domain="mine"), [X])


NOOP = {
    "ReduceL1": [[3, 4], [6, 8]],
    "ReduceL2": [[3, 4], [6, 8]],
    "ReduceSumSquare": [[9, 16], [36, 64]],
    "ReduceSum": X.tolist(),
    "ReduceMean": X.tolist(),
    "ReduceProd": X.tolist(),
    "ReduceMax": X.tolist(),
    "ReduceMin": X.tolist(),
    "ReduceLogSumExp": X.tolist(),
}


@pytest.mark.parametrize("op", NOOP)
def test_noop(op: str) -> None:
    """Two readings: the rest of the formula, or the input itself."""
    proto = node(op, ("x", "axes"), noop_with_empty_axes=1, keepdims=0)
    for axes in (None, np.asarray([], dtype=np.int64)):
        same(run_node(proto, [X, axes])[0], NOOP[op])
        assert run_node(proto, [X, axes], noop="identity")[0] is X
    # With axes it means nothing.
    assert run_node(proto, [X, AXES], noop="identity")[0].shape == (2,)


def test_noop_of_logarithms() -> None:
    proto = node("ReduceLogSum", noop_with_empty_axes=1)
    same(run_node(proto, [np.asarray([1.0, 0.0])])[0], [0.0, -np.inf], np.float64)


def test_noop_must_be_known() -> None:
    for noop in ("spec", True, None):
        with pytest.raises(ValueError, match='noop must be "elementwise" or "identity"'):
            run_node(node("ReduceSum"), [X], noop=noop)  # type: ignore[arg-type]


@pytest.mark.parametrize("op", OPERATORS)
def test_every_library(library: Library, op: str) -> None:
    """An array stays an array of its library; axes may be an array of NumPy or of the same one."""
    x = np.asarray([[1.0, 2.0, 4.0], [2.0, 0.5, 1.0]], dtype=np.float32)
    proto = node(op, ("x", "axes"), keepdims=0)
    wanted = xpreduce.reduce(op, x, axes=1, keepdims=False)
    for axes in [AXES] if library.lazy else [AXES, library.asarray(AXES)]:
        got = library.to_numpy(run_node(proto, [library.asarray(x), axes], opset_version=18)[0])
        assert got.shape == (2,)
        np.testing.assert_array_max_ulp(got, wanted, 1)


def test_dask_stays_lazy() -> None:
    """Nothing is computed to build a result."""
    pytest.importorskip("dask")
    dask = Dask()
    with dask.nothing_computed():
        lazy = run_node(node("ReduceL2", ("x", "axes")), [dask.asarray(X), AXES])[0]
    same(dask.to_numpy(lazy), [[5.0], [10.0]])


def test_bfloat16() -> None:
    got = run_node(node("ReduceL2"), [np.ones(1000, dtype=BFLOAT16)], opset_version=13)[0]
    same(got, [31.625], BFLOAT16)


def test_dtypes_by_version() -> None:
    """A dtype that a later version takes, one that an earlier one took, and one that none takes."""
    x = np.asarray([1, 2], dtype=np.int8)
    for op, data, opset, hint in (
        ("ReduceMax", x, 11, "ReduceMax-11 takes no int8; .*: opset 12 takes it"),
        ("ReduceMin", x.astype(bool), 19, "ReduceMin-18 takes no bool; .*: opset 20 takes it"),
        ("ReduceSum", x.astype(BFLOAT16), 12, "ReduceSum-11 takes no bfloat16; .*: opset 13 takes it"),
        (
            "ReduceSum",
            x,
            28,
            "ReduceSum-13 takes no int8; .*: cast it first, to int32",
        ),
        ("ReduceL2", x.astype(complex), 18, "ReduceL2-18 takes no complex128"),
    ):
        with pytest.raises(TypeError, match=hint):
            run_node(node(op), [data], opset_version=min(opset, newest()))


@pytest.mark.skipif(newest() < 28, reason="the installed onnx has no opset 28")
@pytest.mark.parametrize("op", ["ReduceLogSum", "ReduceLogSumExp"])
def test_logarithms_of_integers_ended(op: str) -> None:
    x = np.asarray([20, 1], dtype=np.int32)
    same(run_node(node(op), [x], opset_version=27)[0], [3 if op == "ReduceLogSum" else 20], np.int32)
    with pytest.raises(TypeError, match=f"{op}-28 takes no int32; .*: cast it first, to float32"):
        run_node(node(op), [x], opset_version=28)


def refused(proto: Any, inputs: Any, error: type[Exception], text: str, **options: Any) -> None:
    with pytest.raises(error, match=text):
        run_node(proto, inputs, **options)


def test_opsets_that_do_not_exist() -> None:
    for opset in (0, -1, newest() + 1):
        refused(
            node("ReduceSum"), [X], ValueError, f"ReduceSum: there is no opset {opset}", opset_version=opset
        )
    for odd in (18.0, "18", True):
        refused(node("ReduceSum"), [X], TypeError, "opset version must be an integer", opset_version=odd)


def test_what_is_no_node() -> None:
    refused("ReduceSum", [X], TypeError, "must be an onnx.NodeProto, not str")
    refused(
        node("Softmax"), [X], ValueError, r"takes nodes of ReduceL1, .*, not 'Softmax'; .*Backend.run_node"
    )
    refused(node("reducesum"), [X], ValueError, "not 'reducesum'")


def test_numbers_of_inputs_and_outputs() -> None:
    early, late = {"opset_version": 12}, {"opset_version": 18}
    refused(node("ReduceSum", ("x", "axes")), [X, AXES], ValueError, "axes are an attribute", **early)
    refused(node("ReduceSum", ()), [], ValueError, "this node has none", **late)
    refused(node("ReduceSum", ("",)), [None], ValueError, "the inputs are data", **late)
    refused(node("ReduceSum", ("x", "a", "b")), [X, AXES, AXES], ValueError, "this node has 3", **late)
    refused(node("ReduceSum", outputs=()), [X], ValueError, "there is one output; this node has none")
    refused(node("ReduceSum", outputs=("y", "z")), [X], ValueError, "there is one output; this node has 2")
    refused(node("ReduceSum", outputs=("",)), [X], ValueError, "there is one output")
    refused(node("ReduceSum", ("x", "axes")), [X], ValueError, r"inputs are 2 \('x', 'axes'\); 1 were given")
    refused(node("ReduceSum"), [X, AXES], ValueError, r"inputs are 1 \('x'\); 2 were given")
    refused(node("ReduceSum"), [None], ValueError, "the data is missing")
    refused(node("ReduceSum", ("x", "")), [X, AXES], ValueError, "one without a name must be None")
    refused(node("ReduceSum"), {"z": X}, ValueError, r"inputs are 1 \('x'\), not 1 \('z'\)")
    refused(node("ReduceSum"), X, TypeError, "inputs must be a list, or a dict by name, not ndarray")
    refused(node("ReduceSum"), [[1.0]], TypeError, "a list is not an array")


def test_attributes() -> None:
    late = {"opset_version": 18}
    text = "ReduceL2-18 has no attribute 'alpha', it has keepdims and noop_with_empty_axes"
    refused(node("ReduceL2", alpha=1), [X], ValueError, text, **late)
    refused(node("ReduceL2", axes=[1]), [X], ValueError, "axes are the second input", **late)
    refused(node("ReduceL2", noop_with_empty_axes=1), [X], ValueError, "has no attribute", opset_version=17)
    refused(node("ReduceL2", keepdims=1.0), [X], TypeError, "keepdims must be of type INT, not FLOAT")
    refused(node("ReduceL2", axes=[1.0]), [X], TypeError, "type INTS, not FLOATS", opset_version=17)
    refused(node("ReduceL2", axes=1), [X], TypeError, "type INTS, not INT", opset_version=17)
    refused(node("ReduceL2", keepdims=2), [X], ValueError, "ReduceL2: keepdims must be")
    refused(node("ReduceL2", noop_with_empty_axes=-1), [X], ValueError, "noop_with_empty_axes must be")
    twice = with_attribute(node("ReduceL2", keepdims=0), "keepdims", AttributeProto.INT, i=1)
    refused(twice, [X], ValueError, "the attribute keepdims is there twice")
    linked = with_attribute(node("ReduceL2"), "keepdims", AttributeProto.INT, ref_attr_name="keep")
    refused(linked, [X], ValueError, "takes its value from a function's attribute 'keep'")


def test_axes_that_are_none(library: Library) -> None:
    """Axes of another rank or dtype, out of range, twice, or not computed."""
    proto = node("ReduceL2", ("x", "axes"))
    for axes, error, text in (
        (np.asarray([[1]]), ValueError, r"one-dimensional, not of shape \(1, 1\)"),
        (np.asarray(1), ValueError, r"one-dimensional, not of shape \(\)"),
        (np.asarray([1.0]), TypeError, "axes must be of int64, not float64"),
        (np.asarray([1], dtype=np.int32), TypeError, "axes must be of int64, not int32"),
        (np.asarray([True]), TypeError, "axes must be of int64, not bool"),
        ([1], TypeError, "axes must be an array of int64, not a list"),
        (np.asarray([2]), xpreduce.AxisError, "ReduceL2: axis 2 is out of range"),
        (np.asarray([1, -1]), ValueError, "same dimension of rank 2 twice"),
    ):
        refused(proto, [library.asarray(X), axes], error, text)
    if library.lazy:
        refused(proto, [library.asarray(X), library.asarray(AXES)], TypeError, "call axes.compute")


def test_error_names_the_version() -> None:
    """Which version of the schema was read is in the message, so that the opset can be doubted."""
    with pytest.raises(TypeError) as caught:
        run_node(node("ReduceMax"), [X.astype(np.int16)], opset_version=14)
    assert re.match(r"ReduceMax-13 takes no int16; it takes uint32, .* int8: ", str(caught.value))
