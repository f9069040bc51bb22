"""The values that tell runtimes apart: the lines of the first table of docs/onnx_differences.md.

What is right is not written here; exact arithmetic says it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from libraries import numpy_dtype
from onnx_peers import Spec

OPSET = 18
LARGEST, LEAST = 2**31 - 1, -(2**31)
NAN, INF = math.nan, math.inf


@dataclass(frozen=True)
class Line:
    """One line of the table of values: an operator, a dtype, numbers, and how they are written."""

    op: str
    dtype: str
    values: Any
    text: str = ""
    noop: bool = False

    def data(self) -> np.ndarray[Any, Any]:
        """Return the numbers as an array."""
        return np.array(self.values, dtype=numpy_dtype(self.dtype))

    def spec(self) -> Spec:
        """Return the node."""
        attributes = (("keepdims", 0), *((("noop_with_empty_axes", 1),) if self.noop else ()))
        return Spec(self.op, OPSET, self.dtype, None, attributes)

    def written(self) -> str:
        """Return the numbers as a reader would write them."""
        return f"`{self.text or self.values}`{', no-op' if self.noop else ''}"


LINES = (
    Line("ReduceL1", "int32", [LEAST], "[-2**31]"),
    Line("ReduceL1", "int64", [2**53, -1], "[2**53, -1]"),
    Line("ReduceL2", "int32", [50000, 50000]),
    Line("ReduceL2", "int32", [-128, -128]),
    Line("ReduceL2", "uint32", [65536]),
    Line("ReduceL2", "float16", [300, 300]),
    Line("ReduceL2", "float16", [600, 800]),
    Line("ReduceL2", "bfloat16", [1] * 1000, "[1]*1000"),
    Line("ReduceL2", "float32", [1e20, 1e20]),
    Line("ReduceL2", "float32", [1e-30, 1e-30]),
    Line("ReduceL2", "float32", [NAN, INF], "[nan, inf]"),
    Line("ReduceL2", "float64", [1e200, 1e200]),
    Line("ReduceL2", "float64", [1 / 3, 2 / 3], "[1/3, 2/3]"),
    Line("ReduceL2", "float32", [-2, 3], noop=True),
    Line("ReduceSum", "float32", [2**24, 1, 2**-60], "[2**24, 1, 2**-60]"),
    Line("ReduceSum", "float32", [0.1] * 2**18, "[0.1]*2**18"),
    Line("ReduceSum", "float16", [1] * 4000, "[1]*4000"),
    Line("ReduceSum", "float64", [1e300, 1, -1e300], "[1e300, 1, -1e300]"),
    Line("ReduceSum", "float32", [-0.0, -0.0]),
    Line("ReduceSum", "int64", [2**53, 1], "[2**53, 1]"),
    Line("ReduceSum", "int32", [LARGEST, 1], "[2**31 - 1, 1]"),
    Line("ReduceSum", "int32", [LARGEST, LARGEST, LEAST, LEAST], "[2**31 - 1]*2 + [-2**31]*2"),
    Line("ReduceSum", "uint64", [2**63, 2**63], "[2**63, 2**63]"),
    Line("ReduceSum", "bfloat16", [1] * 1000, "[1]*1000"),
    Line("ReduceSumSquare", "int32", [50000, 50000]),
    Line("ReduceSumSquare", "int64", [3037000500], "[3037000500]"),
    Line("ReduceSumSquare", "float32", [4097, 2**-30], "[4097, 2**-30]"),
    Line("ReduceSumSquare", "float32", [-2, 3], noop=True),
    Line("ReduceMean", "float16", [60000] * 4, "[60000]*4"),
    Line("ReduceMean", "int32", [LARGEST] * 2, "[2**31 - 1]*2"),
    Line("ReduceMean", "int32", [-1, -2]),
    Line("ReduceMean", "float32", [], "[]"),
    Line("ReduceMean", "int32", [], "[]"),
    Line("ReduceProd", "float32", [1e30, 1e30, 1e-30, 1e-30]),
    Line("ReduceProd", "float32", [1e-30, 1e-30, 1e30, 1e30]),
    Line("ReduceProd", "int32", [65536, 65536]),
    Line("ReduceMax", "float32", [1, NAN], "[1, nan]"),
    Line("ReduceMax", "float32", [NAN, NAN, NAN, 42], "[nan, nan, nan, 42]"),
    Line("ReduceMin", "float32", [NAN, 1], "[nan, 1]"),
    Line("ReduceMax", "float32", [-0.0, 0.0]),
    Line("ReduceMin", "float32", [0.0, -0.0]),
    Line("ReduceMax", "float32", [], "[]"),
    Line("ReduceMax", "int64", [2**53, 2**53 + 1], "[2**53, 2**53 + 1]"),
    Line("ReduceLogSum", "float16", [60000, 60000]),
    Line("ReduceLogSum", "float32", [1 + 2**-23], "[1 + 2**-23]"),
    Line("ReduceLogSum", "int32", [-1]),
    Line("ReduceLogSum", "float32", [1, 0], noop=True),
    Line("ReduceLogSumExp", "float32", [1000, 1000]),
    Line("ReduceLogSumExp", "float32", [-1000, -1000]),
    Line("ReduceLogSumExp", "float64", [0, -40]),
    Line("ReduceLogSumExp", "float32", [INF, 1], "[inf, 1]"),
    Line("ReduceLogSumExp", "float32", [INF, -INF], "[inf, -inf]"),
    Line("ReduceLogSumExp", "float32", [-INF, -INF], "[-inf, -inf]"),
    Line("ReduceLogSumExp", "int32", [100, 1]),
)
