"""Compiled kernels or plain NumPy: by what is installed, by size, or as a test wants it."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Literal

from xpreduce.protocol import Reduction

LEAST = 2**15
"""Elements from which compiled kernels are worth their first call."""

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


def compiled(x: Any, reduction: Reduction) -> tuple[Any, str]:
    """Return the compiled kernel for an array, or None, and why."""
    choice = _wanted.get()
    if choice == "plain":
        return None, "plain NumPy is asked for"
    if choice is None and x.size < LEAST:
        return None, f"fewer than {LEAST} elements"
    lacks = missing()
    if lacks is not None:
        return None, lacks
    if x.size == 1:
        return None, "one element"
    if not x.dtype.isnative:
        return None, "the byte order is not the machine's"
    from xpreduce_numpy.compiled.families import family
    from xpreduce_numpy.compiled.kernel import Compiled

    found = family(reduction, math.prod(x.shape[axis] for axis in reduction.plan.axes))
    if found is None:
        return None, "no compiled kernel for these dtypes"
    return Compiled(x, reduction, found), ""
