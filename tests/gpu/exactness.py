"""Right numbers: all operators, dtypes and layouts, small and large, and arrays beyond 2**31 elements.

Nothing here needs a GPU: `library` and `xp` may be NumPy's, and in the tests of these checks they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import exact
import numpy as np
from benchmarks import cases
from emulated_cuda.cases import EIGHT, LAYOUTS, check_one, dtypes_of, kinds_of, reduction_of, values
from libraries import Library, numpy_dtype

import xpreduce
from gpu import palette
from gpu.report import Report
from xpreduce.dtypes import DTYPES

ELEMENTS = 2**22
"""Elements of the arrays that show every layout and way of splitting."""

BEYOND = 2**31 + 2**20 + 3
"""More elements than a signed 32-bit number can count."""

_SAMPLES = 6


def served(library: Library, op: str) -> list[str]:
    """Return the dtypes that an operator takes in a library."""
    return [name for name in dtypes_of(op) if name in library.dtypes or DTYPES[name].bits == 8]


def small(report: Report, library: Library) -> None:
    """Every operator, dtype and layout against exact arithmetic, with NaN, infinities, zeros and extremes."""
    turn = itertools.count()
    for op in exact.OPERATORS:
        for dtype in served(library, op):
            kinds = kinds_of(dtype)
            for layout in (*LAYOUTS, EIGHT):
                number = next(turn)
                # Every kind of values meets every layout, over the operators and dtypes.
                kind = kinds[(number + number // len(kinds)) % len(kinds)]

                def run(op: str = op, dtype: str = dtype, layout: Any = layout, kind: str = kind) -> None:
                    base = values(kind, dtype, op, layout.shape, np.random.default_rng(len(report.records)))
                    got = xpreduce.reduce(op, layout.view(library.asarray(base)), layout.axes or None)
                    got, x = library.to_numpy(got), layout.view(base)
                    reduction = reduction_of(op, x, layout.axes)
                    for which in chosen(got.size):
                        check_one(op, x, reduction, which, got, dtype)

                report.attempt("exact", f"{op} of {dtype}, {layout.name}, {kind} values", run)


def layouts(report: Report, library: Library, xp: Any, elements: int = ELEMENTS) -> None:
    """Every operator, dtype and layout at a size that is split over blocks, twice: the bits must be equal."""
    index = np.random.default_rng(1).integers(0, palette.SIZE, elements, np.uint8)
    on_device = xp.asarray(index)
    for op in exact.OPERATORS:
        for dtype in served(library, op):
            colours = palette.palette(op, numpy_dtype(dtype))
            bits = xp.asarray(colours.view(f"u{colours.itemsize}"))  # CuPy can't index all dtypes
            buffer = bits[on_device].view(colours.dtype)
            for name, case in cases.CASES.items():

                def run(
                    case: cases.Case = case, op: str = op, colours: Any = colours, x: Any = buffer
                ) -> Any:
                    x = case.look(x, elements)
                    got = xpreduce.reduce(op, x, case.axes)
                    again = xpreduce.reduce(op, x, case.axes)
                    got, again = library.to_numpy(got), library.to_numpy(again)
                    if got.tobytes() != again.tobytes():
                        return "two calls gave other bits"
                    return _sampled(op, colours, case.look(index, elements), case.axes, got)

                report.attempt("layouts", f"{op} of {dtype}, {name}", run)


def chosen(results: int) -> list[int]:
    """Return some of the results, the first and the last among them."""
    if not results:
        return []
    return sorted({0, results - 1, *np.random.default_rng(results).integers(0, results, _SAMPLES).tolist()})


def _sampled(op: str, colours: Any, index: Any, axes: tuple[int, ...], got: Any) -> str | None:
    """Return what is wrong with some of the results."""
    kept = [axis for axis in range(index.ndim) if axis not in axes]
    sets = index.transpose((*kept, *axes))
    flat = got.reshape(-1)
    for which in chosen(flat.size):
        terms = sets[np.unravel_index(which, sets.shape[: len(kept)])]
        problem = palette.problem(op, palette.counted(colours, terms), got.dtype.name, flat[which])
        if problem is not None:
            return f"result {which} is {problem}"
    return None


def beyond(
    report: Report, library: Library, xp: Any, free: Callable[[], int], elements: int = BEYOND
) -> None:
    """Arrays whose elements, results or offsets a 32-bit number can't count."""
    third, half = elements // 3, elements // 2
    # Of the array in memory: its kept, reduced and kept dimensions, and the step along the last of all.
    geometries = {
        "full": ((1, elements, 1), 1),
        "backwards": ((1, elements, 1), -1),
        "every other": ((1, elements, 1), 2),
        "rows": ((3, third, 1), 1),
        "narrow columns": ((1, third, 3), 1),
        "wide columns": ((1, elements // 2**10, 2**10), 1),
        "middle": ((7, elements // 7 // 10, 10), 1),
        "as many results": ((elements, 2, 1), 1),
        "rows of one result": ((half, 4, 1), 1),
    }
    calls = [
        ("sum", "int8", "int64"),
        ("l2", "int8", "float32"),
        ("max", "int8", None),
        ("mean", "float16", None),
    ]
    for (name, (shape, step)), (op, dtype, result) in itertools.product(geometries.items(), calls):
        if name == "as many results" and result == "int64":
            continue  # 17 GB of results say no more than those of the other dtypes

        def run(
            shape: tuple[int, ...] = shape,
            step: int = step,
            op: str = op,
            dtype: str = dtype,
            to: Any = result,
        ) -> str | None:
            count = math.prod(shape) * abs(step)
            item = numpy_dtype(dtype).itemsize
            needed = count * item + shape[0] * shape[2] * numpy_dtype(to or dtype).itemsize + 2**28
            if needed > free():
                return (
                    f"it needs {needed / 2**30:.1f} GiB of device memory, and {free() / 2**30:.1f} are free"
                )
            colours = palette.palette(op, numpy_dtype(dtype))
            x = _repeated(library, xp, colours, count)[::step].reshape(shape)
            got = xpreduce.reduce(op, x, 1, dtype=to).reshape(-1)
            for which in {0, got.size // 2, got.size - 1, min(got.size - 1, 2**31 // shape[1])}:
                outer, inner = divmod(which, shape[2])
                first = outer * shape[1] * shape[2] + inner
                if step < 0:
                    first = count - 1 - first
                counts = palette.progression(colours, first * abs(step), shape[2] * step, shape[1])
                number = library.to_numpy(got[which : which + 1])[0]
                problem = palette.problem(op, counts, to or dtype, number)
                if problem is not None:
                    return f"result {which} is {problem}"
            return None

        report.attempt("beyond 2**31", f"{op} of {dtype}, {name}", run)


def _repeated(library: Library, xp: Any, colours: Any, count: int) -> Any:
    """Return the values of a palette in turn, over and over."""
    block = library.asarray(np.resize(colours, min(count, palette.SIZE * 2**20)))
    x = xp.empty(count, block.dtype)
    for start in range(0, count, block.size):
        x[start : start + block.size] = block[: count - start]
    return x
