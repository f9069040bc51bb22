"""One run of the command: open, check, plan, compute, and print or write the result."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import prod
from typing import Any

from dask.system import CPU_COUNT

from xpreduce.cli import lazy, memory, plan, results
from xpreduce.cli.command import Request
from xpreduce.cli.errors import CommandError, UsageError, reason
from xpreduce.cli.outputs import NpyOutput, Output, ZarrOutput
from xpreduce.cli.progress import progress
from xpreduce.cli.sources import Source
from xpreduce.cli.stores import open_input, split
from xpreduce.cli.targets import Target


def run(request: Request) -> None:
    """Do what was asked; everything that can go wrong without reading the data does so first."""
    target = None
    if request.output is not None:
        path, name = split(request.input)
        # The array may lie elsewhere than its group, by way of links.
        parts = name.split("/") if name else []
        inside = [os.path.join(path, *parts[: i + 1]) for i in range(len(parts))]
        target = Target(request.output, [path, *inside], overwrite=request.overwrite)
    with _told(quiet=request.quiet):
        source = open_input(request.input, fill_missing=request.missing_chunks == "fill")
        like, axes = _outline(request, source)
        if target is None and like.size > results.MOST_PRINTED:
            raise UsageError(f"the result has {like.size} values, too many to print: write it with -o")
        chosen = _plan(request, source, like.dtype.itemsize, axes)
        for text in source.warnings():
            warnings.warn(text, stacklevel=1)
        if missing := source.missing():
            raise CommandError(f"{source.path}: {missing}")
        source.block, source.retries = chosen.block, request.retries
        result = lazy.reduced(request, lazy.as_dask(source, chosen.block))
        about = {
            "operator": request.operator.name,
            "input": request.input,
            "axes": list(axes),
            "keepdims": request.keepdims,
            "dtype": like.dtype.name,
            "shape": list(like.shape),
        }
        if target is None:
            values = _compute(request, source, chosen.threads, result)
            scalar = len(axes) == source.ndim
            if request.json:
                _print(results.as_json(values, scalar=scalar, about=about))
            else:
                _print(results.text(values, scalar=scalar))
        else:
            _write(request, source, chosen.threads, result, target)
            if request.json:
                _print(results.document(about | {"output": request.output}))


def _outline(request: Request, source: Source) -> tuple[Any, tuple[int, ...]]:
    """Return a result of the right shape and dtype that is never computed, and the axes from 0 on.

    This is where the library checks the arguments against the input.
    """
    try:
        like = lazy.reduced(request, lazy.as_dask(source, source.shape))
    except TypeError as error:
        raise CommandError(f"{source.path}: {reason(error)}") from None
    except ValueError as error:
        raise UsageError(f"{source.path}: {reason(error)}") from None
    axes = sorted(axis % source.ndim for axis in request.axes or range(source.ndim))
    return like, tuple(axes)


def _plan(request: Request, source: Source, result: int, axes: tuple[int, ...]) -> plan.Plan:
    threads = request.threads or CPU_COUNT
    lazy.rehearse(request, source)
    itemsize = source.dtype.itemsize
    layout = plan.Layout(source.shape, itemsize, source.unit, source.extra, source.order, axes, result)
    limit = memory.default_limit() if request.memory_limit is None else request.memory_limit
    chosen = plan.choose(layout, threads, limit, memory.resident() + memory.COMPILING)
    memory.set_malloc(reuse=chosen.reuse)
    return chosen


def _compute(request: Request, source: Source, threads: int, result: Any) -> Any:
    with source.settings(threads), _progress(request, source):
        return lazy.work(source, threads, result.compute)


def _write(request: Request, source: Source, threads: int, result: Any, target: Target) -> None:
    output: Output
    if target.suffix == ".zarr":
        result = _coarser(result)
    chunks = tuple(sizes[0] for sizes in result.chunks)
    if target.suffix == ".npy":
        # In the input's order, so that a slab of the input is a slab of the output.
        fortran = source.order[:1] == (0,) and source.ndim > 1
        output = NpyOutput(target, result.shape, result.dtype, chunks, source.cancelled, fortran=fortran)
    else:
        output = ZarrOutput(target, result.shape, result.dtype, chunks, source.cancelled)
    with output.writing(), source.settings(threads), _progress(request, source):
        lazy.work(source, threads, lambda **how: result.store(output, lock=False, **how))


def _coarser(result: Any) -> Any:
    """Join blocks that would make tiny chunks: each chunk of a Zarr store is a file."""
    blocks = tuple(sizes[0] for sizes in result.chunks)
    most = memory.MIB // result.dtype.itemsize
    chunks = plan.grow(result.shape, blocks, range(result.ndim)[::-1], most)
    return result if chunks == blocks else result.rechunk(chunks)


def _progress(request: Request, source: Source) -> Any:
    shown = False if request.quiet else request.progress
    return progress(source, prod(source.shape) * source.dtype.itemsize, shown=shown)


def _print(text: str) -> None:
    if sys.stdout is None:
        raise CommandError("standard output is closed: write the result with -o")
    try:
        print(text, flush=True)
    except OSError as error:
        # What is left in the buffer would fail once more at exit, with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise CommandError(f"standard output: {reason(error)}") from None


@contextmanager
def _told(*, quiet: bool) -> Iterator[None]:
    """Turn warnings into single lines on stderr, or into nothing."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        with suppress(OSError):  # a warning that nobody can read must not end the run
            print(f"xpreduce: warning: {reason(Warning(message))}", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        else:
            warnings.simplefilter("default")
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.showwarning = show
        yield
