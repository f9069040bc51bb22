"""All checks on one call, before anything is computed: which backend it is for, and what that is to do."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xpreduce import dispatch
from xpreduce.axes import as_tuple, plan
from xpreduce.dtypes import DTYPES, NUMERIC, SMALL, cast_hint, name_of
from xpreduce.operators import Operator
from xpreduce.protocol import Backend, Reduction


def prepare(
    op: Operator, data: Any, axes: Any, keepdims: object, noop: object, dtype: Any, backend: str | None
) -> tuple[Backend, Reduction]:
    """Make every check on one call; return the backend and the reduction that it is to do."""
    try:
        if backend is None:
            served = dispatch.backend_for(data)
        else:
            served = dispatch.checked(dispatch.named(backend), data)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{op.name}: {error}") from None
    if axes is not None and type(axes) is not int:
        axes = as_tuple(op.name, axes)
    elif axes is not None:
        axes = (axes,)
    if dtype is not None:
        dtype = _result_name(op, dtype)
    try:
        return served, _reduction(op, data.dtype, data.ndim, axes, keepdims, noop, dtype)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        # Only an argument that no rule allows, such as an array for keepdims, is unhashable.
        return served, _reduction.__wrapped__(op, data.dtype, data.ndim, axes, keepdims, noop, dtype)


@lru_cache(maxsize=1024, typed=True)
def _reduction(
    op: Operator,
    dtype: Any,
    ndim: int,
    axes: tuple[int, ...] | None,
    keepdims: object,
    noop: object,
    result: str | None,
) -> Reduction:
    name = name_of(dtype)
    allowed = op.dtypes if result is None else (*op.dtypes, *SMALL)
    if name not in allowed:
        raise TypeError(f"{op.name} takes no {name}; it takes {', '.join(op.dtypes)}: {cast_hint(name)}")
    rules = plan(op.name, ndim, axes, keepdims, noop)
    if rules.unchanged and result not in (None, name):
        raise ValueError(
            f"{op.name}: the no-op returns its input unchanged, as {name}, so dtype can't be {result}; "
            'noop_with_empty_axes="elementwise" converts'
        )
    return Reduction(op, DTYPES[name], DTYPES[result or name], rules)


def _result_name(op: Operator, dtype: Any) -> str:
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or name_of(dtype)
    if name not in NUMERIC:
        raise TypeError(f"{op.name}: dtype must be one of {', '.join(NUMERIC)}, not {name}")
    return str(name)
