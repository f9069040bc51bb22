"""Time a Dask array of very many small chunks, where building and walking the graph is what takes time."""

from __future__ import annotations

from typing import Any

from . import cases
from .peers import DASK, OURS

#: 10⁵ at the size that figures are taken at, fewer in quick runs.
CHUNKS = min(10**5, max(64, cases.ELEMENTS // 2**9))

#: Elements in a chunk.
LENGTH = 64


def many() -> Any:
    """Return a Dask array of so many chunks."""
    import dask.array as da

    return da.ones(CHUNKS * LENGTH, chunks=LENGTH, dtype="float32")


class ManyChunks:
    """Building the graph of a reduction over all chunks, and computing it."""

    param_names = ("operator", "by")
    params = (tuple(DASK), (OURS, "dask formula"))
    timeout = 1200
    warmup_time = 0.0

    def setup(self, operator: str, by: str) -> None:
        self.x = many()
        self.reduction = DASK[operator][by]

    def time_build(self, operator: str, by: str) -> None:
        self.reduction(self.x, None).__dask_graph__()

    def time_compute(self, operator: str, by: str) -> None:
        self.reduction(self.x, None).compute(scheduler="threads")
