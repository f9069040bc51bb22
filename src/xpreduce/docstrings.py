"""The docstrings of the public functions: what the ten have in common, and what each has of its own."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any, TypeVar

from xpreduce.dtypes import NUMERIC
from xpreduce.operators import Operator

Function = TypeVar("Function", bound=Callable[..., Any])

_TEMPLATE = """Compute {computes} along axes.

Parameters
----------
data : array
    A NumPy, CuPy, Dask or other array-API array of any shape. Its dtype is one of {dtypes}; with `dtype` also
    int8, int16, uint8 or uint16.
axes : int, sequence of int, 1-D integer array or None, optional
    The dimensions to reduce, each in [-r, r-1] for an array of rank r. None or empty means all of them,
    unless `noop_with_empty_axes` says otherwise.
keepdims : bool, optional
    Whether the reduced dimensions stay, with length 1. True by default, as in ONNX.
noop_with_empty_axes : bool or "elementwise", optional
    What None or empty `axes` mean. False: reduce all dimensions. True: return `data` itself.
    "elementwise": reduce no dimension, which {elementwise}; newer ONNX texts say so.
dtype : str or dtype, optional
    The dtype of the result, one of {results}; that of `data` by default. The exact value is rounded to
    it once: to nearest for floating point, toward zero for integers.
backend : str, optional
    The backend to use instead of the array's own, such as ``"portable"``.

Returns
-------
array
    An array of the same library and device as `data`; lazy where `data` is. For an empty set it is
    {empty}. Integers out of range saturate at the ends of their dtype's range.

Raises
------
AxisError
    If an axis is out of range.
TypeError
    If `data` is not an array or has another dtype, or an axis is not an integer.
ValueError
    If an axis appears twice, or `keepdims` or `noop_with_empty_axes` is none of the above.

See Also
--------
{see_also}

Notes
-----
The exact value is rounded once, and nothing overflows or underflows on the way. NaN in gives NaN out,
wherever it stands. This is {name} of ONNX, versions {versions} [1]_.

References
----------
.. [1] ONNX operators, https://onnx.ai/onnx/operators/onnx__{name}.html

Examples
--------
{examples}
"""


def documented(
    operator: Operator, *, computes: str, empty: str, elementwise: str, see_also: str, examples: str
) -> Callable[[Function], Function]:
    """Give a public function its docstring."""
    text = _TEMPLATE.format(
        computes=computes,
        dtypes=_enumerated(operator.dtypes),
        results=_enumerated(NUMERIC),
        empty=empty,
        elementwise=elementwise,
        see_also=see_also,
        name=operator.name,
        versions=_enumerated([str(version) for version in operator.versions]),
        examples=dedent(examples).strip(),
    )

    def with_docstring(function: Function) -> Function:
        function.__doc__ = text
        return function

    return with_docstring


def _enumerated(names: Any) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}"
