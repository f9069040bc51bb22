"""Several reductions of one array that read it once: `reduce_many`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xpreduce.axes import Noop
from xpreduce.operators import find_all
from xpreduce.preparation import prepare


def reduce_many(
    ops: Sequence[str],
    data: Any,
    axes: Any = None,
    *,
    keepdims: bool = True,
    noop_with_empty_axes: Noop = False,
    dtype: Any = None,
    backend: str | None = None,
) -> tuple[Any, ...]:
    """Compute several reductions along axes, reading the data once.

    Parameters
    ----------
    ops : sequence of str
        The operators' names, as `reduce` takes them, in any order; one may appear twice.
    data, axes, keepdims, noop_with_empty_axes, dtype, backend
        As in the operators' own functions, such as `reduce_l2`, and the same for all of them.

    Returns
    -------
    tuple of array
        One result for each operator, in the order of `ops`: each what `reduce` returns, of float64
        within the same bound. Results of a Dask array are lazy: what is computed in one call of
        ``dask.compute`` reads each chunk once.

    Raises
    ------
    TypeError
        If `ops` is not a sequence of names, or an operator takes no such data.
    ValueError
        If `ops` is empty or names an operator that there is not; else as the operators' own functions
        raise.

    See Also
    --------
    reduce : One reduction, by name.

    Notes
    -----
    Operators of the same terms share their work: the L2 norm and the sum of squares; the sum, the mean and
    the logarithm of the sum.

    - NumPy, large arrays: one compiled kernel makes the sums and extremes of all operators while a value is
      in a register. Products and exponentials have kernels of their own, which follow block by block.
    - NumPy without compiled kernels, and other array-API libraries: block by block, each by all operators.
    - Dask: one task for each chunk makes all that is needed of it.

    A backend of another distribution may do one reduction after the other.

    Examples
    --------
    >>> import numpy as np, xpreduce
    >>> x = np.asarray([[3.0, 4.0], [5.0, 12.0]])
    >>> norm, mean, largest = xpreduce.reduce_many(["l2", "mean", "max"], x, axes=1, keepdims=False)
    >>> norm, mean, largest
    (array([ 5., 13.]), array([3.5, 8.5]), array([ 4., 12.]))

    As a dict:

    >>> names = ["sum", "min"]
    >>> dict(zip(names, xpreduce.reduce_many(names, x, keepdims=False)))
    {'sum': array(24.), 'min': array(3.)}
    """
    operators = find_all(ops, "ops")
    if not operators:
        raise ValueError('ops names no operator; name one at least, for example ["l2"]')
    how = (data, axes, keepdims, noop_with_empty_axes, dtype, backend)
    prepared = [prepare(operator, *how) for operator in operators]
    served = prepared[0][0]
    reductions = list(dict.fromkeys(reduction for _, reduction in prepared))
    if reductions[0].plan.unchanged:
        return (data,) * len(operators)
    many = getattr(served, "reduce_many", None) if len(reductions) > 1 else None
    if many is None:
        results = [served.reduce(data, reduction) for reduction in reductions]
    else:
        results = many(data, reductions)
    found = dict(zip(reductions, results, strict=True))
    return tuple(found[reduction] for _, reduction in prepared)
