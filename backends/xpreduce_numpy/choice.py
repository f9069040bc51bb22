"""Compiled kernels or plain NumPy: by what is installed, by size, or as a test wants it."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from xpreduce.protocol import Reduction
from xpreduce_numpy.plain import Plain

if TYPE_CHECKING:
    from xpreduce_numpy.compiled.kernel import Compiled
    from xpreduce_numpy.compiled.several import Together

LEAST = 2**12
"""Elements from which compiled kernels are worth their first call."""

LEAST_OF_PIECES = 2**8
"""The same for states, since an array is one of many pieces then."""

Choice = Literal["compiled", "plain"]

_wanted: ContextVar[Choice | None] = ContextVar("xpreduce_numpy_kernels", default=None)


@contextmanager
def use_kernels(choice: Choice) -> Iterator[None]:
    """Let only compiled kernels, where they can serve, or only plain NumPy run inside a ``with`` block."""
    token = _wanted.set(choice)
    try:
        yield
    finally:
        _wanted.reset(token)


def wanted() -> Choice | None:
    """Return what `use_kernels` asks for here."""
    return _wanted.get()


@lru_cache(maxsize=1)
def missing() -> str | None:
    """Return what compiled kernels lack, or None; asks without importing it."""
    for package in ("llvmlite", "platformdirs"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed: pip install 'xpreduce[compiled]'"
    return None


def choose(x: Any, reduction: Reduction, states: bool = False) -> tuple[Plain | Compiled, str]:
    """Return what is to reduce an array, or make its state, and why it is plain NumPy if it is."""
    why = _plain(x, states)
    if why is None:
        from xpreduce_numpy.compiled.families import family
        from xpreduce_numpy.compiled.kernel import Compiled

        found = family(reduction, math.prod(x.shape[axis] for axis in reduction.plan.axes), states)
        if found is not None:
            return Compiled(x, reduction, found), ""
        why = "no compiled kernel for these dtypes"
    return Plain(x, reduction), why


def together(x: Any, reductions: Sequence[Reduction], states: bool = False) -> Together | None:
    """Return what makes those of several reductions, or states, in one go that can be, or None."""
    if not x.size or _plain(x, states) is not None:
        return None
    from xpreduce_numpy.compiled.families import family
    from xpreduce_numpy.compiled.several import Together

    terms = math.prod(x.shape[axis] for axis in reductions[0].plan.axes)
    families = {reduction: family(reduction, terms, states) for reduction in reductions}
    served = {reduction: found for reduction, found in families.items() if found is not None}
    return Together(x, list(served), list(served.values())) if len(served) > 1 else None


def _plain(x: Any, states: bool) -> str | None:
    """Return why an array is for plain NumPy, whatever the reduction, or None."""
    least = LEAST_OF_PIECES if states else LEAST
    if _wanted.get() == "plain":
        return "plain NumPy is asked for"
    if _wanted.get() is None and x.size < least:
        return f"fewer than {least} elements"
    if x.size == 1:
        return "one element"
    return missing() or (None if x.dtype.isnative else "the byte order is not the machine's")
