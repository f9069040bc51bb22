"""Compare xpreduce with its peers in alternation, in one process, so that a noisy machine treats all alike.

    python asv_benchmarks/ratios.py --grid            every layout and dtype on NumPy arrays
    python asv_benchmarks/ratios.py --threads         from one thread to all cores
    python asv_benchmarks/ratios.py --sizes           cost against size, from 40 bytes to a gigabyte
    python asv_benchmarks/ratios.py --calls           a call on a (3, 4) array, and the import
    python asv_benchmarks/ratios.py --dask            Dask arrays in memory, from .npy and from Zarr
    python asv_benchmarks/ratios.py --memory          peak memory beyond input and result

A ratio is the peer's time over ours: 2.0 means that xpreduce is twice as fast, below 0.9 counts as slower.
The read limit is that of np.dot over 256 MiB of float32, in as many threads as there are cores, timed in the
same alternation. Every figure is a median over the rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import calls, cases, dask_arrays, data, memory, peers
from benchmarks.other_libraries import reductions
from benchmarks.peers import Reduction

import xpreduce

LIMIT = "read limit"
LIMIT_BYTES = 256 * 2**20
Record = dict[str, Any]


def seconds(call: Callable[[], Any]) -> float:
    """Return the time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def alternate(
    contenders: dict[str, Callable[[], Any]], rounds: int, repeats: int = 1
) -> dict[str, list[float]]:
    """Time the contenders one after the other, in turn, after a round that only warms up.

    In a round each is called at once `repeats` times and the best counts. Every other round runs backwards,
    so that none always profits from what its forerunner left in the cache.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    gc.collect()
    for turn in range(rounds + 1):
        order = list(contenders) if turn % 2 else list(reversed(contenders))
        for name in order:
            best = min(seconds(contenders[name]) for _ in range(repeats))
            if turn:
                times[name].append(best)
    return times


def ratio(times: dict[str, list[float]], name: str) -> float:
    """Return the median of a contender's time over ours, round by round."""
    return statistics.median(
        theirs / ours for theirs, ours in zip(times[name], times[peers.OURS], strict=True)
    )


