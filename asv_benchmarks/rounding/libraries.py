"""The libraries that are compared: how their users write each reduction of a NumPy array over one axis.

Each raises an exception where it has no such reduction for the dtype. Results of another dtype are
converted to that of the input, as the ONNX operators have it; where a function takes the dtype, it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from .formats import numpy_dtype

OURS = "xpreduce"
#: Takes an array and the axis, returns the results.
Reduction = Callable[[np.ndarray, int], np.ndarray]
Maker = Callable[[str, str], Reduction]


def ours(op: str, dtype: str) -> Reduction:
    """Return xpreduce's reduction."""
    import xpreduce

    return lambda x, axis: xpreduce.reduce(op, x, axes=axis, keepdims=False)


NUMPY_FORMULAS: dict[str, Reduction] = {
    "l1": lambda x, axis: np.sum(np.abs(x), axis=axis, dtype=x.dtype),
    "l2": lambda x, axis: np.sqrt(np.sum(np.square(x), axis=axis, dtype=x.dtype)),
    "sum": lambda x, axis: np.sum(x, axis=axis, dtype=x.dtype),
    "sum_square": lambda x, axis: np.sum(np.square(x), axis=axis, dtype=x.dtype),
    "mean": lambda x, axis: np.mean(x, axis=axis),
    "prod": lambda x, axis: np.prod(x, axis=axis, dtype=x.dtype),
    "max": lambda x, axis: np.max(x, axis=axis),
    "min": lambda x, axis: np.min(x, axis=axis),
    "log_sum": lambda x, axis: np.log(np.sum(x, axis=axis, dtype=x.dtype)),
    "log_sum_exp": lambda x, axis: np.log(np.sum(np.exp(x), axis=axis)),
}


def numpy_formula(op: str, dtype: str) -> Reduction:
    """Return the formula as written in NumPy."""
    formula = NUMPY_FORMULAS[op]
    return lambda x, axis: formula(x, axis).astype(x.dtype)


def pytorch(op: str, dtype: str) -> Reduction:
    """Return PyTorch's function, on one CPU thread."""
    import torch

    torch.set_num_threads(1)
    functions = {
        "l1": lambda x, axis: torch.linalg.vector_norm(x, ord=1, dim=axis),
        "l2": lambda x, axis: torch.linalg.vector_norm(x, dim=axis),
        "sum": lambda x, axis: torch.sum(x, dim=axis, dtype=x.dtype),
        "sum_square": lambda x, axis: torch.sum(torch.square(x), dim=axis, dtype=x.dtype),
        "mean": lambda x, axis: torch.mean(x, dim=axis),
        "prod": lambda x, axis: torch.prod(x, dim=axis, dtype=x.dtype),
        "max": lambda x, axis: torch.amax(x, dim=axis),
        "min": lambda x, axis: torch.amin(x, dim=axis),
        "log_sum": lambda x, axis: torch.log(torch.sum(x, dim=axis, dtype=x.dtype)),
        "log_sum_exp": lambda x, axis: torch.logsumexp(x, dim=axis),
    }
    function = functions[op]

    def reduce(x: np.ndarray, axis: int) -> np.ndarray:
        if dtype != "bfloat16":
            tensor = torch.from_numpy(x)
            return function(tensor, axis).to(tensor.dtype).numpy()
        tensor = torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
        return function(tensor, axis).to(torch.bfloat16).view(torch.int16).numpy().view(x.dtype)

    return reduce


#: The newest version of each operator's schema that ONNX Runtime implements for all its dtypes.
ONNX_NAMES = {
    "l1": ("ReduceL1", 18),
    "l2": ("ReduceL2", 18),
    "sum": ("ReduceSum", 13),
    "sum_square": ("ReduceSumSquare", 18),
    "mean": ("ReduceMean", 18),
    "prod": ("ReduceProd", 18),
    "max": ("ReduceMax", 18),
    "min": ("ReduceMin", 18),
    "log_sum": ("ReduceLogSum", 18),
    "log_sum_exp": ("ReduceLogSumExp", 18),
}


def onnx_model(op: str, dtype: str, outside: str) -> object:
    """Return a model of one operator, whose input and output are of dtype `outside`: casts convert them."""
    from onnx import helper

    name, opset = ONNX_NAMES[op]
    inner = helper.np_dtype_to_tensor_dtype(numpy_dtype(dtype))
    outer = helper.np_dtype_to_tensor_dtype(np.dtype(outside)) if outside != dtype else inner
    nodes = [helper.make_node(name, ["x", "axes"], ["y"], keepdims=0)]
    if outer != inner:
        nodes = [
            helper.make_node("Cast", ["outer_x"], ["x"], to=inner),
            *nodes,
            helper.make_node("Cast", ["y"], ["outer_y"], to=outer),
        ]
    graph = helper.make_graph(
        nodes,
        name,
        [
            helper.make_tensor_value_info(nodes[0].input[0], outer, [None, None]),
            helper.make_tensor_value_info("axes", helper.np_dtype_to_tensor_dtype(np.dtype(np.int64)), [1]),
        ],
        [helper.make_tensor_value_info(nodes[-1].output[0], outer, [None])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def onnx_runtime(op: str, dtype: str) -> Reduction:
    """Return the operator in ONNX Runtime, on one CPU thread."""
    import onnxruntime

    # Its arrays can't be bfloat16 in Python; casts from float32 and back change no bfloat16 number.
    outside = "float32" if dtype == "bfloat16" else dtype
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        onnx_model(op, dtype, outside).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name

    def reduce(x: np.ndarray, axis: int) -> np.ndarray:
        feed = {name: x.astype(outside, copy=False), "axes": np.array([axis])}
        return session.run(None, feed)[0].astype(x.dtype, copy=False)

    return reduce


def onnx_reference(op: str, dtype: str) -> Reduction:
    """Return the operator in ONNX's reference evaluator."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(onnx_model(op, dtype, dtype))

    def reduce(x: np.ndarray, axis: int) -> np.ndarray:
        return evaluator.run(None, {"x": x, "axes": np.array([axis])})[0].astype(x.dtype, copy=False)

    return reduce


#: What makes the reductions of each; the order of the columns.
LIBRARIES: dict[str, Maker] = {
    OURS: ours,
    "NumPy": numpy_formula,
    "PyTorch": pytorch,
    "ONNX Runtime": onnx_runtime,
    "ONNX reference": onnx_reference,
}


def installed() -> dict[str, str]:
    """Return the versions of the libraries that are installed, and of what the others need."""
    import xpreduce

    found = {OURS: xpreduce.__version__}
    for distribution in ("numpy", "ml_dtypes", "torch", "onnxruntime", "onnx", "mpmath"):
        try:
            found[distribution] = version(distribution)
        except PackageNotFoundError:
            continue
    return found


def reductions(op: str, dtype: str, names: Iterable[str] = LIBRARIES) -> dict[str, Reduction]:
    """Return those of the libraries that are installed and reduce this dtype, by name."""
    found = {}
    for name in names:
        try:
            reduction = LIBRARIES[name](op, dtype)
            reduction(np.ones((1, 2), numpy_dtype(dtype)), 1)
        except Exception:  # each library has its own for "not implemented"
            if name == OURS:
                raise
            continue
        found[name] = reduction
    return found
