"""Time what is paid before the first byte is read: a call on a tiny array, and the import."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import xpreduce

from .peers import OURS

CALLS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "ReduceL2": {
        OURS: lambda x: xpreduce.reduce_l2(x, 1),
        "np.linalg.norm": lambda x: np.linalg.norm(x, axis=1, keepdims=True),
    },
    "ReduceSum": {
        OURS: lambda x: xpreduce.reduce_sum(x, 1),
        "np.sum": lambda x: np.sum(x, axis=1, keepdims=True),
    },
}


def tiny(dtype: str) -> np.ndarray:
    """Return an array of shape (3, 4)."""
    return np.arange(1, 13).reshape(3, 4).astype(dtype)


class ReduceL2Call:
    params = (("float32", "float64"), tuple(CALLS["ReduceL2"]))
    param_names = ("dtype", "by")

    def setup(self, dtype: str, by: str) -> None:
        self.x = tiny(dtype)
        self.call = CALLS["ReduceL2"][by]

    def time_call(self, dtype: str, by: str) -> None:
        self.call(self.x)


class ReduceSumCall:
    params = (("float32", "float64"), tuple(CALLS["ReduceSum"]))
    param_names = ("dtype", "by")

    def setup(self, dtype: str, by: str) -> None:
        self.x = tiny(dtype)
        self.call = CALLS["ReduceSum"][by]

    def time_call(self, dtype: str, by: str) -> None:
        self.call(self.x)


def import_seconds(times: int) -> list[float]:
    """Return how long `import xpreduce` took in each of some fresh interpreters, bytecode compiled before."""
    program = "import time; t = time.perf_counter(); import xpreduce; print(time.perf_counter() - t)"
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        environment["PYTHONPYCACHEPREFIX"] = folder

        def once() -> float:
            done = subprocess.run(
                [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment
            )
            return float(done.stdout)

        once()
        return [once() for _ in range(times)]


def track_import() -> float:
    return min(import_seconds(5))


track_import.unit = "seconds"  # type: ignore[attr-defined]
