"""Time reductions of a Zarr store by libraries that open it themselves."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import cases, dask_arrays
from .peers import DASK, OURS


def with_dask(operator: str, path: Path, axes: tuple[int, ...] | None) -> Callable[[], Any]:
    """Return xpreduce's reduction of the store as a Dask array."""
    import dask.array as da

    return lambda: DASK[operator][OURS](da.from_zarr(str(path)), axes).compute(scheduler="threads")


def with_cubed(operator: str, path: Path, axes: tuple[int, ...] | None) -> Callable[[], Any]:
    """Return cubed's reduction of the store, by its threads."""
    if importlib.util.find_spec("cubed") is None:
        raise NotImplementedError("cubed is not installed")
    import cubed
    import cubed.array_api as xp

    spec = cubed.Spec(work_dir=str(path.parent), allowed_mem="2GB")

    def reduce() -> Any:
        x = cubed.from_zarr(str(path), spec=spec)
        total = xp.sum(x * x, axis=axes) if operator == "ReduceL2" else xp.sum(x, axis=axes)
        return (xp.sqrt(total) if operator == "ReduceL2" else total).compute()

    return reduce


BY = {OURS: with_dask, "cubed": with_cubed}


class Store:
    """The operators of the Dask benchmarks, on float32."""

    param_names = ("operator", "axes", "by")
    params = (tuple(DASK), tuple(dask_arrays.AXES), tuple(BY))
    timeout = 600
    warmup_time = 0.0

    def setup(self, operator: str, axes: str, by: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name)
        dask_arrays.chunked("zarr", "float32", cases.ELEMENTS, path)
        self.reduce = BY[by](operator, path / "float32.zarr", dask_arrays.AXES[axes])

    def teardown(self, operator: str, axes: str, by: str) -> None:
        self.folder.cleanup()

    def time_store(self, operator: str, axes: str, by: str) -> None:
        self.reduce()
