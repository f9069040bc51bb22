"""Bandwidth of every layout beside a device-to-device copy and the peers, in alternation in one process."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from benchmarks import cases, data
from libraries import numpy_dtype

import xpreduce
from gpu.gates import verdict
from gpu.report import Report

ROUNDS = 7
SLOW = 5.0
"""A peer that takes so many times as long as we do is timed once: the answer is clear."""

DTYPES = ("float32", "float16", "bfloat16", "float64", "int32", "int64", "uint32", "uint64")
FULLY = ("l2", "sum")
"""Operators that are timed on all layouts and dtypes; the others on a few."""

FEW = tuple(
    itertools.product(
        ("l1", "sum_square", "mean", "max", "min", "prod", "log_sum", "log_sum_exp"),
        ("float32", "float64"),
        ("full", "last 64", "first wide"),
    )
)


@dataclass(frozen=True)
class Cell:
    """One thing to time."""

    op: str
    dtype: str
    case: str


def cells() -> Iterator[Cell]:
    """Yield what is timed, what matters most first."""
    for dtype in DTYPES:
        for op, case in itertools.product(FULLY, cases.CASES):
            yield Cell(op, dtype, case)
        yield from (Cell(op, of, case) for op, of, case in FEW if of == dtype)


def bandwidth(report: Report, dtypes: tuple[str, ...]) -> None:
    """Time all cells of the dtypes that CuPy has."""
    size = _bytes()
    report.about["bytes of an array"] = size
    buffers: dict[str, Any] = {}
    for cell in cells():
        if cell.dtype not in dtypes:
            continue
        name = f"{cell.op} of {cell.dtype}, {cell.case}"
        if not report.has_time("bandwidth", name):
            continue
        if cell.dtype not in buffers:
            buffers.clear()
            buffers[cell.dtype] = _filled(cell.dtype, size)
        try:
            figures = measured(cell, buffers[cell.dtype])
        except Exception as error:
            report.add("bandwidth", name, f"{type(error).__name__}: {error}")
            continue
        line = ", ".join(
            [f"{figures['of copy']:.2f} of a copy ({figures['GB/s']:.0f} GB/s)"]
            + [f"{peer} {ratio:.2f}" for peer, ratio in figures["peers"].items()]
        )
        report.add("bandwidth", name, verdict(cell.op, cell.dtype, cell.case, figures), line, **figures)


def _bytes() -> int:
    """Return the size of the arrays: a power of two far beyond the cache, within a sixth of free memory."""
    device = cupy.cuda.Device()
    wanted = max(2**28, 8 * cupy.cuda.runtime.getDeviceProperties(device.id)["l2CacheSize"])
    return 1 << min((wanted - 1).bit_length(), (device.mem_info[0] // 6).bit_length() - 1)


def _filled(dtype: str, size: int) -> Any:
    values = data.period(dtype, "wide", data.PERIOD)
    bits = cupy.asarray(values.view(f"u{values.itemsize}"))
    return cupy.tile(bits, size // bits.nbytes).view(numpy_dtype(dtype))


def measured(cell: Cell, buffer: Any) -> dict[str, Any]:
    """Return the bandwidth of a cell, and how many times as long the peers take."""
    case = cases.CASES[cell.case]
    x = case.look(buffer, buffer.size)
    result = xpreduce.reduce(cell.op, x, case.axes)
    target = cupy.empty_like(buffer)
    contenders: dict[str, Callable[[], Any]] = {
        "xpreduce": lambda: xpreduce.reduce(cell.op, x, case.axes),
        "copy": lambda: target.data.copy_from_device_async(buffer.data, buffer.nbytes),
        **peers(cell.op, x, case.axes),
    }
    times: dict[str, list[float]] = {name: [] for name in contenders}
    absent: dict[str, str] = {}
    for name, call in contenders.items():
        try:
            call()  # compiles
            times[name] = [_seconds(call)]
        except Exception as error:  # a peer that has no such dtype or layout
            if name in ("xpreduce", "copy"):
                raise
            absent[name] = f"{type(error).__name__}: {error}"[:200]
    running = [name for name in contenders if name not in absent]
    enough = SLOW * times["xpreduce"][0]
    racing = [name for name in running if name == "copy" or times[name][0] < enough]
    for name in racing:
        times[name].clear()
    for turn in range(ROUNDS):
        for name in racing if turn % 2 else reversed(racing):
            times[name].append(_seconds(contenders[name]))
    ours = statistics.median(times["xpreduce"])
    moved = buffer.nbytes + result.nbytes
    copied = 2 * buffer.nbytes / statistics.median(times["copy"])
    return {
        "GB/s": round(moved / ours / 1e9, 1),
        "copy GB/s": round(copied / 1e9, 1),
        "of copy": round(moved / ours / copied, 4),
        "peers": {
            name: round(_ratio(times, name), 3) for name in running if name not in ("xpreduce", "copy")
        },
        "absent": absent,
    }


def _ratio(times: dict[str, list[float]], name: str) -> float:
    """Return the median of a contender's time over ours, round by round where there are rounds."""
    ours, theirs = times["xpreduce"], times[name]
    if len(theirs) == 1:
        return theirs[0] / statistics.median(ours)
    return statistics.median(b / a for a, b in zip(ours, theirs, strict=True))


def _seconds(call: Callable[[], Any], repeats: int = 2) -> float:
    """Return the time that the device needs for one call."""
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    for _ in range(repeats):
        call()
    stop.record()
    stop.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, stop)) / 1e3 / repeats


def peers(op: str, x: Any, axes: tuple[int, ...]) -> dict[str, Callable[[], Any]]:
    """Return what others call the same reduction."""
    axis = axes[0] if len(axes) == 1 else axes
    found: dict[str, Callable[[], Any]] = {}
    if op == "l2":
        found["cupy.linalg.norm"] = lambda: cupy.linalg.norm(x, axis=axis)
        tensor = _tensor(x)
        if tensor is not None:
            import torch

            found["torch.linalg.vector_norm"] = lambda: torch.linalg.vector_norm(tensor, dim=axes)
    elif op == "sum":
        found["cupy.sum"] = lambda: cupy.sum(x, axis=axis)
    return found


def _tensor(x: Any) -> Any:
    """Return a floating-point array as a tensor, or None where there is no PyTorch or no such dtype."""
    try:
        import torch
    except ImportError:
        return None
    if x.dtype == numpy_dtype("bfloat16"):
        return torch.from_dlpack(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_dlpack(x) if x.dtype.kind == "f" else None