def read_limit() -> Callable[[], Any]:
    """Return the call that sets the limit: it reads LIMIT_BYTES."""
    # Past the cache of `filled`, which keeps the data that is measured.
    x = data.filled.__wrapped__("float32", LIMIT_BYTES // 4, "normal")
    parts = np.array_split(x, xpreduce.get_num_threads())
    pool = ThreadPoolExecutor(len(parts))
    return lambda: list(pool.map(lambda part: np.dot(part, part), parts))


def grid(options: argparse.Namespace) -> Iterator[Record]:
    """Yield the figures of every case on NumPy arrays."""
    limit = read_limit()
    for dtype in options.dtypes:
        try:
            itemsize = data.dtype_of(dtype).itemsize
        except NotImplementedError as error:
            print(f"{dtype}: {error}", file=sys.stderr)
            continue
        elements = options.elements or cases.enough_elements(itemsize)
        buffer = data.filled(dtype, elements, options.data)
        for operator in options.operators:
            for name in options.cases:
                case = cases.CASES[name]
                x = case.look(buffer, elements)
                contenders: dict[str, Callable[[], Any]] = {LIMIT: limit}
                for by, reduction in reductions(operator).items():
                    if by != peers.OURS:
                        try:
                            peers.try_out(reduction, x, case.axes)
                        except NotImplementedError:
                            continue
                    contenders[by] = lambda reduction=reduction, x=x, case=case: reduction(x, case.axes)
                touched = math.prod(case.scaled(elements)) * itemsize + contenders[peers.OURS]().nbytes
                times = alternate(contenders, options.rounds)
                yield record(operator, name, dtype, touched, times, LIMIT_BYTES)


def record(
    operator: str, case: str, dtype: str, touched: int, times: dict[str, list[float]], limit_bytes: int
) -> Record:
    """Return one case's figures: rate, share of the limit, ratio to each peer."""
    return {
        "operator": operator,
        "case": case,
        "dtype": dtype,
        "GB/s": touched / statistics.median(times[peers.OURS]) / 1e9,
        "share of limit": ratio(times, LIMIT) * touched / limit_bytes,
        "ratios": {by: ratio(times, by) for by in times if by not in (peers.OURS, LIMIT)},
    }


def thread_counts(options: argparse.Namespace) -> Iterator[Record]:
    """Yield the share of the read limit by one thread, two, and so on to all cores."""
    limit, most = read_limit(), xpreduce.get_num_threads()
    counts = sorted({min(2**k, most) for k in range(most.bit_length() + 1)})
    for dtype in options.dtypes:
        itemsize = data.dtype_of(dtype).itemsize
        elements = options.elements or cases.enough_elements(itemsize)
        buffer = data.filled(dtype, elements, options.data)
        for operator in options.operators:
            for name in options.cases:
                case = cases.CASES[name]
                x = case.look(buffer, elements)

                def call(count: int, x: Any = x, case: cases.Case = case, operator: str = operator) -> Any:
                    with xpreduce.use_num_threads(count):
                        return xpreduce.reduce(operator, x, case.axes)

                contenders = {str(count): lambda count=count, call=call: call(count) for count in counts}
                times = alternate({LIMIT: limit, **contenders}, options.rounds)
                share = math.prod(case.scaled(elements)) * itemsize / LIMIT_BYTES
                figures = {
                    f"share by {count}": share
                    * statistics.median(a / b for a, b in zip(times[LIMIT], times[str(count)], strict=True))
                    for count in counts
                }
                yield {"operator": operator, "case": name, "dtype": dtype, **figures}


def sizes(options: argparse.Namespace) -> Iterator[Record]:
    """Yield the cost of a call on one-dimensional arrays, from the smallest to as large as asked for."""
    for dtype in options.dtypes:
        most = options.elements or 2**30 // data.dtype_of(dtype).itemsize
        buffer = data.filled(dtype, most, options.data)
        for operator in options.operators:
            elements = 10
            while elements <= most:
                x = buffer[:elements]
                number = max(1, 2**14 // elements)

                def many(reduction: Reduction, x: Any = x, number: int = number) -> None:
                    for _ in range(number):
                        reduction(x, (0,))

                ways = {by: peers.NUMPY[operator][by] for by in (peers.OURS, "numpy formula")}
                contenders = {by: partial(many, reduction) for by, reduction in ways.items()}
                times = alternate(contenders, options.rounds)
                seconds_each = statistics.median(times[peers.OURS]) / number
                yield {
                    "operator": operator,
                    "case": f"{x.nbytes} bytes",
                    "dtype": dtype,
                    "bytes": x.nbytes,
                    "µs": seconds_each * 1e6,
                    "GB/s": x.nbytes / seconds_each / 1e9,
                    "ratios": {"numpy formula": ratio(times, "numpy formula")},
                }
                elements = elements * 3 // 2 if elements < 2**20 else elements * 2


def tiny_calls(options: argparse.Namespace) -> Iterator[Record]:
    """Yield what a call on a (3, 4) array costs, and the import."""
    number = 2000
    for operator in [name for name in options.operators if name in calls.CALLS]:
        for dtype in ("float32", "float64"):
            x = calls.tiny(dtype)

            def many(call: Callable[[Any], Any], x: np.ndarray = x) -> None:
                for _ in range(number):
                    call(x)

            contenders = {
                by: lambda call=call, many=many: many(call) for by, call in calls.CALLS[operator].items()
            }
            times = alternate(contenders, max(options.rounds, 15), repeats=3)
            yield {
                "operator": operator,
                "case": "(3, 4), axes=1",
                "dtype": dtype,
                "µs": statistics.median(times[peers.OURS]) / number * 1e6,
                "ratios": {by: ratio(times, by) for by in times if by != peers.OURS},
            }
    imports = calls.import_seconds(11)
    yield {"case": "import xpreduce", "ms": statistics.median(imports) * 1e3, "best ms": min(imports) * 1e3}


def dask_ratios(options: argparse.Namespace) -> Iterator[Record]:
    """Yield the figures for Dask arrays; the limit is reading (and decoding) every chunk and no more."""
    for dtype in [name for name in options.dtypes if name != "bfloat16"]:  # Zarr has no bfloat16
        elements = options.elements or cases.enough_elements(np.dtype(dtype).itemsize)
        for source in dask_arrays.SOURCES:
            with tempfile.TemporaryDirectory() as folder:
                x = dask_arrays.chunked(source, dtype, elements, Path(folder))
                reading = x.map_blocks(touch, dtype=np.uint8, chunks=tuple((1,) * n for n in x.numblocks))
                for operator in [name for name in options.operators if name in peers.DASK]:
                    for axes_name, axes in dask_arrays.AXES.items():
                        lazy = {}
                        for by, build in peers.DASK[operator].items():
                            with suppress(NotImplementedError):
                                lazy[by] = build(x, axes)
                        lazy[LIMIT] = reading
                        contenders = {
                            by: lambda array=array: array.compute(scheduler="threads")
                            for by, array in lazy.items()
                        }
                        times = alternate(contenders, options.rounds)
                        case = f"{source}, axes {axes_name}"
                        yield record(operator, case, dtype, x.nbytes, times, x.nbytes)


def touch(block: np.ndarray) -> np.ndarray:
    """Return one byte for a chunk that has been read, after looking at one byte of each of its pages."""
    flat = block.reshape(-1).view(np.uint8)
    return np.full((1,) * block.ndim, np.bitwise_xor.reduce(flat[::4096]))


def extra_memory(options: argparse.Namespace) -> Iterator[Record]:
    """Yield the peak memory beyond input and result, in MiB."""
    for dtype in options.dtypes:
        itemsize = data.dtype_of(dtype).itemsize
        elements = options.elements or cases.enough_elements(itemsize)
        buffer = data.filled(dtype, elements, options.data)
        for operator in options.operators:
            for name in options.cases:
                case = cases.CASES[name]
                x = case.look(buffer, elements)
                reductions = peers.NUMPY[operator]
                extra = {
                    by: memory.extra_bytes(
                        lambda reduction=reductions[by], x=x, case=case: reduction(x, case.axes)
                    )
                    for by in memory.BY
                }
                yield {
                    "operator": operator,
                    "case": name,
                    "dtype": dtype,
                    "MiB": extra[peers.OURS] / 2**20,
                    "numpy formula MiB": extra["numpy formula"] / 2**20,
                }


def line(figures: Record) -> str:
    """Return a record as one line of a table."""
    parts = [
        f"{figures.get(key, ''):<{width}}" for key, width in (("operator", 10), ("case", 18), ("dtype", 9))
    ]
    for key, value in figures.items():
        if isinstance(value, float):
            parts.append(f"{key} {value:8.3f}")
    parts += [f"{by} ×{value:.2f}" for by, value in figures.get("ratios", {}).items()]
    return "  ".join(parts)


def power(text: str) -> int:
    """Read an element count: 1000000, or 2**26."""
    base, _, exponent = text.partition("**")
    return int(base) ** int(exponent or 1)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group()
    for name, function in (
        ("grid", grid),
        ("threads", thread_counts),
        ("sizes", sizes),
        ("calls", tiny_calls),
        ("dask", dask_ratios),
        ("memory", extra_memory),
    ):
        what.add_argument(f"--{name}", dest="what", action="store_const", const=function)
    parser.add_argument(
        "--elements", type=power, help="per array; default: as many as 256 MiB and eight caches hold"
    )
    parser.add_argument("--rounds", type=int, default=5, help="alternations, at least 5 for figures")
    parser.add_argument("--data", choices=data.KINDS, default="wide", help="see benchmarks/data.py")
    parser.add_argument("--operators", nargs="+", choices=peers.NUMPY, default=list(peers.NUMPY))
    parser.add_argument("--dtypes", nargs="+", choices=cases.DTYPES)
    parser.add_argument("--cases", nargs="+", choices=cases.CASES, default=list(cases.CASES))
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    parser.set_defaults(what=grid)
    options = parser.parse_args()
    if options.dtypes is None:
        options.dtypes = ["float32"] if options.what is dask_ratios else list(cases.DTYPES)
    return options


def main() -> None:
    """Measure what the command line asks for, and print it as it comes."""
    options = arguments()
    about = {
        "xpreduce": xpreduce.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "elements": options.elements or "by size",
        "data": options.data,
        "rounds": options.rounds,
    }
    records = []
    with np.errstate(all="ignore"):
        for figures in options.what(options):
            records.append(figures)
            if not options.json:
                print(line(figures), flush=True)
    if options.json:
        print(json.dumps({"about": about, "figures": records}, indent=1))
    else:
        print("  ".join(f"{key} {value}" for key, value in about.items()))


if __name__ == "__main__":
    main()
