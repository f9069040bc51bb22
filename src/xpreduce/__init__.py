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
    from xpreduce.reductions import reduce, reduce_l2, reduce_sum

__version__ = "0.1.0"

__all__ = [
    "AxisError",
    "backends",
    "explain",
    "reduce",
    "reduce_l2",
    "reduce_sum",
    "use_backend",
]

_HOMES = {
    "AxisError": "axes",
    "backends": "inspection",
    "explain": "inspection",
    "reduce": "reductions",
    "reduce_l2": "reductions",
    "reduce_sum": "reductions",
    "use_backend": "dispatch",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'xpreduce' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"xpreduce.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
