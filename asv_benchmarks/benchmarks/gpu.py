"""Time reductions of arrays on a GPU, up to when the device has finished. Skipped where there is none."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

import xpreduce

from . import cases, data
from .peers import OURS, log_sum_exp

OPERATORS = ("ReduceL2", "ReduceSum", "ReduceMax", "ReduceLogSumExp")
DTYPES = ("float16", "float32", "float64", "int32")
SOME_CASES = ("full", "last long", "last 8", "first wide", "first few", "middle", "both ends")


def ours(operator: str, x: Any, axes: tuple[int, ...]) -> Callable[[], Any]:
    """Return xpreduce's reduction of a CuPy array."""
    return lambda: xpreduce.reduce(operator, x, axes)


def cupy_formula(operator: str, x: Any, axes: tuple[int, ...]) -> Callable[[], Any]:
    """Return the formula as a CuPy user writes it, which is how a NumPy user does."""
    how = {"axis": axes, "keepdims": True}
    known: dict[str, Callable[[], Any]] = {
        "ReduceL2": lambda: np.sqrt(np.sum(np.square(x), **how)),
        "ReduceSum": lambda: np.sum(x, **how),
        "ReduceMax": lambda: np.max(x, **how),
        "ReduceLogSumExp": lambda: log_sum_exp(x, how),
    }
    return known[operator]


def torch_function(operator: str, x: Any, axes: tuple[int, ...]) -> Callable[[], Any]:
    """Return PyTorch's function on the same memory."""
    if importlib.util.find_spec("torch") is None:
        raise NotImplementedError("torch is not installed")
    import torch

    if not torch.cuda.is_available():
        raise NotImplementedError("this PyTorch has no CUDA")
    if operator in ("ReduceL2", "ReduceLogSumExp") and x.dtype.kind != "f":
        raise NotImplementedError("PyTorch has it for floating point")
    t = torch.from_dlpack(x)
    known: dict[str, Callable[[], Any]] = {
        "ReduceL2": lambda: torch.linalg.vector_norm(t, dim=axes, keepdim=True),
        "ReduceSum": lambda: torch.sum(t, dim=axes, keepdim=True),
        "ReduceMax": lambda: torch.amax(t, dim=axes, keepdim=True),
        "ReduceLogSumExp": lambda: torch.logsumexp(t, dim=axes, keepdim=True),
    }
    return known[operator]


BY = {OURS: ours, "cupy formula": cupy_formula, "torch": torch_function}


class Gpu:
    """Some operators, layouts and dtypes on the first device."""

    param_names = ("operator", "case", "dtype", "by")
    params = (OPERATORS, SOME_CASES, DTYPES, tuple(BY))
    timeout = 600

    def setup(self, operator: str, case: str, dtype: str, by: str) -> None:
        if importlib.util.find_spec("cupy") is None:
            raise NotImplementedError("CuPy is not installed")
        import cupy

        if not cupy.is_available():
            raise NotImplementedError("there is no CUDA device")
        chosen = cases.CASES[case]
        x = cupy.asarray(chosen.look(data.filled(dtype, cases.ELEMENTS), cases.ELEMENTS))
        self.call = BY[by](operator, x, chosen.axes)
        self.finish = cupy.cuda.Device().synchronize
        self.time_gpu(operator, case, dtype, by)  # compiles

    def time_gpu(self, operator: str, case: str, dtype: str, by: str) -> None:
        self.call()
        self.finish()
