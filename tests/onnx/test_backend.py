"""`Backend`: whole models, where their Reduce nodes may be anywhere, and nodes of other operators."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import pytest

pytest.importorskip("onnx.defs", reason="the package onnx is not installed")

import numpy as np
import onnx
from libraries import BFLOAT16, Dask
from official import nodes, officials
from onnx import helper, parser
from onnx.backend.test import BackendTest

from xpreduce.onnx import Backend
from xpreduce.onnx.versions import newest

HALF = np.asarray([[300, -400], [360, 480]], dtype=np.float16)  # their squares are no float16
HEAD = '<ir_version: 8, opset_import: ["" : 18]>'


def model(text: str) -> onnx.ModelProto:
    return parser.parse_model(text)


NORM = f"{HEAD} norm (float16[n, m] x) => (float16[k] y) {{ y = ReduceL2 <keepdims = 0> (x) }}"
ROWS = f"""{HEAD}
    rows (float16[n, m] x, int64[k] axes) => (float16[n] norms, float16[n] most)
    <int64[1] axes = {{1}}>
    {{
        norms = ReduceL2 <keepdims = 0> (x, axes)
        most = ReduceMax <keepdims = 0> (x, axes)
    }}
"""
#: Models with one Reduce node, whose attributes say the no-op; on the right, where the node is.
PLACES = {
    "graph": f"""{HEAD} main (float16[n, m] x) => (float16[n, m] y)
        {{ y = ReduceL2 <noop_with_empty_axes = 1> (x) }}""",
    "subgraph": f"""{HEAD} main (float16[n, m] x, bool yes) => (float16[n, m] y)
        <bool yes = {{1}}>
        {{ y = If (yes) <
            then_branch = g () => (float16[n, m] a) {{ a = ReduceL2 <noop_with_empty_axes = 1> (x) }},
            else_branch = h () => (float16[n, m] b) {{ b = Neg (x) }}
        > }}""",
    "function": """<ir_version: 8, opset_import: ["" : 18, "mine" : 1]>
        main (float16[n, m] x) => (float16[n, m] y) { y = mine.sizes <noop = 1> (x) }
        <domain: "mine", opset_import: ["" : 18]>
        sizes <noop> (x) => (y) { y = ReduceL2 <noop_with_empty_axes : int = @noop> (x) }""",
    "function in a function": """<ir_version: 8, opset_import: ["" : 18, "mine" : 1]>
        main (float16[n, m] x) => (float16[n, m] y) { y = mine.outer (x) }
        <domain: "mine", opset_import: ["" : 18]>
        inner (x) => (y) { y = ReduceL2 <noop_with_empty_axes = 1> (x) }
        <domain: "mine", opset_import: ["" : 18, "mine" : 1]>
        outer (x) => (y) { y = mine.inner (x) }""",
}


@pytest.mark.parametrize("place", PLACES)
def test_noop_wherever_the_node_is(place: str) -> None:
    """The chosen reading holds in subgraphs and functions too, so it is our operator that runs there."""
    proto = model(PLACES[place])
    sizes, unchanged = (
        Backend.run_model(proto, [HALF], noop=noop)["y"] for noop in ("elementwise", "identity")
    )
    assert sizes.tolist() == abs(HALF).tolist()
    assert unchanged is HALF


def test_operators_that_are_functions(reduced: list[str]) -> None:
    """What the evaluator runs by the function in an operator's schema reduces by us too."""
    proto = model(
        f"{HEAD} g (float[n] x) => (float[n] y) {{ y = MeanVarianceNormalization <axes = [0]> (x) }}"
    )
    y = Backend.run_model(proto, [np.asarray([1, 3], dtype=np.float32)])[0]
    assert y.tolist() == pytest.approx([-1, 1])
    assert set(reduced) == {"ReduceMean-18"}


@pytest.mark.parametrize("imported", ["", "ai.onnx"])
@pytest.mark.parametrize("named", ["", "ai.onnx"])
def test_both_names_of_the_domain(imported: str, named: str) -> None:
    """In nodes and in imports, in subgraphs and functions; the caller's model stays as it is."""
    for place in PLACES:
        proto = model(PLACES[place])
        graphs = [proto.graph, *proto.functions]
        for node in [node for graph in graphs for node in nodes(graph) if node.domain == ""]:
            node.domain = named
        for part in (proto, *proto.functions):
            part.opset_import[0].domain = imported
        before = proto.SerializeToString()
        assert Backend.run_model(proto, [HALF])[0].tolist() == abs(HALF).tolist()
        assert proto.SerializeToString() == before


def test_inputs_and_outputs() -> None:
    """In order or by name; what has an initializer may be left out."""
    prepared = Backend.prepare(model(ROWS))
    columns = np.asarray([0])
    for inputs in ([HALF], {"x": HALF}, [HALF, np.asarray([1])], {"axes": np.asarray([1]), "x": HALF}):
        outputs = prepared.run(inputs)
        assert isinstance(outputs, tuple)
        assert outputs["norms"].tolist() == [500.0, 600.0]  # type: ignore[call-overload]  # a named tuple
        assert outputs[1].tolist() == [300.0, 480.0]
    assert prepared.run([HALF, columns])[1].tolist() == [360.0, 480.0]


def test_inputs_that_do_not_fit() -> None:
    prepared = Backend.prepare(model(ROWS))
    for inputs, error, text in (
        ([], ValueError, r"rows: the inputs are 1 \('x'\); 0 were given"),
        ([HALF, HALF, HALF], ValueError, r"rows: the inputs are .*; 3 were given"),
        ({"z": HALF}, ValueError, r"rows: the inputs are .*, not 1 \('z'\)"),
        ({"x": HALF, "z": HALF}, ValueError, r"rows: the inputs are .*, not 2 \('x', 'z'\)"),
        (HALF, TypeError, "inputs must be a list, or a dict by name, not ndarray"),
    ):
        with pytest.raises(error, match=text):
            prepared.run(inputs)


