"""The ONNX front: nodes and models with Reduce operators, on arrays of any library.

Needs the package onnx: ``pip install 'xpreduce[onnx]'``. Each public name loads when it is first used,
because only models need ONNX's reference evaluator.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from xpreduce.onnx.backend import Backend
    from xpreduce.onnx.nodes import run_node
    from xpreduce.onnx.op_run import make_operators, operators

try:
    # Here, so that what is missing is said before anything else. A folder that is called onnx can be imported
    # too; it has no module defs.
    from onnx import defs as _defs  # noqa: F401  # only whether it is there
except ImportError as error:
    raise ImportError(
        f"xpreduce.onnx needs the package onnx ({error}); try: pip install 'xpreduce[onnx]'"
    ) from error

__all__ = ["Backend", "make_operators", "operators", "run_node"]

_HOMES = {"Backend": "backend", "make_operators": "op_run", "operators": "op_run", "run_node": "nodes"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'xpreduce.onnx' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"xpreduce.onnx.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
