"""The part that Dask does: a source as a lazy array, and computing on threads that can be stopped."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dask.array
import numpy as np

import xpreduce
from xpreduce.cli.command import Request
from xpreduce.cli.interrupts import undisturbed
from xpreduce.cli.sources import Source

# Dask's own annotations cover a part of it only, which strict type checking takes for errors.
da: Any = dask.array


def as_dask(source: Source, block: tuple[int, ...]) -> Any:
    """Return a lazy array of the source, with one task for each block."""
    meta = np.empty((0,) * source.ndim, source.dtype)
    return da.from_array(source, chunks=block, asarray=False, fancy=False, lock=False, meta=meta)


def reduced(request: Request, array: Any) -> Any:
    """Return the reduction that was asked for, of any lazy array."""
    name, dtype = request.operator.name, request.dtype
    return xpreduce.reduce(name, array, request.axes, keepdims=request.keepdims, dtype=dtype)


def rehearse(request: Request, source: Source) -> None:
    """Reduce a single value, which loads all code that the real run will need."""
    tiny = da.zeros((1,) * source.ndim, dtype=source.dtype, chunks=1)
    reduced(request, tiny).compute(scheduler="sync")


def work(source: Source, threads: int, compute: Callable[..., Any]) -> Any:
    """Run ``compute(scheduler=…, pool=…)`` on threads of our own, and leave none running if it ends early."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="xpreduce")
    try:
        return compute(scheduler="threads", pool=pool)
    except BaseException:
        # Blocks that are being worked on end first: one could otherwise write to an output that is
        # being removed.
        with undisturbed():
            source.cancelled.set()
            pool.shutdown(wait=True, cancel_futures=True)
        raise
    finally:
        pool.shutdown()