def test_bfloat16() -> None:
    proto = model(NORM.replace("float16", "bfloat16"))
    y = Backend.run_model(proto, [np.ones((10, 100), dtype=BFLOAT16)])[0]
    assert y.dtype == BFLOAT16
    assert y.tolist() == 31.625


def test_dask_stays_what_it_is() -> None:
    pytest.importorskip("dask")
    dask = Dask()
    with dask.nothing_computed():
        lazy = Backend.run_model(model(ROWS), [dask.asarray(HALF)])
    assert [dask.to_numpy(y).tolist() for y in lazy] == [[500.0, 600.0], [300.0, 480.0]]


def test_our_errors_come_through() -> None:
    """What a node refuses is said by our message, not by the evaluator's."""
    with pytest.raises(TypeError, match=r"^ReduceL2-18 takes no complex128"):
        Backend.run_model(model(NORM), [HALF.astype(complex)])
    with pytest.raises(ValueError, match="ReduceL2: axis 7 is out of range"):
        Backend.run_model(model(ROWS), [HALF, np.asarray([7])])


def test_invalid_models() -> None:
    """The checker of ONNX speaks first; it is asked by is_compatible too."""
    broken = model(NORM)
    broken.graph.node[0].attribute.add(name="alpha", type=onnx.AttributeProto.INT, i=1)
    with pytest.raises(onnx.checker.ValidationError, match="alpha"):
        Backend.prepare(broken)
    assert not Backend.is_compatible(broken)
    unknown = model(
        '<ir_version: 8, opset_import: ["theirs" : 1]> g (float[n] x) => (float[n] y) { y = theirs.F (x) }'
    )
    assert not Backend.is_compatible(unknown)
    assert Backend.is_compatible(model(NORM))


def test_devices() -> None:
    assert Backend.supports_device("CPU")
    assert Backend.supports_device("CPU:0")
    assert not Backend.supports_device("CUDA")
    assert not Backend.is_compatible(model(NORM), "CUDA")
    with pytest.raises(ValueError, match="run on the CPU, not on 'CUDA:1'"):
        Backend.prepare(model(NORM), "CUDA:1")


def test_options() -> None:
    with pytest.raises(TypeError, match="no option speed; it knows noop"):
        Backend.prepare(model(NORM), speed=1)
    with pytest.raises(ValueError, match="noop must be"):
        Backend.prepare(model(NORM), noop="spec")
    with pytest.raises(TypeError, match="run takes no threads"):
        Backend.prepare(model(NORM)).run([HALF], threads=1)


def test_run_node() -> None:
    """Our operators take arrays of any library, all others what the evaluator takes."""
    norm = helper.make_node("ReduceL2", ["x"], ["y"], axes=[1])
    assert Backend.run_node(norm, [HALF], opset_version=11)["y"].tolist() == [[500.0], [600.0]]  # type: ignore[call-overload]  # a named tuple
    noop = helper.make_node("ReduceL2", ["x"], ["y"], noop_with_empty_axes=1)
    assert Backend.run_node(noop, [HALF], noop="identity")[0] is HALF
    softmax = helper.make_node("Softmax", ["x"], ["y"], axis=0)
    assert Backend.run_node(softmax, [np.zeros((2, 1), "float32")])[0].tolist() == [[0.5], [0.5]]
    softmax.domain = "ai.onnx"
    assert Backend.run_node(softmax, [np.zeros((2, 1), "float32")])[0].tolist() == [[0.5], [0.5]]
    clip = helper.make_node("Clip", ["x", "", "most"], ["y"])
    assert Backend.run_node(clip, [np.arange(3.0), None, np.asarray(1.0)], opset_version=13)[0].tolist() == [
        0,
        1,
        1,
    ]
    split = helper.make_node("Split", ["x"], ["a", "b"], num_outputs=2)
    assert [y.tolist() for y in Backend.run_node(split, {"x": np.arange(3)})] == [[0, 1], [2]]
    sign = helper.make_node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml", threshold=1.0)
    with pytest.raises(ValueError, match=r"domain 'ai\.onnx\.ml' needs opset_version"):
        Backend.run_node(sign, [np.arange(3.0)])
    assert Backend.run_node(sign, [np.arange(3.0)], opset_version=1)[0].tolist() == [0, 0, 1]
    with pytest.raises(onnx.checker.ValidationError):
        Backend.run_node(helper.make_node("Softmax", [], ["y"]), [])


def test_the_suite_as_others_run_it() -> None:
    """`onnx.backend.test.BackendTest` takes the class as it is."""
    names = [official.name for official in officials() if official.name.startswith("test_reduce_l2_")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # others' cases overflow while they are made
        suite = BackendTest(Backend, __name__).include("^test_reduce_l2_.*_cpu$").test_suite
    result = unittest.TestResult()
    suite.run(result)
    assert (result.failures, result.errors) == ([], [])
    assert result.testsRun - len(result.skipped) == len(names)
    assert len(names) >= 9


def test_newest_opset() -> None:
    """Without an opset a node is read as by the newest one."""
    late = helper.make_node("ReduceMax", ["x"], ["y"])
    flags = np.asarray([False, True])
    assert Backend.run_node(late, [flags])[0].tolist() == [True]
    assert newest() >= 20


def test_names_that_are_no_identifiers() -> None:
    """Outputs are found by them all the same."""
    proto: Any = helper.make_node("ReduceSum", ["0"], ["1"])
    assert Backend.run_node(proto, [np.arange(3)])["1"].tolist() == [3]  # type: ignore[call-overload]  # a named tuple
