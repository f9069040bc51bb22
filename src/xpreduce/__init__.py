"""ONNX Reduce* operators, exact and fast, on NumPy, Dask and any array-API library.

Importing this package imports no array library: a backend loads when the first array of its library
arrives.
"""

from xpreduce.axes import AxisError
from xpreduce.dispatch import use_backend
from xpreduce.inspection import Explanation, Installed, backends, explain
from xpreduce.reductions import reduce, reduce_l2, reduce_sum

__version__ = "0.1.0"

__all__ = [
    "AxisError",
    "Explanation",
    "Installed",
    "backends",
    "explain",
    "reduce",
    "reduce_l2",
    "reduce_sum",
    "use_backend",
]
