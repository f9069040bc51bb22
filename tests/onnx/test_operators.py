"""`operators`: the classes for ONNX's own reference evaluator."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx.defs", reason="the package onnx is not installed")

import numpy as np
from onnx import parser
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from xpreduce.onnx import make_operators, operators
from xpreduce.operators import OPERATORS

HALF = np.asarray([[300, -400], [360, 480]], dtype=np.float16)


def evaluator(opset: int, node: str, **options: object) -> ReferenceEvaluator:
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> g (float16[n, m] x) => (float16[k] y) {{ {node} }}'
    return ReferenceEvaluator(parser.parse_model(text), **{"new_ops": operators, **options})  # type: ignore[arg-type]  # a mixed dict


def test_one_class_for_each_operator() -> None:
    assert [cls.__name__ for cls in operators] == list(OPERATORS)
    assert all(issubclass(cls, OpRun) for cls in operators)
    assert {cls.op_domain for cls in operators} == {""}
    assert make_operators() == operators
    assert make_operators("identity") != operators
    with pytest.raises(ValueError, match="noop must be"):
        make_operators("spec")  # type: ignore[arg-type]  # that is what is wrong


@pytest.mark.parametrize(
    ("opset", "node"),
    [
        (1, "y = ReduceL2 <axes = [1], keepdims = 0> (x)"),
        (11, "y = ReduceL2 <axes = [-1], keepdims = 0> (x)"),
        (17, "y = ReduceL2 <axes = [-1], keepdims = 0> (x)"),
        (18, "axes = Constant <value_ints = [1]> () y = ReduceL2 <keepdims = 0> (x, axes)"),
        (22, "axes = Constant <value_ints = [-1]> () y = ReduceL2 <keepdims = 0> (x, axes)"),
    ],
)
def test_every_version(opset: int, node: str) -> None:
    """The opset of the model chooses the version, and the result is ours: the evaluator's overflows."""
    (y,) = evaluator(opset, node).run(None, {"x": HALF})
    assert y.dtype == np.float16
    assert y.tolist() == [500.0, 600.0]


def test_noop() -> None:
    node = "y = ReduceL2 <noop_with_empty_axes = 1> (x)"
    (sizes,) = evaluator(18, node).run(None, {"x": HALF})
    assert sizes.tolist() == abs(HALF).tolist()
    (unchanged,) = evaluator(18, node, new_ops=make_operators("identity")).run(None, {"x": HALF})
    assert unchanged is HALF


def test_nodes_are_checked_when_the_model_is_loaded() -> None:
    with pytest.raises(ValueError, match="ReduceL2-18 has no attribute 'axes'"):
        evaluator(18, "y = ReduceL2 <axes = [1]> (x)")
    with pytest.raises(TypeError, match=r"^ReduceL2-13 takes no int8; .*: cast it first"):
        evaluator(13, "y = ReduceL2 (x)").run(None, {"x": HALF.astype(np.int8)})


def test_alone() -> None:
    """As ONNX's own classes, each evaluates arrays without a model."""
    (norm,) = [cls for cls in operators if cls.__name__ == "ReduceL2"]
    assert norm.eval(HALF, np.asarray([1]), keepdims=0).tolist() == [500.0, 600.0]
