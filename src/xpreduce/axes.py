"""The ONNX rules for axes, keepdims and the no-op: a pure function from arguments to a frozen plan."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Literal

Noop = bool | Literal["elementwise"]


class AxisError(ValueError, IndexError):
    """An axis lies outside the array's rank.

    It is a ValueError and an IndexError, as NumPy's own `numpy.exceptions.AxisError` is.

    Examples
    --------
    >>> import numpy as np, xpreduce
    >>> try:
    ...     xpreduce.reduce_sum(np.ones((2, 3)), axes=2)
    ... except xpreduce.AxisError as error:
    ...     print(error)
    ReduceSum: axis 2 is out of range for an array of rank 2; allowed are -2 to 1
    """


@dataclass(frozen=True, slots=True)
class Plan:
    """Which dimensions go, and what remains in their place.

    Attributes
    ----------
    ndim : int
        Rank of the input.
    axes : tuple of int
        The reduced dimensions, each from 0 to ``ndim - 1``, ascending.
    kept : tuple of int
        The other dimensions, ascending.
    keepdims : bool
        Whether the reduced dimensions stay, with length 1.
    unchanged : bool
        Whether the input itself is the result: no axes, and the no-op asked for.
    """

    ndim: int
    axes: tuple[int, ...]
    kept: tuple[int, ...]
    keepdims: bool
    unchanged: bool

    def result_shape(self, shape: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the result's shape for an input of this shape."""
        if not self.keepdims:
            return tuple([shape[axis] for axis in self.kept])
        sizes = list(shape)
        for axis in self.axes:
            sizes[axis] = 1
        return tuple(sizes)


def plan(name: str, ndim: int, axes: tuple[int, ...] | None, keepdims: object, noop: object) -> Plan:
    """Apply the rules to one call; every error names the operator `name`.

    Parameters
    ----------
    name : str
        The operator's name, for the errors.
    ndim : int
        Rank of the input.
    axes : tuple of int or None
        What `as_tuple` made of the caller's argument.
    keepdims, noop : object
        The caller's arguments as they came.
    """
    keep = _flag(keepdims)
    if keep is None:
        raise ValueError(f"{name}: keepdims must be True, False, 1 or 0, not {keepdims!r}")
    elementwise = isinstance(noop, str) and noop == "elementwise"
    no_op = True if elementwise else _flag(noop)
    if no_op is None:
        raise ValueError(
            f'{name}: noop_with_empty_axes must be True, False, 1, 0 or "elementwise", not {noop!r}'
        )
    reduced = _normalised(name, ndim, axes or ())
    if not axes and not no_op:
        reduced = tuple(range(ndim))
    unchanged = not axes and no_op and not elementwise
    kept = tuple(axis for axis in range(ndim) if axis not in reduced)
    return Plan(ndim, reduced, kept, keep, unchanged)


def as_tuple(name: str, axes: Any) -> tuple[int, ...] | None:
    """Turn any allowed form of `axes` into a tuple of Python integers, or None.

    Allowed are None, one integer, a list, tuple or range of integers, and a 1-D integer array of any
    eager library.

    Raises
    ------
    TypeError
        If it is, or holds, anything else: a bool, a float, a string, an array that is not computed yet.
    ValueError
        If it is an array of more than one dimension.
    """
    if axes is None:
        return None
    if hasattr(axes, "__dask_graph__"):
        raise TypeError(f"{name}: axes is a Dask collection; call axes.compute() first")
    if hasattr(axes, "dtype") and hasattr(axes, "shape"):
        return _from_array(name, axes)
    if isinstance(axes, (list, tuple, range)):
        return tuple(_integer(name, axis) for axis in axes)
    return (_integer(name, axes),)


def _from_array(name: str, axes: Any) -> tuple[int, ...]:
    if len(axes.shape) > 1:
        raise ValueError(f"{name}: axes must be one-dimensional, not of shape {tuple(axes.shape)}")
    kind = str(axes.dtype).rpartition(".")[2].lstrip("<>=|")
    if not kind.startswith(("int", "uint", "i", "u")):
        raise TypeError(f"{name}: axes must be integers, not an array of {axes.dtype}")
    if hasattr(axes, "mask"):
        raise TypeError(f"{name}: axes must be integers, not a masked array")
    if not axes.shape:
        return (int(axes),)
    if hasattr(axes, "tolist"):  # one transfer, where the array is on a device
        return tuple(axes.tolist())
    return tuple(int(axes[i]) for i in range(axes.shape[0]))


def _integer(name: str, axis: object) -> int:
    if not isinstance(axis, bool):
        try:
            return operator.index(axis)  # type: ignore[arg-type]  # asking is the test
        except TypeError:
            pass
    raise TypeError(f"{name}: an axis must be an integer, not {axis!r} ({type(axis).__name__})")


def _normalised(name: str, ndim: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    seen: dict[int, int] = {}
    for axis in axes:
        if not -ndim <= axis < ndim:
            allowed = f"allowed are {-ndim} to {ndim - 1}" if ndim else "it has no axes"
            raise AxisError(f"{name}: axis {axis} is out of range for an array of rank {ndim}; {allowed}")
        positive = axis % ndim
        if positive in seen:
            same = f"{seen[positive]} and {axis}" if seen[positive] != axis else f"{axis}, twice"
            raise ValueError(f"{name}: axes names the same dimension of rank {ndim} twice: {same}")
        seen[positive] = axis
    return tuple(sorted(seen))


def _flag(value: object) -> bool | None:
    """Return the truth value of a bool or of the integers 0 and 1, of any library; None for all else."""
    if type(value).__name__ not in ("bool", "bool_"):
        try:
            value = operator.index(value)  # type: ignore[arg-type]  # asking is the test
        except TypeError:
            return None
        if value not in (0, 1):
            return None
    return bool(value)
