"""The public functions: one for each operator, and `reduce` for an operator by name."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xpreduce import dispatch
from xpreduce.axes import Noop, as_tuple, plan
from xpreduce.dtypes import DTYPES, cast_hint, name_of
from xpreduce.operators import OPERATORS, Operator, find
from xpreduce.protocol import Backend, Reduction

_L2 = OPERATORS["ReduceL2"]
_SUM = OPERATORS["ReduceSum"]


def reduce_l2(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    backend: str | None = None,
) -> Any:
    """Compute the L2 norm, the square root of the sum of squares, along axes.

    Parameters
    ----------
    data : array
        A NumPy, Dask or other array-API array of any shape. Its dtype is one of float16, bfloat16,
        float32, float64, int32, int64, uint32 and uint64.
    axes : int, sequence of int, 1-D integer array or None, optional
        The dimensions to reduce, each in [-r, r-1] for an array of rank r. None or empty means all of
        them, unless `noop_with_empty_axes` says otherwise.
    keepdims : bool, optional
        Whether the reduced dimensions stay, with length 1. True by default, as in ONNX.
    noop_with_empty_axes : bool or "elementwise", optional
        What None or empty `axes` mean. False: reduce all dimensions. True: return `data` itself.
        "elementwise": reduce no dimension, which leaves the absolute values; newer ONNX texts say so.
    backend : str, optional
        The backend to use instead of the array's own, such as ``"portable"``.

    Returns
    -------
    array
        An array of the same library, dtype and device as `data`; lazy where `data` is. The norm of an
        empty set is 0. Integers are rounded toward zero, and saturate at their dtype's maximum.

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
    reduce_sum : The sum itself.

    Notes
    -----
    The exact value is rounded once: to nearest for floating point, within 1 ulp for float64. Nothing
    overflows or underflows on the way. This is ReduceL2 of ONNX, versions 1, 11, 13 and 18 [1]_.

    References
    ----------
    .. [1] ONNX operators, https://onnx.ai/onnx/operators/onnx__ReduceL2.html

    Examples
    --------
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_l2(np.asarray([[3.0, 4.0], [5.0, 12.0]]), axes=1)
    array([[ 5.],
           [13.]])

    float16 cannot hold the squares of these, but it holds their norm:

    >>> xpreduce.reduce_l2(np.asarray([300, 400], dtype="float16"), keepdims=False)
    array(500., dtype=float16)
    """
    return _apply(_L2, data, axes, keepdims, noop_with_empty_axes, backend)


def reduce_sum(
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    backend: str | None = None,
) -> Any:
    """Compute the sum along axes.

    Parameters
    ----------
    data : array
        A NumPy, Dask or other array-API array of any shape. Its dtype is one of float16, bfloat16,
        float32, float64, int32, int64, uint32 and uint64.
    axes : int, sequence of int, 1-D integer array or None, optional
        The dimensions to reduce, each in [-r, r-1] for an array of rank r. None or empty means all of
        them, unless `noop_with_empty_axes` says otherwise.
    keepdims : bool, optional
        Whether the reduced dimensions stay, with length 1. True by default, as in ONNX.
    noop_with_empty_axes : bool or "elementwise", optional
        What None or empty `axes` mean. False: reduce all dimensions. True or "elementwise": reduce no
        dimension, which leaves the values as they are.
    backend : str, optional
        The backend to use instead of the array's own, such as ``"portable"``.

    Returns
    -------
    array
        An array of the same library, dtype and device as `data`; lazy where `data` is. The sum of an
        empty set is 0. Integers saturate at the ends of their dtype's range.

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
    reduce_l2 : The square root of the sum of squares.

    Notes
    -----
    The exact value is rounded once, and no order of summation changes it, up to what the page on
    semantics allows. This is ReduceSum of ONNX, versions 1, 11 and 13 [1]_.

    References
    ----------
    .. [1] ONNX operators, https://onnx.ai/onnx/operators/onnx__ReduceSum.html

    Examples
    --------
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce_sum(np.asarray([[1, 2], [3, 4]]), axes=0, keepdims=False)
    array([4, 6])

    Large values that cancel take nothing with them:

    >>> xpreduce.reduce_sum(np.asarray([1e300, 1.0, -1e300]), keepdims=False)
    array(1.)
    """
    return _apply(_SUM, data, axes, keepdims, noop_with_empty_axes, backend)


def reduce(
    op: str,
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    backend: str | None = None,
) -> Any:
    """Compute the reduction that `op` names along axes.

    Parameters
    ----------
    op : str
        The ONNX name of the operator or its short one, in any case: ``"ReduceL2"`` or ``"l2"``,
        ``"ReduceSum"`` or ``"sum"``.
    data, axes, keepdims, noop_with_empty_axes, backend
        As in the operator's own function, such as `reduce_l2`.

    Returns
    -------
    array
        As the operator's own function returns.

    Raises
    ------
    ValueError
        If there is no such operator; else as the operator's own function raises.

    See Also
    --------
    reduce_l2, reduce_sum

    Examples
    --------
    >>> import numpy as np, xpreduce
    >>> xpreduce.reduce("ReduceL2", np.asarray([3.0, 4.0]), keepdims=False)
    array(5.)
    """
    return _apply(find(op), data, axes, keepdims, noop_with_empty_axes, backend)


def _apply(op: Operator, data: Any, axes: Any, keepdims: object, noop: object, backend: str | None) -> Any:
    served, reduction = prepare(op, data, axes, keepdims, noop, backend)
    return data if reduction.plan.unchanged else served.reduce(data, reduction)


def prepare(
    op: Operator, data: Any, axes: Any, keepdims: object, noop: object, backend: str | None
) -> tuple[Backend, Reduction]:
    """Make every check on one call; return the backend and the reduction that it is to do."""
    if backend is None:
        served = dispatch.backend_for(data)
    else:
        served = dispatch.checked(dispatch.named(backend), data)
    if axes is not None and type(axes) is not int:
        axes = as_tuple(op.name, axes)
    elif axes is not None:
        axes = (axes,)
    try:
        return served, _reduction(op, data.dtype, data.ndim, axes, keepdims, noop)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        # Only an argument that no rule allows, such as an array for keepdims, is unhashable.
        return served, _reduction.__wrapped__(op, data.dtype, data.ndim, axes, keepdims, noop)


@lru_cache(maxsize=1024, typed=True)
def _reduction(
    op: Operator, dtype: Any, ndim: int, axes: tuple[int, ...] | None, keepdims: object, noop: object
) -> Reduction:
    name = name_of(dtype)
    if name not in op.dtypes:
        raise TypeError(f"{op.name} takes no {name}; it takes {', '.join(op.dtypes)}: {cast_hint(name)}")
    known = DTYPES[name]
    return Reduction(op, known, known, plan(op.name, ndim, axes, keepdims, noop))
