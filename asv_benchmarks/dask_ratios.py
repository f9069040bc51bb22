"""Measure Dask arrays whose chunks are in memory, and several reductions at once, by the means of ratios.py.

    python asv_benchmarks/dask_ratios.py --chunks    against peers and the read limit, by size of chunk
    python asv_benchmarks/dask_ratios.py --many      100,000 chunks: building, tasks, Dask's own sum
    python asv_benchmarks/dask_ratios.py --memory    peak memory beside its bound
    python asv_benchmarks/dask_ratios.py --together  reduce_many against one call for each operator

A ratio is the peer's time over ours. xarray and cubed take part where they are installed.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from benchmarks import cases, data, memory, peers
from dask.system import CPU_COUNT
from ratios import LIMIT, LIMIT_BYTES, Record, alternate, line, power, ratio, read_limit, record

import xpreduce

MIB = 2**20
AXES: dict[str, tuple[int, ...] | None] = {"all": None, "first": (0,), "last": (1,)}
DASK_SUM = "dask formula"
SETS = (["l2", "mean", "max"], ["sum", "mean"], ["l2", "sum_square", "sum", "mean", "max", "min"])


def in_memory(dtype: str, elements: int, mib: int) -> tuple[Any, np.ndarray]:
    """Return a Dask array whose chunks are slabs of rows, each with memory of its own, and the same whole."""
    whole = data.filled(dtype, elements).reshape(-1, 4096)
    rows = max(1, mib * MIB // (4096 * whole.itemsize))
    lazy = da.from_array(whole, chunks=(rows, -1), name=False).map_blocks(np.copy, dtype=whole.dtype)
    return lazy.persist(scheduler="threads"), whole


def computed(build: Callable[..., Any], x: Any, axes: Any) -> Any:
    """Build a lazy reduction and compute it with threads."""
    return build(x, axes).compute(scheduler="threads")


def chunks(options: argparse.Namespace) -> Iterator[Record]:
    """Yield the figures by size of chunk."""
    limit = read_limit()
    for dtype in options.dtypes:
        elements = options.elements or max(cases.enough_elements(np.dtype(dtype).itemsize), 2**28)
        for mib in options.mib:
            x, whole = in_memory(dtype, elements, mib)
            for operator in options.operators:
                ways = peers.DASK[operator]
                for name, axes in AXES.items():
                    contenders: dict[str, Callable[[], Any]] = {LIMIT: limit}
                    for by, build in ways.items():
                        with suppress(NotImplementedError):
                            build(x, axes)
                            contenders[by] = partial(computed, build, x, axes)
                    with tempfile.TemporaryDirectory() as folder:
                        if options.cubed:
                            made = peers.cubed_of(operator, whole, x.chunksize, folder)
                            contenders["cubed"] = made(axes)
                        times = alternate(contenders, options.rounds)
                    yield record(operator, f"{mib} MiB, {name}", dtype, whole.nbytes, times, LIMIT_BYTES)


def ones(shape: Any, chunks: Any, dtype: str) -> Any:
    """Return ones in chunks that have memory of their own; those of da.ones are one number."""
    return da.ones(shape, chunks=chunks, dtype=dtype).map_blocks(np.copy, dtype=dtype)


def many(options: argparse.Namespace) -> Iterator[Record]:
    """Yield what very many chunks cost."""
    count = options.count
    for dtype in options.dtypes:
        for length in options.lengths:
            x = ones(count * length, length, dtype)
            for operator in options.operators:
                start = time.perf_counter()
                lazy = peers.DASK[operator][peers.OURS](x, None)
                built = time.perf_counter() - start
                tasks = len(dict(dask.optimize(lazy)[0].__dask_graph__()))
                ways = {peers.OURS: lazy, DASK_SUM: x.sum()}
                contenders = {
                    by: lambda way=way: way.compute(scheduler="threads") for by, way in ways.items()
                }
                times = alternate(contenders, options.rounds)
                yield {
                    "operator": operator,
                    "case": f"{count} of {length}",
                    "dtype": dtype,
                    "built in s": built,
                    "tasks per chunk": tasks / count,
                    "µs per chunk": statistics.median(times[peers.OURS]) / count * 1e6,
                    "ratios": {"dask's sum": ratio(times, DASK_SUM)},
                }


def peak(operator: str, name: str, mib: int, count: int) -> tuple[float, float]:
    """Return the peak in MiB of reducing chunks that tasks make, and the bound; alone in a process."""
    axes, columns = AXES[name], 4096
    rows = mib * MIB // (4 * columns)

    def array(count: int) -> Any:
        return ones((rows * count, columns), (rows, columns), "float32")

    def reduced(count: int) -> Any:
        return xpreduce.reduce(operator, array(count), axes)

    reduced(2).compute(scheduler="threads")  # code and threads are not the reduction's memory
    lazy = reduced(count)
    before = memory.resident("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the peak
    out = lazy.compute(scheduler="threads")
    used = memory.resident("VmHWM") - before
    outputs = 1 if axes is None else rows if axes == (1,) else columns
    state = 0 if axes == (1,) else 64 * 32 * outputs
    return used / MIB, ((CPU_COUNT + 2) * mib * MIB + out.nbytes + state) / MIB + 64


def peaks(options: argparse.Namespace) -> Iterator[Record]:
    """Yield the peak of memory, each measured in a process of its own."""
    for mib in (16, 64):
        for operator in ("l2", "max", "log_sum_exp"):
            for name in AXES:
                code = (
                    f"import dask_ratios as d; print(*d.peak({operator!r}, {name!r}, {mib}, {2**12 // mib}))"
                )
                done = subprocess.run(
                    [sys.executable, "-c", code], cwd=sys.path[0], check=True, capture_output=True, text=True
                )
                used, bound = map(float, done.stdout.split())
                yield {
                    "operator": operator,
                    "case": f"{mib} MiB, {name}",
                    "dtype": "float32",
                    "MiB": used,
                    "bound": bound,
                }


def together(options: argparse.Namespace) -> Iterator[Record]:
    """Yield the ratio of one call for each operator to one call for all."""
    limit = read_limit()
    for dtype in options.dtypes:
        elements = options.elements or cases.enough_elements(np.dtype(dtype).itemsize)
        lazy, whole = in_memory(dtype, elements, 64)
        for ops in SETS:
            for name, axes in AXES.items():
                for kind, x in (("NumPy", whole), ("Dask", lazy)):

                    def all_at_once(ops: Any = ops, x: Any = x, axes: Any = axes) -> Any:
                        results = xpreduce.reduce_many(ops, x, axes)
                        return dask.compute(*results, scheduler="threads")

                    def one_by_one(ops: Any = ops, x: Any = x, axes: Any = axes) -> Any:
                        results = [xpreduce.reduce(op, x, axes) for op in ops]
                        return dask.compute(*results, scheduler="threads")

                    contenders = {LIMIT: limit, peers.OURS: all_at_once, "one by one": one_by_one}
                    times = alternate(contenders, options.rounds)
                    figures = record(
                        kind, f"{'+'.join(ops)}, {name}", dtype, whole.nbytes, times, LIMIT_BYTES
                    )
                    if kind == "NumPy":
                        figures["MiB extra"] = (
                            memory.extra_bytes(
                                lambda x=x, ops=ops, axes=axes: np.stack(xpreduce.reduce_many(ops, x, axes))
                            )
                            / MIB
                        )
                    yield figures


def main() -> None:
    """Measure what the command line asks for, and print it as it comes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group()
    for name, function in (("chunks", chunks), ("many", many), ("memory", peaks), ("together", together)):
        what.add_argument(f"--{name}", dest="what", action="store_const", const=function)
    parser.add_argument("--elements", type=power, help="per array; default: enough to measure memory")
    parser.add_argument("--rounds", type=int, default=5, help="alternations, at least 5 for figures")
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--operators", nargs="+", choices=peers.DASK, default=list(peers.DASK))
    parser.add_argument("--count", type=power, default=10**5, help="chunks of --many")
    parser.add_argument("--mib", nargs="+", type=int, default=[16, 64], help="size of chunks of --chunks")
    parser.add_argument("--lengths", nargs="+", type=int, default=[1, 1000], help="elements in each of them")
    parser.add_argument("--cubed", action="store_true", help="let cubed take part in --chunks")
    parser.set_defaults(what=chunks)
    options = parser.parse_args()
    for figures in options.what(options):
        print(line(figures), flush=True)


if __name__ == "__main__":
    main()
