"""The states of every operator, and what can be done with them, for any array-API namespace.

An algebra makes a state from a matrix of values (one row for each result), combines two states, and
finishes one. It only uses what the array API standard has, so the same code serves NumPy, CuPy, PyTorch
and the others; backends replace what they can do faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

from xpreduce.algebra.extremes import Extreme
from xpreduce.algebra.float_sums import FloatSum
from xpreduce.algebra.integer_sums import IntegerSum
from xpreduce.algebra.log_sum_exp import LogSumExp
from xpreduce.algebra.products import FloatProduct, IntegerProduct
from xpreduce.protocol import Reduction, State


class Algebra(Protocol):
    """What each kind of state can do; `xp` is the array namespace throughout."""

    def identity(self, xp: Any, shape: tuple[int, ...], device: Any) -> State:
        """Return the state of the empty set, of the given shape."""

    def partial(self, xp: Any, values: Any) -> State:
        """Return the state of each row of the matrix `values`; the arrays in it have shape (rows,)."""

    def combine(self, xp: Any, a: State, b: State) -> State:
        """Return the state of the values of both, shape by shape."""

    def finish(self, xp: Any, state: State) -> Any:
        """Return the results, in the result's dtype."""


@lru_cache(maxsize=1024)
def algebra_of(reduction: Reduction) -> Algebra:
    """Return the algebra for this reduction's operator and dtypes."""
    operator, dtype, result = reduction.operator, reduction.dtype, reduction.result
    if operator.combine in ("maximum", "minimum"):
        return Extreme(operator.combine, dtype, result)
    if operator.combine == "product":
        integers = not (dtype.is_float or result.is_float)
        return IntegerProduct(dtype, result) if integers else FloatProduct(dtype, result)
    if operator.lift == "exp":
        return LogSumExp(dtype, result)
    if dtype.is_float:
        return FloatSum(operator.lift, operator.finish, dtype, result)
    return IntegerSum(operator.lift, operator.finish, dtype, result)


_STACKED = 2**16
"""Numbers in one array of all states up to which stacking them costs less than merging one by one."""


def merged(xp: Any, algebra: Algebra, states: Sequence[State]) -> State:
    """Return the state of the values of all: of many small states by halves of a stack of them."""
    first, *others = states
    size = max(part.size if part.size is not None else _STACKED for part in first)
    if len(states) * size > _STACKED:
        for state in others:
            first = algebra.combine(xp, first, state)
        return first
    stack: State = tuple(xp.stack(parts) for parts in zip(*states, strict=True))
    count = len(states)
    while count > 1:
        half = count // 2
        a, b, odd = (
            tuple(part[start:stop, ...] for part in stack)
            for start, stop in ((0, half), (half, 2 * half), (2 * half, count))
        )
        stack = algebra.combine(xp, a, b)
        if count % 2:
            stack = tuple(xp.concat(both) for both in zip(stack, odd, strict=True))
        count = half + count % 2
    return tuple(part[0, ...] for part in stack)
