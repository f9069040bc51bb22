"""One Reduce node in the two runtimes that ours is compared with: ONNX Runtime and ONNX's own evaluator.

Each returns an array, or the error in words. Nothing here is xpreduce's.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

#: The numbers that models give dtypes.
ELEMENTS = {
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int8": TensorProto.INT8,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
}
Outcome = np.ndarray[Any, Any] | str
Runner = Callable[[np.ndarray[Any, Any]], Outcome]


@dataclass(frozen=True)
class Spec:
    """One Reduce node, but for its data.

    Attributes
    ----------
    op, opset, dtype
        The operator's ONNX name, the opset of the model, the dtype's name.
    axes : tuple of int, None or "unnamed"
        None: neither attribute nor input; "unnamed": a second input without a name.
    attributes : tuple of pairs
        Further attributes; one that is not there has its default.
    """

    op: str
    opset: int
    dtype: str
    axes: tuple[int, ...] | str | None = None
    attributes: tuple[tuple[str, int], ...] = ()

    @property
    def axes_are_an_input(self) -> bool:
        """Whether this version of the operator has axes as its second input."""
        return self.opset >= (13 if self.op == "ReduceSum" else 18)

    def node(self) -> onnx.NodeProto:
        """Return the node."""
        inputs = ["x"]
        node = helper.make_node(self.op, inputs, ["y"], **dict(self.attributes))
        if self.axes is not None and self.axes_are_an_input:
            node.input.append("" if self.axes == "unnamed" else "axes")
        elif self.axes is not None:
            axes = node.attribute.add(name="axes", type=onnx.AttributeProto.INTS)
            axes.ints.extend(self.axes)
        return node

    def inputs(self, x: Any) -> list[Any]:
        """Return what goes into the node, None for what is left out."""
        if not self.axes_are_an_input or self.axes is None:
            return [x]
        return [x, None if self.axes == "unnamed" else np.array(self.axes, dtype=np.int64)]

    def model(self, outside: str | None = None) -> onnx.ModelProto:
        """Return a model of the one node; with `outside` casts make its data of that dtype there."""
        node, element = self.node(), ELEMENTS[self.dtype]
        nodes = [node]
        outer = ELEMENTS[outside or self.dtype]
        if outer != element:
            node.input[0], node.output[0] = "inner_x", "inner_y"
            nodes = [
                helper.make_node("Cast", ["x"], ["inner_x"], to=element),
                node,
                helper.make_node("Cast", ["inner_y"], ["y"], to=outer),
            ]
        inputs = [helper.make_tensor_value_info("x", outer, None)]
        if "axes" in node.input:
            inputs.append(helper.make_tensor_value_info("axes", TensorProto.INT64, [None]))
        graph = helper.make_graph(nodes, "node", inputs, [helper.make_tensor_value_info("y", outer, None)])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def feed(self, x: Any) -> dict[str, Any]:
        """Return what goes into the model."""
        given = dict(zip(("x", "axes"), self.inputs(x), strict=False))
        return {name: value for name, value in given.items() if value is not None}


def reference(spec: Spec) -> Runner | str:
    """Return what runs the node in ONNX's own evaluator, or why it doesn't."""
    evaluator = ReferenceEvaluator(spec.model())

    def run(x: Any) -> Outcome:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its NumPy warns of overflow and invalid values
            try:
                return np.asarray(evaluator.run(None, spec.feed(x))[0])
            except Exception as error:  # whatever it says is the outcome
                return f"{type(error).__name__}: {error}"

    return run


def runtime(spec: Spec) -> Runner | str:
    """Return what runs the node in ONNX Runtime, on the CPU, or why it doesn't.

    Its arrays can't be bfloat16 in Python; casts from float32 and back change no bfloat16 number.
    """
    ort: Any = importlib.import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    outside = "float32" if spec.dtype == "bfloat16" else None
    try:
        session = ort.InferenceSession(
            spec.model(outside).SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # it has several kinds, and what it says is the outcome
        return f"{type(error).__name__}: {error}"

    def run(x: Any) -> Outcome:
        try:
            y = session.run(None, spec.feed(x.astype(outside) if outside else x))[0]
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return y.astype(ml_dtypes.bfloat16) if outside else y

    return run
