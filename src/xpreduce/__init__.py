"""ONNX Reduce* operators, exact and fast, on NumPy, Dask and any array-API library.

Importing this package imports no array library, and little of itself: each public name loads when it is
first used, and a backend when the first array of its library arrives.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from xpreduce.axes import AxisError
    from xpreduce.dispatch import use_backend
    from xpreduce.inspection import backends, explain
    from xpreduce.many import reduce_many
    from xpreduce.reductions import (
        reduce,
        reduce_l1,
        reduce_l2,
        reduce_log_sum,
        reduce_log_sum_exp,
        reduce_max,
        reduce_mean,
        reduce_min,
        reduce_prod,
        reduce_sum,
        reduce_sum_square,
    )
    from xpreduce.threads import get_num_threads, set_num_threads, use_num_threads
    from xpreduce.warming import warm_up

__version__ = "0.1.0"

__all__ = [
    "AxisError",
    "backends",
    "explain",
    "get_num_threads",
    "reduce",
    "reduce_l1",
    "reduce_l2",
    "reduce_log_sum",
    "reduce_log_sum_exp",
    "reduce_many",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reduce_sum_square",
    "set_num_threads",
    "use_backend",
    "use_num_threads",
    "warm_up",
]

_HOMES = {
    "AxisError": "axes",
    "backends": "inspection",
    "explain": "inspection",
    "get_num_threads": "threads",
    "reduce_many": "many",
    "set_num_threads": "threads",
    "use_backend": "dispatch",
    "use_num_threads": "threads",
    "warm_up": "warming",
}


def __getattr__(name: str) -> Any:
    if name not in __all__ and name != "onnx":
        raise AttributeError(f"module 'xpreduce' has no attribute {name!r}")
    from importlib import import_module

    if name == "onnx":  # a module that needs a package, so no name for `from xpreduce import *`
        return import_module("xpreduce.onnx")
    value = getattr(import_module(f"xpreduce.{_HOMES.get(name, 'reductions')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
