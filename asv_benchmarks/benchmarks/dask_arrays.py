"""Time reductions of Dask arrays: chunks in memory, and chunks read from a .npy file or a Zarr store."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from . import cases, data, peers

AXES: dict[str, tuple[int, ...] | None] = {"all": None, "first": (0,), "last": (1,)}
SOURCES = ("memory", "npy", "zarr")
CHUNK_BYTES = 16 * 2**20


def chunked(source: str, dtype: str, elements: int, folder: Path) -> Any:
    """Return a square Dask array of an array in memory, or of a .npy file or a Zarr store in `folder`.

    Chunks are square, and slabs of whole rows for the file, which is how its values lie.
    """
    import dask.array as da

    buffer = data.filled(dtype, elements)
    rows = 1 << int(math.log2(elements)) // 2
    array = buffer.reshape(rows, -1)
    # A quick run has little data: it still gets several chunks.
    side = min(1 << int(math.log2(CHUNK_BYTES // array.itemsize)) // 2, rows // 4)
    if source == "memory":
        # Blocks of their own, as a graph that computes them would hand over.
        return da.from_array(array, chunks=(side, side), name=False).persist(scheduler="threads")
    if source == "npy":
        from xpreduce.cli.lazy import as_dask
        from xpreduce.cli.npy import NpySource

        np.save(folder / f"{dtype}.npy", array)
        return as_dask(
            NpySource(str(folder / f"{dtype}.npy")), (side * side // array.shape[1], array.shape[1])
        )
    import zarr

    path = folder / f"{dtype}.zarr"
    if not path.exists():
        store = zarr.create_array(str(path), shape=array.shape, chunks=(side, side), dtype=array.dtype)
        store[...] = array
    return da.from_zarr(str(path))


class Dask:
    """One operator on Dask arrays of float32, with threads."""

    operator = ""
    param_names = ("source", "axes", "by")
    timeout = 600
    warmup_time = 0.0

    def setup(self, source: str, axes: str, by: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.x = chunked(source, "float32", cases.ELEMENTS, Path(self.folder.name))
        self.reduction = peers.DASK[self.operator][by]
        self.reduction(self.x, AXES[axes])  # NotImplementedError where it is not installed

    def teardown(self, source: str, axes: str, by: str) -> None:
        self.folder.cleanup()

    def time_dask(self, source: str, axes: str, by: str) -> None:
        self.reduction(self.x, AXES[axes]).compute(scheduler="threads")


class DaskReduceL2(Dask):
    operator = "ReduceL2"
    params = (SOURCES, tuple(AXES), tuple(peers.DASK[operator]))


class DaskReduceSum(Dask):
    operator = "ReduceSum"
    params = (SOURCES, tuple(AXES), tuple(peers.DASK[operator]))


# asv would take the base class for a benchmark of its own.
del Dask
