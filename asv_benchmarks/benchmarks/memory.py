"""Measure how much memory a reduction takes beyond its input and its result."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import cases, data, peers

STATUS = Path("/proc/self/status")


def resident(field: str) -> int:
    """Return a field of the process's memory status in bytes; 0 where the system has none."""
    if not STATUS.exists():
        return 0
    for line in STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def extra_bytes(call: Callable[[], Any]) -> int:
    """Return the peak of memory during a call, above what was there before it and above its result.

    The larger of two measures: what Python and NumPy asked for, and what the system gave (which sees every
    allocator, but not the reuse of pages that an allocator kept).
    """
    call()  # code, caches and threads are not the reduction's memory
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")  # resets the peak
    before = resident("VmRSS")
    result = call()
    peak = resident("VmHWM") - before
    nbytes = int(result.nbytes)
    del result

    tracemalloc.start()
    try:
        call()
        asked = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return max(peak, asked, nbytes) - nbytes


class Memory:
    """Peak extra memory on the grid, in bytes."""

    operator = ""
    param_names = ("case", "dtype", "by")
    unit = "bytes"
    timeout = 600

    def setup(self, case: str, dtype: str, by: str) -> None:
        self.case = cases.CASES[case]
        buffer = data.filled(dtype, cases.ELEMENTS)
        self.x = self.case.look(buffer, cases.ELEMENTS)
        self.reduction = peers.NUMPY[self.operator][by]

    def track_extra_memory(self, case: str, dtype: str, by: str) -> int:
        return extra_bytes(lambda: self.reduction(self.x, self.case.axes))


#: The peers that hold temporaries and those that don't are known; one is enough to compare with.
BY = (peers.OURS, "numpy formula")
MEMORY_DTYPES = ("float32", "float16", "int64")


class ReduceL2Memory(Memory):
    operator = "ReduceL2"
    params = (tuple(cases.CASES), MEMORY_DTYPES, BY)


class ReduceSumMemory(Memory):
    operator = "ReduceSum"
    params = (tuple(cases.CASES), MEMORY_DTYPES, BY)


# asv would take the base class for a benchmark of its own.
del Memory
