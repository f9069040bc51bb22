"""The states of every operator, and what can be done with them, for any array-API namespace.

An algebra makes a state from a matrix of values (one row for each result), combines two states, and
finishes one. It only uses what the array API standard has, so the same code serves NumPy, CuPy, PyTorch
and the others; backends replace what they can do faster.
"""

from __future__ import annotations

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
