"""What xpreduce is compared with: for each operator, the ways in which NumPy and Dask users write it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

import xpreduce

Reduction = Callable[[Any, tuple[int, ...]], Any]

OURS = "xpreduce"


def einsum_of(copies: int) -> Reduction:
    """Return the sum over `axes` of the product of `copies` times the array, by np.einsum."""

    def reduce(x: Any, axes: tuple[int, ...]) -> Any:
        every = list(range(x.ndim))
        kept = [axis for axis in every if axis not in axes]
        total = np.einsum(*[x, every] * copies, kept)
        return np.sqrt(total) if copies == 2 else total

    return reduce


def vecdot(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the square root of np.vecdot; it takes one axis."""
    if len(axes) != 1:
        raise NotImplementedError("np.vecdot reduces one axis")
    return np.sqrt(np.vecdot(x, x, axis=axes[0]))


def log_sum_exp(x: Any, how: dict[str, Any]) -> Any:
    """Return the logarithm of the sum of exponentials, shifted so that it does not overflow."""
    largest = np.max(x, **how)
    return largest + np.log(np.sum(np.exp(x - largest), **how))


def formula(operator: str, plain: Callable[[Any, dict[str, Any]], Any]) -> dict[str, Reduction]:
    """Return xpreduce and the plain formula of one operator."""
    return {
        OURS: lambda x, axes: xpreduce.reduce(operator, x, axes),
        "numpy formula": lambda x, axes: plain(x, {"axis": axes, "keepdims": True}),
    }


NUMPY: dict[str, dict[str, Reduction]] = {
    "ReduceL2": {
        OURS: lambda x, axes: xpreduce.reduce_l2(x, axes),
        "numpy formula": lambda x, axes: np.sqrt(np.sum(np.square(x), axis=axes, keepdims=True)),
        "np.einsum": einsum_of(2),
        "np.linalg.norm": lambda x, axes: np.linalg.norm(x, axis=axes if len(axes) > 1 else axes[0]),
        "np.vecdot": vecdot,
    },
    "ReduceSum": {
        OURS: lambda x, axes: xpreduce.reduce_sum(x, axes),
        "numpy formula": lambda x, axes: np.sum(x, axis=axes, keepdims=True),
        "np.einsum": einsum_of(1),
    },
    "ReduceL1": formula("l1", lambda x, how: np.sum(np.abs(x), **how)),
    "ReduceSumSquare": formula("sum_square", lambda x, how: np.sum(np.square(x), **how)),
    "ReduceMean": formula("mean", lambda x, how: np.mean(x, **how)),
    "ReduceProd": formula("prod", lambda x, how: np.prod(x, **how)),
    "ReduceMax": formula("max", lambda x, how: np.max(x, **how)),
    "ReduceMin": formula("min", lambda x, how: np.min(x, **how)),
    "ReduceLogSum": formula("log_sum", lambda x, how: np.log(np.sum(x, **how))),
    "ReduceLogSumExp": formula("log_sum_exp", log_sum_exp),
}


def dask_norm(x: Any, axes: tuple[int, ...] | None) -> Any:
    """Return da.linalg.norm; it takes one axis, two, or all."""
    import dask.array as da

    if axes is None:
        return da.linalg.norm(x)
    return da.linalg.norm(x, axis=axes if len(axes) > 1 else axes[0])


def dask_formula(x: Any, axes: tuple[int, ...] | None) -> Any:
    """Return the square root of the sum of squares, as a Dask user writes it."""
    import dask.array as da

    return da.sqrt((x**2).sum(axis=axes))


def xarray_of(reduce: Callable[[Any, Any], Any]) -> Callable[[Any, tuple[int, ...] | None], Any]:
    """Return a reduction as an xarray user writes it, of dimensions by their names."""

    def lazy(x: Any, axes: tuple[int, ...] | None) -> Any:
        if importlib.util.find_spec("xarray") is None:
            raise NotImplementedError("xarray is not installed")
        import xarray

        array = xarray.DataArray(x)
        return reduce(array, None if axes is None else [array.dims[axis] for axis in axes]).data

    return lazy


#: Each returns a lazy Dask array.
DASK: dict[str, dict[str, Callable[[Any, tuple[int, ...] | None], Any]]] = {
    "ReduceL2": {
        OURS: lambda x, axes: xpreduce.reduce_l2(x, axes),
        "da.linalg.norm": dask_norm,
        "dask formula": dask_formula,
        "xarray": xarray_of(lambda x, dims: (x**2).sum(dims, skipna=False) ** 0.5),
    },
    "ReduceSum": {
        OURS: lambda x, axes: xpreduce.reduce_sum(x, axes),
        "dask formula": lambda x, axes: x.sum(axis=axes),
        "xarray": xarray_of(lambda x, dims: x.sum(dims, skipna=False)),
    },
    "ReduceMax": {
        OURS: lambda x, axes: xpreduce.reduce_max(x, axes),
        "dask formula": lambda x, axes: x.max(axis=axes),
        "xarray": xarray_of(lambda x, dims: x.max(dims, skipna=False)),
    },
    "ReduceMean": {
        OURS: lambda x, axes: xpreduce.reduce_mean(x, axes),
        "dask formula": lambda x, axes: x.mean(axis=axes),
        "xarray": xarray_of(lambda x, dims: x.mean(dims, skipna=False)),
    },
}


def cubed_of(operator: str, x: np.ndarray, chunks: Any, folder: str) -> Callable[[Any], Callable[[], Any]]:
    """Return what makes of axes the call by which cubed, in threads, reduces an array in memory."""
    if importlib.util.find_spec("cubed") is None:
        raise NotImplementedError("cubed is not installed")
    import cubed
    import cubed.array_api as xp

    spec = cubed.Spec(work_dir=folder, allowed_mem="8GB", executor_name="threads")
    array = cubed.from_array(x, chunks=chunks, spec=spec)
    known: dict[str, Callable[[Any], Any]] = {
        "ReduceL2": lambda axes: xp.sqrt(xp.sum(array * array, axis=axes)),
        "ReduceSum": lambda axes: xp.sum(array, axis=axes),
        "ReduceMax": lambda axes: xp.max(array, axis=axes),
        "ReduceMean": lambda axes: xp.mean(array, axis=axes),
    }
    return lambda axes: lambda: known[operator](axes).compute()


def try_out(peer: Reduction, x: Any, axes: tuple[int, ...]) -> None:
    """Run a peer on a small part of an array; NotImplementedError where it can't serve dtype or axes."""
    corner = x[tuple(slice(2) for _ in x.shape)]
    try:
        with np.errstate(all="ignore"):
            peer(corner, axes)
    except (TypeError, ValueError) as error:
        raise NotImplementedError(str(error)) from error
