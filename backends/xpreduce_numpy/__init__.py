"""The NumPy backend: compiled kernels, or plain NumPy in blocks that stay in cache.

It serves `numpy.ndarray`, `numpy.memmap` and NumPy scalars, with any strides and byte order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xpreduce import dtypes
from xpreduce.algebra import algebra_of, merged
from xpreduce.axes import Plan
from xpreduce.dtypes import DType
from xpreduce.operators import Operator
from xpreduce.protocol import Reduction, State, Status
from xpreduce_numpy import choice, pieces, small, small_states


def refusal(array_type: type) -> str | None:
    """Return why a subclass of ndarray can't be served."""
    if array_type in (np.ndarray, np.memmap) or issubclass(array_type, np.generic):
        return None
    name = f"{array_type.__module__}.{array_type.__qualname__}"
    if issubclass(array_type, np.ndarray):
        return (
            f"{name} is a subclass of numpy.ndarray whose meaning a reduction would lose (masks, units); "
            "reduce a plain array made of it, such as data.filled(0) or data.view(numpy.ndarray)"
        )
    return f"{name} is not a NumPy array; make one first, with numpy.asarray(data)"


def reduce(x: Any, reduction: Reduction) -> Any:
    """Return the reduction of the whole of `x`."""
    if small.serves(reduction, x.size) and choice.wanted() is None:
        result = small.reduce(x, reduction)
        if result is not None:
            return result
    x = np.asarray(x)
    if not x.size:
        shape = reduction.plan.result_shape(x.shape)
        dtype = dtypes.in_namespace(np, reduction.result.name)
        return np.full(shape, reduction.operator.empty_value(reduction.result), dtype)
    with np.errstate(all="ignore"):
        return choice.choose(x, reduction)[0].reduce()


def partial(x: Any, reduction: Reduction) -> State:
    """Return the state of `x`."""
    x = np.asarray(x)
    if 0 < x.size <= small_states.MOST and choice.wanted() is None:
        state = small_states.partial(x, reduction)
        if state is not None:
            return state
    with np.errstate(all="ignore"):
        if not x.size:
            shape = tuple(1 if i in reduction.plan.axes else size for i, size in enumerate(x.shape))
            return algebra_of(reduction).identity(np, shape, "cpu")
        return choice.choose(x, reduction, states=True)[0].partial()


def reduce_many(x: Any, reductions: Sequence[Reduction]) -> list[Any]:
    """Return several reductions of the whole of `x`."""
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        together = choice.together(x, reductions)
        if together is None and x.size > pieces.LENGTH:
            return pieces.reduce_many(x, reductions)
        found: dict[Reduction, Any] = {}
        if together is not None:
            found = dict(zip(together.reductions, together.reduce(), strict=True))
    return [found[each] if each in found else reduce(x, each) for each in reductions]


def partial_many(x: Any, reductions: Sequence[Reduction]) -> list[State]:
    """Return the states of `x` for several reductions."""
    x = np.asarray(x)
    found = {}
    with np.errstate(all="ignore"):
        together = choice.together(x, reductions, states=True)
        if together is not None:
            states = zip(together.reductions, together.partial(), strict=True)
            found = {reduction.operator.terms: state for reduction, state in states}
    for reduction in reductions:
        terms = reduction.operator.terms
        if terms not in found:
            found[terms] = partial(x, reduction)
    return [found[reduction.operator.terms] for reduction in reductions]


def merge(states: Sequence[State], reduction: Reduction) -> State:
    """Return the state of the values of all."""
    with np.errstate(all="ignore"):
        return merged(np, algebra_of(reduction), states)


def combine(a: State, b: State, reduction: Reduction) -> State:
    """Return the state of the values of both."""
    with np.errstate(all="ignore"):
        return algebra_of(reduction).combine(np, a, b)


def finish(state: State, reduction: Reduction) -> Any:
    """Return the result that `state` stands for."""
    with np.errstate(all="ignore"):
        result = algebra_of(reduction).finish(np, state)
    plan = reduction.plan
    return result if plan.keepdims else result.reshape(tuple(result.shape[i] for i in plan.kept))


def kernel(x: Any, reduction: Reduction) -> str:
    """Return in words what `reduce` would run on `x`."""
    if not x.size:
        return "none: the set is empty"
    if small.serves(reduction, x.size) and choice.wanted() is None:
        return f"exact Python numbers: at most {small.most(reduction.dtype)} elements"
    x = np.asarray(x)
    work, why = choice.choose(x, reduction)
    return f"{work.kernel}{f' ({why})' if why else ''}; layout: {work.walk}"


def warm_up(operator: Operator, dtype: DType) -> int:
    """Make ready what compiled kernels serve an operator and a dtype; return how many modules these are."""
    if choice.missing() is not None:
        return 0
    from xpreduce_numpy.compiled.families import warm_up

    return warm_up(Reduction(operator, dtype, dtype, Plan(1, (0,), (), True, False)))


def status() -> Status:
    """Return NumPy's version, and whether its kernels are compiled."""
    kernels = choice.missing() or "large arrays are reduced by compiled kernels"
    return Status(np.__version__, True, f"bfloat16 needs ml_dtypes; {kernels}")
