"""Where ONNX Runtime and ONNX's own evaluator are not right, in kind: the table that tests and pages share.

Every disagreement that the sweep finds must be in here, and everything in here must still be so with the
versions it was found with. Wrong digits of large, small and many numbers are another matter: those are in
the page that `tests/onnx_differences.py` writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import exact
import numpy as np
from libraries import numpy_dtype
from onnx_peers import Spec, reference, runtime
from onnx_sweep import Kind

from xpreduce.operators import OPERATORS

#: What runs a node in each, by the name that the pages use.
PEERS: dict[str, Callable[[Spec], Any]] = {"ONNX Runtime": runtime, "reference evaluator": reference}
#: The versions that the table and the page were made with.
FOUND_WITH = {"onnx": "1.23.2", "onnxruntime": "1.32.0"}

ALL = tuple(OPERATORS)
LOGARITHMS = ("ReduceLogSum", "ReduceLogSumExp")
UNSERVED = ("uint32", "uint64", "bfloat16")


@dataclass(frozen=True, eq=False)
class Fault:
    """One way in which a runtime is not right.

    Attributes
    ----------
    peer : str
        Which runtime; a key of `PEERS`.
    kind : {"refused", "dtype", "shape", "value"}
        In what it differs.
    operators, dtypes : tuple of str
        Where it does.
    where, why : str
        When, and what is to be said about it.
    when : callable
        Whether it is so for a node and its data.
    example, values
        A node, and data that show it.
    """

    peer: str
    kind: Kind
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]
    where: str
    why: str
    when: Callable[[Spec, np.ndarray[Any, Any]], bool]
    example: Spec
    values: Any

    def explains(self, peer: str, kind: Kind, spec: Spec, x: np.ndarray[Any, Any]) -> bool:
        """Whether a disagreement is this one."""
        same = (peer, kind) == (self.peer, self.kind)
        return same and spec.op in self.operators and spec.dtype in self.dtypes and self.when(spec, x)

    def data(self) -> np.ndarray[Any, Any]:
        """Return the example's data as an array."""
        return np.array(self.values).astype(numpy_dtype(self.example.dtype))


def _empty(spec: Spec, x: np.ndarray[Any, Any]) -> bool:
    return x.size == 0


def _by_function(spec: Spec) -> bool:
    """Whether ONNX Runtime has a function instead of a kernel: in the very opset that brought the version."""
    return spec.op == "ReduceLogSumExp" and spec.opset in (18, 28)


FAULTS = (
    Fault(
        "ONNX Runtime",
        "refused",
        ALL,
        UNSERVED,
        "always, but for LogSumExp of opsets 18 and 28",
        "It has no kernel for them, though the schemas allow them; the one exception it runs by a function.",
        lambda spec, x: not _by_function(spec),
        Spec("ReduceSum", 28, "uint32"),
        [1, 2],
    ),
    Fault(
        "ONNX Runtime",
        "value",
        ("ReduceLogSumExp",),
        ("uint32", "uint64"),
        "opset 18",
        "Logarithms of sums near a whole number fall below it and are cut off; so is -inf of an empty set.",
        lambda spec, x: _by_function(spec),
        Spec("ReduceLogSumExp", 18, "uint32", None, (("noop_with_empty_axes", 1),)),
        [0, 2, 4],
    ),
    Fault(
        "ONNX Runtime",
        "refused",
        ALL,
        ("float16",),
        "opsets below 6",
        "It puts casts around the node that these opsets don't have. It promises opset 7 and newer.",
        lambda spec, x: spec.opset < 6,
        Spec("ReduceSum", 1, "float16"),
        [1, 2],
    ),
    Fault(
        "ONNX Runtime",
        "refused",
        ("ReduceMax", "ReduceMin"),
        ("bool",),
        "empty sets",
        "The schema has the least and the greatest value of the dtype for them.",
        _empty,
        Spec("ReduceMin", 28, "bool"),
        [],
    ),
    Fault(
        "ONNX Runtime",
        "value",
        ("ReduceLogSum",),
        ("int32", "int64"),
        "negative sums",
        "The logarithm is NaN; it is converted to whatever the processor makes of that.",
        lambda spec, x: bool((x < 0).any()),
        Spec("ReduceLogSum", 18, "int32"),
        [-1],
    ),
    Fault(
        "ONNX Runtime",
        "value",
        ("ReduceMean",),
        ("float16", "float32", "float64"),
        "empty sets",
        "ONNX leaves this value open; 0/0 is NaN here, as in NumPy.",
        _empty,
        Spec("ReduceMean", 28, "float32"),
        [],
    ),
    Fault(
        "reference evaluator",
        "dtype",
        ("ReduceSumSquare",),
        ("int32", "uint32"),
        "always",
        "NumPy sums them in 64 bits; the schema says that the output is of the input's type.",
        lambda spec, x: True,
        Spec("ReduceSumSquare", 28, "int32"),
        [1, 2],
    ),
    Fault(
        "reference evaluator",
        "refused",
        LOGARITHMS,
        exact.INTEGERS,
        "always",
        "Up to opset 27 the schemas allow integers.",
        lambda spec, x: True,
        Spec("ReduceLogSum", 18, "int32"),
        [20, 1],
    ),
    Fault(
        "reference evaluator",
        "refused",
        ("ReduceLogSumExp",),
        exact.FLOATS,
        "rank 0",
        "It fails on its way; tensors of rank 0 are valid.",
        lambda spec, x: x.ndim == 0,
        Spec("ReduceLogSumExp", 28, "float32"),
        1.5,
    ),
    Fault(
        "reference evaluator",
        "value",
        ("ReduceMean",),
        exact.INTEGERS,
        "empty sets",
        "ONNX leaves this value open; NaN is converted to whatever the processor makes of it.",
        _empty,
        Spec("ReduceMean", 28, "int32"),
        [],
    ),
)


def versions() -> dict[str, str]:
    """Return the versions that are installed of the packages of `FOUND_WITH`."""
    found = {}
    for package in FOUND_WITH:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
