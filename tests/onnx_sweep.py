"""What is tried on all runtimes: nodes of every version, dtype and form, on small arrays; and what is right.

The data are plain small numbers, so that a runtime that sums them in its own way comes to the same value up
to some roundings; what differs by more differs in kind.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, Literal

import exact
import numpy as np
from libraries import numpy_dtype
from onnx import defs
from onnx_peers import Outcome, Spec

from xpreduce.dtypes import NUMERIC
from xpreduce.operators import OPERATORS

SHAPES = ((), (3,), (2, 3), (2, 1, 2), (0,), (2, 0, 3), (2, 3, 0))
AXES: tuple[Any, ...] = (None, (), (0,), (-1,), (0, -1), "unnamed")
EARLY: tuple[dict[str, int], ...] = ({}, {"keepdims": 0}, {"keepdims": 1})
#: The attributes where axes are an input: left out, given as their defaults, and otherwise.
LATE = (
    *EARLY[:2],
    {"keepdims": 1, "noop_with_empty_axes": 0},
    {"noop_with_empty_axes": 1},
    {"keepdims": 0, "noop_with_empty_axes": 1},
)

#: The table of versions, as the semantics have it: the first version with each dtype that is not in all.
FIRST = {"bfloat16": 13, "int8": 12, "uint8": 12, "bool": 20}
#: The newest opset that the semantics speak of; logarithms of integers ended with it.
NEWEST = LOGARITHMS_OF_FLOATS = 28

Kind = Literal["refused", "dtype", "shape", "value"]


def dtypes(op: str, version: int) -> list[str]:
    """Return the dtypes of one version of an operator, by the semantics' table."""
    names = [*NUMERIC, *(["int8", "uint8", "bool"] if op in ("ReduceMax", "ReduceMin") else [])]
    if op in ("ReduceLogSum", "ReduceLogSumExp") and version >= LOGARITHMS_OF_FLOATS:
        names = [name for name in names if name in exact.FLOATS]
    return [name for name in names if version >= FIRST.get(name, 1)]


def opsets(op: str, version: int) -> list[int]:
    """Return the first and the last opset that mean this version of an operator."""
    later = [other for other in OPERATORS[op].versions if other > version]
    last = min([other - 1 for other in later] + [NEWEST, defs.onnx_opset_version()])
    return sorted({version, last})


def specs(op: str, version: int) -> Iterator[Spec]:
    """Yield nodes of one version: every dtype, every form of axes, and attributes given or left out."""
    for opset, dtype, axes in itertools.product(opsets(op, version), dtypes(op, version), AXES):
        late = Spec(op, opset, dtype).axes_are_an_input
        if late or axes != "unnamed":
            for attributes in LATE if late else EARLY:
                yield Spec(op, opset, dtype, axes, tuple(attributes.items()))


def arrays(spec: Spec) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays that a node is tried on: all shapes in which its axes exist."""
    for shape in SHAPES:
        axes = spec.axes if isinstance(spec.axes, tuple) else ()
        if not axes or (shape and len({axis % len(shape) for axis in axes}) == len(axes)):
            yield data(spec.dtype, shape)


def data(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return small numbers of both signs, quarters among them where the dtype has them."""
    lowest = 0 if dtype == "bool" or dtype.startswith("uint") else -1
    numbers: list[Any] = [k * 7 % 5 + lowest for k in range(math.prod(shape))]
    if dtype in exact.FLOATS:
        numbers = [0.75 * number + 0.5 for number in numbers]
    return np.array(numbers).astype(numpy_dtype(dtype)).reshape(shape)


def right(spec: Spec, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the right result, with the newer reading of the no-op, from exact arithmetic alone."""
    attributes = dict(spec.attributes)
    if isinstance(spec.axes, tuple) and spec.axes:
        reduced = {axis % x.ndim for axis in spec.axes}
    else:
        reduced = set() if attributes.get("noop_with_empty_axes") else set(range(x.ndim))
    kept = [axis for axis in range(x.ndim) if axis not in reduced]
    rows = math.prod(x.shape[axis] for axis in kept)
    columns = math.prod(x.shape[axis] for axis in reduced)
    table = x.transpose([*kept, *sorted(reduced)]).reshape(rows, columns)
    short = OPERATORS[spec.op].short
    values = [exact.reduced(short, row, spec.dtype) for row in _numbers(table)]
    shape = [1 if axis in reduced else size for axis, size in enumerate(x.shape)]
    if not attributes.get("keepdims", 1):
        shape = [x.shape[axis] for axis in kept]
    return np.array(values, dtype=numpy_dtype(spec.dtype)).reshape(shape)


def _numbers(table: np.ndarray[Any, Any]) -> list[list[Any]]:
    whole = table.dtype.kind in "iub"
    rows: list[list[Any]] = table.tolist() if whole else table.astype(np.float64).tolist()
    return rows


def difference(right: np.ndarray[Any, Any], got: Outcome, ulps: float) -> Kind | None:
    """Return in what an outcome differs from the right result, or None.

    Floating-point values are the same up to `ulps`, of the result or of 1 where that is smaller.
    """
    if isinstance(got, str):
        return "refused"
    if got.dtype != right.dtype:
        return "dtype"
    if got.shape != right.shape:
        return "shape"
    name = right.dtype.name
    if name not in exact.FLOATS:
        return None if (got == right).all() else "value"
    ulp = 2.0 ** (1 - exact.PRECISION[name][0])
    a, b = got.astype(np.float64), right.astype(np.float64)
    with np.errstate(invalid="ignore"):  # inf - inf
        near = abs(a - b) <= ulps * ulp * np.maximum(abs(b), 1)
    return None if (near | (a == b) | (np.isnan(a) & np.isnan(b))).all() else "value"
