"""The public functions: one for each operator, and `reduce` for an operator by name."""

from __future__ import annotations

from typing import Any

from xpreduce.axes import Noop
from xpreduce.docstrings import documented
from xpreduce.operators import OPERATORS, Operator, find
from xpreduce.preparation import prepare

_L1 = OPERATORS["ReduceL1"]
_L2 = OPERATORS["ReduceL2"]
_SUM = OPERATORS["ReduceSum"]
_SUM_SQUARE = OPERATORS["ReduceSumSquare"]
_MEAN = OPERATORS["ReduceMean"]
_PROD = OPERATORS["ReduceProd"]
_MAX = OPERATORS["ReduceMax"]
_MIN = OPERATORS["ReduceMin"]
_LOG_SUM = OPERATORS["ReduceLogSum"]
_LOG_SUM_EXP = OPERATORS["ReduceLogSumExp"]


@documented(
    _L1,
    computes="the L1 norm, the sum of absolute values,",
    empty="0",
    elementwise="leaves the absolute values",
    see_also="reduce_l2, reduce_sum",
    examples="""
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_l1(np.asarray([[3, -4], [-5, 12]]), axes=1, keepdims=False)
    array([ 7, 17])
""",
)
def reduce_l1(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Any:
    return _apply(_L1, data, axes, keepdims, noop_with_empty_axes, dtype, backend)


@documented(
    _L2,
    computes="the L2 norm, the square root of the sum of squares,",
    empty="0",
    elementwise="leaves the absolute values",
    see_also="reduce_sum_square, reduce_l1",
    examples="""
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_l2(np.asarray([[3.0, 4.0], [5.0, 12.0]]), axes=1)
    array([[ 5.],
           [13.]])

    float16 cannot hold the squares of these, but it holds their norm:

    >>> xpreduce.reduce_l2(np.asarray([300, 400], dtype="float16"), keepdims=False)
    array(500., dtype=float16)

    Images, with a result that holds the norm:

    >>> xpreduce.reduce_l2(np.asarray([[200, 200]], dtype="uint8"), dtype="float32")
    array([[282.8427]], dtype=float32)
""",
)
def reduce_l2(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Any:
    return _apply(_L2, data, axes, keepdims, noop_with_empty_axes, dtype, backend)


@documented(
    _SUM,
    computes="the sum",
    empty="0",
    elementwise="leaves the values as they are",
    see_also="reduce_mean, reduce_l1",
    examples="""
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_sum(np.asarray([[1, 2], [3, 4]]), axes=0, keepdims=False)
    array([4, 6])

    Large values that cancel take nothing with them:

    >>> xpreduce.reduce_sum(np.asarray([1e300, 1.0, -1e300]), keepdims=False)
    array(1.)
""",
)
def reduce_sum(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Any:
    return _apply(_SUM, data, axes, keepdims, noop_with_empty_axes, dtype, backend)


@documented(
    _SUM_SQUARE,
    computes="the sum of squares",
    empty="0",
    elementwise="leaves the squares",
    see_also="reduce_l2, reduce_sum",
    examples="""
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_sum_square(np.asarray([[1.0, 2.0], [3.0, 4.0]]), axes=0)
    array([[10., 20.]])
""",
)
def reduce_sum_square(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Any:
    return _apply(_SUM_SQUARE, data, axes, keepdims, noop_with_empty_axes, dtype, backend)


@documented(
    _MEAN,
    computes="the mean",
    empty="NaN, or 0 for integers",
    elementwise="leaves the values as they are",
    see_also="reduce_sum",
    examples="""
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_mean(np.asarray([60000, 60000], dtype="float16"), keepdims=False)
    array(6.e+04, dtype=float16)

    Integers are rounded toward zero, unless another dtype is asked for:

    >>> xpreduce.reduce_mean(np.asarray([-1, -2]), keepdims=False)
    array(-1)
    >>> xpreduce.reduce_mean(np.asarray([-1, -2]), keepdims=False, dtype="float64")
    array(-1.5)
""",
)
def reduce_mean(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Any:
    return _apply(_MEAN, data, axes, keepdims, noop_with_empty_axes, dtype, backend)


@documented(
    _PROD,
    computes="the product",
    empty="1",
    elementwise="leaves the values as they are",
    see_also="reduce_log_sum, reduce_sum",
    examples="""
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_prod(np.asarray([1e300, 1e300, 1e-300, 1e-300]), keepdims=False)
    array(1.)
""",
)
def reduce_prod(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Any:
    return _apply(_PROD, data, axes, keepdims, noop_with_empty_axes, dtype, backend)


@documented(
    _MAX,
    computes="the largest value",
    empty="-inf, the dtype's minimum, or False",
    elementwise="leaves the values as they are",
    see_also="reduce_min",
    examples="""
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_max(np.asarray([[1.0, np.nan], [3.0, 2.0]]), axes=1, keepdims=False)
    array([nan,  3.])
""",
)
def reduce_max(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Any:
    return _apply(_MAX, data, axes, keepdims, noop_with_empty_axes, dtype, backend)


@documented(
    _MIN,
    computes="the smallest value",
    empty="+inf, the dtype's maximum, or True",
    elementwise="leaves the values as they are",
    see_also="reduce_max",
    examples="""
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_min(np.asarray([[True, True], [True, False]]), axes=1, keepdims=False)
    array([ True, False])
""",
)
def reduce_min(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Any:
    return _apply(_MIN, data, axes, keepdims, noop_with_empty_axes, dtype, backend)


@documented(
    _LOG_SUM,
    computes="the natural logarithm of the sum",
    empty="-inf, or the dtype's minimum",
    elementwise="leaves the logarithms",
    see_also="reduce_log_sum_exp, reduce_sum",
    examples="""
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_log_sum(np.asarray([0.25, 0.75]), keepdims=False)
    array(0.)
""",
)
def reduce_log_sum(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Any:
    return _apply(_LOG_SUM, data, axes, keepdims, noop_with_empty_axes, dtype, backend)


@documented(
    _LOG_SUM_EXP,
    computes="the natural logarithm of the sum of exponentials",
    empty="-inf, or the dtype's minimum",
    elementwise="leaves the values as they are",
    see_also="reduce_log_sum",
    examples="""
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_log_sum_exp(np.asarray([1000.0, 1000.0]), keepdims=False)
    array(1000.69314718)

    One term that dominates leaves the digits of the others:

    >>> xpreduce.reduce_log_sum_exp(np.asarray([0.0, -40.0]), keepdims=False)
    array(4.24835426e-18)
""",
)
def reduce_log_sum_exp(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Any:
    return _apply(_LOG_SUM_EXP, data, axes, keepdims, noop_with_empty_axes, dtype, backend)


def reduce(
    op: str,
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Any:
    """Compute the reduction that `op` names along axes.

    Parameters
    ----------
    op : str
        The ONNX name of the operator or its short one, in any case: ``"ReduceL2"`` or ``"l2"``,
        ``"ReduceLogSumExp"`` or ``"log_sum_exp"``.
    data, axes, keepdims, noop_with_empty_axes, dtype, backend
        As in the operator's own function, such as `reduce_l2`.

    Returns
    -------
    array
        As the operator's own function returns.

    Raises
    ------
    TypeError
        If `op` is not a string; else as the operator's own function raises.
    ValueError
        If there is no such operator; else as the operator's own function raises.

    See Also
    --------
    reduce_l1, reduce_l2, reduce_sum, reduce_sum_square, reduce_mean, reduce_prod, reduce_max, reduce_min,
    reduce_log_sum, reduce_log_sum_exp

    Examples
    --------
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce("ReduceL2", np.asarray([3.0, 4.0]), keepdims=False)
    array(5.)
    """
    return _apply(find(op), data, axes, keepdims, noop_with_empty_axes, dtype, backend)


def _apply(
    op: Operator, data: Any, axes: Any, keepdims: object, noop: object, dtype: Any, backend: str | None
) -> Any:
    served, reduction = prepare(op, data, axes, keepdims, noop, dtype, backend)
    return data if reduction.plan.unchanged else served.reduce(data, reduction)
