"""How many threads a reduction may use: a number for the process, and one for a block of code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_local: ContextVar[int | None] = ContextVar("xpreduce_num_threads", default=None)
_everywhere: int | None = None


def set_num_threads(n: int | None) -> None:
    """Set how many threads a reduction of a NumPy array may use, in the whole process.

    Compiled kernels share out large arrays among threads; what else runs uses one. Results are the same
    for every number. The chunks of a Dask array are reduced with one thread each, since Dask has its own.

    Parameters
    ----------
    n : int or None
        The number, at least 1; None for as many as the process may use cores, which is the default.

    Raises
    ------
    TypeError
        If `n` is not an integer or None.
    ValueError
        If `n` is less than 1.

    See Also
    --------
    use_num_threads : Set it for a block of code.

    Examples
    --------
    >>> import xpreduce
    >>> xpreduce.set_num_threads(2)
    >>> xpreduce.get_num_threads()
    2
    >>> xpreduce.set_num_threads(None)
    """
    global _everywhere
    _everywhere = None if n is None else _checked(n)


def get_num_threads() -> int:
    """Return how many threads a reduction may use here.

    Returns
    -------
    int
        What `use_num_threads` or `set_num_threads` says, else how many cores the process may use.

    Examples
    --------
    >>> import xpreduce
    >>> xpreduce.get_num_threads() >= 1
    True
    """
    number = _local.get() or _everywhere
    if number is not None:
        return number
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def use_num_threads(n: int) -> Iterator[None]:
    """Let reductions use `n` threads inside a ``with`` block; other threads and tasks don't notice.

    Parameters
    ----------
    n : int
        The number, at least 1.

    Raises
    ------
    TypeError
        If `n` is not an integer.
    ValueError
        If `n` is less than 1.

    Examples
    --------
    >>> import numpy as np, xpreduce
    >>> with xpreduce.use_num_threads(1):
    ...     print(xpreduce.reduce_l2(np.array([3.0, 4.0]), keepdims=False))
    5.0
    """
    token = _local.set(_checked(n))
    try:
        yield
    finally:
        _local.reset(token)


def _checked(n: int) -> int:
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"the number of threads must be an integer, not {n!r}")
    number = n.__index__()
    if number < 1:
        raise ValueError(f"the number of threads must be at least 1, not {number}")
    return number
