"""Kernels of plain NumPy, which work box by box of results and block by block of terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State
from xpreduce_numpy.plain.extremes import Extremes
from xpreduce_numpy.plain.general import General
from xpreduce_numpy.plain.integer_products import IntegerProducts
from xpreduce_numpy.plain.integers import IntegerSums
from xpreduce_numpy.plain.log_sum_exp import WideLogSumExp
from xpreduce_numpy.plain.narrow import NarrowSums
from xpreduce_numpy.plain.products import NarrowProducts
from xpreduce_numpy.plain.wide import WideSums
from xpreduce_numpy.plain.wide_products import WideProducts

Boxes = (
    NarrowSums
    | WideSums
    | IntegerSums
    | NarrowProducts
    | WideProducts
    | IntegerProducts
    | Extremes
    | WideLogSumExp
    | General
)


class Plain:
    """Results and states of one array."""

    def __init__(self, x: Any, reduction: Reduction) -> None:
        self._reduction = reduction
        self._boxes = _boxes(x, reduction)
        self.walk = self._boxes.walk

    @property
    def kernel(self) -> str:
        """What runs, in words."""
        return self._boxes.kernel

    def reduce(self) -> Any:
        """Return the results."""
        out: Any = np.empty(self.walk.kept, in_namespace(np, self._reduction.result.name))
        for box in self.walk.results():
            part = out[(*box, ...)]  # the ellipsis keeps an array where no dimension is left
            part[...] = self._boxes.results(box).reshape(part.shape)
        return self.walk.in_place(out, self._reduction.plan.keepdims)

    def partial(self) -> State:
        """Return the state, with every reduced dimension at length 1."""
        whole: list[Any] = []
        for box in self.walk.results():
            state = self._boxes.state(box)
            # What has no dimensions in a state is the same for all results.
            whole = whole or [np.empty(self.walk.kept, s.dtype) if s.ndim else s for s in state]
            for total, part in zip(whole, state, strict=True):
                if part.ndim:
                    view = total[(*box, ...)]
                    view[...] = part.reshape(view.shape)
        return tuple(
            self.walk.in_place(total, True) if part.ndim else total
            for total, part in zip(whole, state, strict=True)
        )


def _boxes(x: Any, reduction: Reduction) -> Boxes:
    operator, dtype, result = reduction.operator, reduction.dtype, reduction.result
    narrow = dtype.is_float and result.is_float and max(dtype.bits, result.bits) < 64
    if operator.combine in ("maximum", "minimum"):
        return Extremes(x, reduction)
    if operator.combine == "product":
        if dtype.is_float:
            return NarrowProducts(x, reduction) if narrow else WideProducts(x, reduction)
        return General(x, reduction) if result.is_float else IntegerProducts(x, reduction)
    if narrow:
        return NarrowSums(x, reduction)
    if operator.lift == "exp":
        return WideLogSumExp(x, reduction)
    return WideSums(x, reduction) if dtype.is_float else IntegerSums(x, reduction)
