"""Shape, strides and axes merged to the fewest dimensions: (kept, reduced, kept, …) in memory order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xpreduce.axes import Plan


@dataclass(frozen=True, slots=True)
class Dimension:
    """Neighbouring dimensions that are walked as one.

    Attributes
    ----------
    size : int
        Number of elements along it.
    stride : int
        Bytes from one element to the next; may be negative or 0.
    reduced : bool
        Whether it is reduced or kept.
    axes : tuple of int
        The array's dimensions in it, outermost first.
    """

    size: int
    stride: int
    reduced: bool
    axes: tuple[int, ...]

    def __str__(self) -> str:
        return f"{'reduced' if self.reduced else 'kept'} {self.size}"


def merge(shape: tuple[int, ...], strides: tuple[int, ...], axes: tuple[int, ...]) -> tuple[Dimension, ...]:
    """Return the dimensions of an array in memory order, largest stride first, merged where they can be.

    Dimensions of length 1 are left out. Two merge where both are reduced or both kept, and the outer one
    steps over exactly the whole inner one.

    Parameters
    ----------
    shape, strides : tuple of int
        The array's; strides in bytes.
    axes : tuple of int
        The reduced dimensions, from 0 on.

    Examples
    --------
    >>> [str(dimension) for dimension in merge((64, 512, 128), (262144, 512, 4), (0, 1))]
    ['reduced 32768', 'kept 128']
    """
    order = sorted(
        (axis for axis, size in enumerate(shape) if size != 1), key=lambda axis: -abs(strides[axis])
    )
    merged: list[Dimension] = []
    for axis in order:
        size, stride, reduced = shape[axis], strides[axis], axis in axes
        last = merged[-1] if merged else None
        if last is not None and last.reduced == reduced and last.stride == size * stride:
            merged[-1] = Dimension(last.size * size, stride, reduced, (*last.axes, axis))
        else:
            merged.append(Dimension(size, stride, reduced, (axis,)))
    return tuple(merged)


class Places:
    """Where results that lie in memory order belong."""

    def __init__(self, dimensions: tuple[Dimension, ...], shape: tuple[int, ...], plan: Plan) -> None:
        order = [axis for d in dimensions if not d.reduced for axis in d.axes]
        ordered = sorted(order)
        self._sizes = tuple(shape[axis] for axis in order)
        self._axes = None if order == ordered else [order.index(axis) for axis in ordered]
        self._shape = plan.result_shape(shape)

    def of(self, flat: Any) -> Any:
        """Return results as an array of their shape, without a copy."""
        if self._axes is not None:
            flat = flat.reshape(self._sizes).transpose(self._axes)
        return flat.reshape(self._shape)
