"""Peers beyond NumPy, each where it is installed (extra `peers`; PyTorch comes from its own site).

What each needs before it can start, such as a conversion or compilation, is done once and not timed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .peers import NUMPY, Reduction

_PREPARED: dict[tuple[Any, ...], Any] = {}


def _once(key: tuple[Any, ...], x: np.ndarray, make: Callable[[np.ndarray], Any]) -> Any:
    """Return what `make` makes of an array, made once as long as no other array comes."""
    held = _PREPARED.get(key)
    if held is None or held[0] is not x:
        _PREPARED[key] = held = (x, make(x))
    return held[1]


def scipy_peer(operator: str) -> Reduction:
    """Return SciPy's reduction, where it has one of its own."""
    import scipy.linalg
    import scipy.special

    def norm(x: np.ndarray, axes: tuple[int, ...]) -> Any:
        if len(axes) > 1:
            raise NotImplementedError("scipy.linalg.norm of two axes is that of a matrix")
        return scipy.linalg.norm(x, axis=axes[0], check_finite=False)

    known = {
        "ReduceL2": norm,
        "ReduceLogSumExp": lambda x, axes: scipy.special.logsumexp(x, axis=axes),
    }
    return known[operator]


def _torch_tensor(x: np.ndarray) -> Any:
    import torch

    if x.dtype.name == "bfloat16":
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    if x.dtype.kind == "u":
        raise NotImplementedError("PyTorch reduces no unsigned integers but uint8")
    return torch.from_numpy(x)


def torch_peer(operator: str) -> Reduction:
    """Return PyTorch's reduction."""
    import torch

    def product(t: Any, axes: tuple[int, ...]) -> Any:
        if len(axes) == t.ndim:
            return torch.prod(t)
        if len(axes) > 1:
            raise NotImplementedError("torch.prod reduces one dimension")
        return torch.prod(t, axes[0])

    known: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
        "ReduceL1": lambda t, axes: torch.linalg.vector_norm(t, 1, dim=axes),
        "ReduceL2": lambda t, axes: torch.linalg.vector_norm(t, dim=axes),
        "ReduceSum": lambda t, axes: torch.sum(t, axes),
        "ReduceSumSquare": lambda t, axes: torch.sum(torch.square(t), axes),
        "ReduceMean": lambda t, axes: torch.mean(t, axes),
        "ReduceProd": product,
        "ReduceMax": lambda t, axes: torch.amax(t, axes),
        "ReduceMin": lambda t, axes: torch.amin(t, axes),
        "ReduceLogSum": lambda t, axes: torch.log(torch.sum(t, axes)),
        "ReduceLogSumExp": lambda t, axes: torch.logsumexp(t, axes),
    }

    def run(x: np.ndarray, axes: tuple[int, ...]) -> Any:
        try:
            return known[operator](_once(("torch", x.shape, x.strides), x, _torch_tensor), axes)
        except RuntimeError as error:
            raise NotImplementedError(str(error)) from error

    return run


def jax_peer(operator: str) -> Reduction:
    """Return JAX's reduction, compiled."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    known: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
        "ReduceL1": lambda a, axes: jnp.sum(jnp.abs(a), axes),
        "ReduceL2": lambda a, axes: jnp.sqrt(jnp.sum(jnp.square(a), axes)),
        "ReduceSum": jnp.sum,
        "ReduceSumSquare": lambda a, axes: jnp.sum(jnp.square(a), axes),
        "ReduceMean": jnp.mean,
        "ReduceProd": jnp.prod,
        "ReduceMax": jnp.max,
        "ReduceMin": jnp.min,
        "ReduceLogSum": lambda a, axes: jnp.log(jnp.sum(a, axes)),
        "ReduceLogSumExp": lambda a, axes: jax.scipy.special.logsumexp(a, axes),
    }
    compiled = jax.jit(known[operator], static_argnums=1)
    return lambda x, axes: compiled(
        _once(("jax", x.shape, x.strides), x, jnp.asarray), axes
    ).block_until_ready()


@lru_cache(maxsize=256)
def _session(operator: str, dtype: np.dtype, axes: tuple[int, ...]) -> Any:
    import onnx
    import onnxruntime

    kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    names = ["x", "axes"]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(operator, names, ["y"])],
        "one",
        [onnx.helper.make_tensor_value_info("x", kind, None)],
        [onnx.helper.make_tensor_value_info("y", kind, None)],
        [onnx.numpy_helper.from_array(np.asarray(axes, np.int64), "axes")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception as error:  # its own kinds, which have no common base
        raise NotImplementedError(str(error)) from error


def onnxruntime_peer(operator: str) -> Reduction:
    """Return ONNX Runtime's operator."""
    import onnxruntime  # noqa: F401  # only whether it is there

    def run(x: np.ndarray, axes: tuple[int, ...]) -> Any:
        if x.dtype.name == "bfloat16" or not x.flags.c_contiguous:
            raise NotImplementedError("ONNX Runtime takes contiguous arrays, and no bfloat16")
        return _session(operator, x.dtype, axes).run(None, {"x": x})

    return run


def numkong_peer(operator: str) -> Reduction:
    """Return NumKong's reduction, over one axis or all."""
    import numkong

    known = {
        "ReduceL2": numkong.norm,
        "ReduceSum": numkong.sum,
        "ReduceMax": numkong.max,
        "ReduceMin": numkong.min,
    }
    function = known[operator]

    def run(x: np.ndarray, axes: tuple[int, ...]) -> Any:
        if len(axes) == x.ndim:
            return function(x)
        if len(axes) > 1:
            raise NotImplementedError("NumKong reduces one axis")
        return function(x, axis=axes[0])

    return run


def bottleneck_peer(operator: str) -> Reduction:
    """Return bottleneck's reduction, over one axis or all."""
    import bottleneck

    known = {
        "ReduceL2": lambda x, axis: np.sqrt(bottleneck.ss(x, axis)),
        "ReduceSum": bottleneck.nansum,
        "ReduceSumSquare": bottleneck.ss,
        "ReduceMean": bottleneck.nanmean,
        "ReduceMax": bottleneck.nanmax,
        "ReduceMin": bottleneck.nanmin,
    }
    function = known[operator]

    def run(x: np.ndarray, axes: tuple[int, ...]) -> Any:
        if x.dtype.itemsize < 4 or (1 < len(axes) < x.ndim):
            raise NotImplementedError("bottleneck reduces one axis or all, of 32 and 64 bits")
        return function(x, axes[0] if len(axes) == 1 else None)

    return run


def numbagg_peer(operator: str) -> Reduction:
    """Return numbagg's reduction."""
    import numbagg

    known = {
        "ReduceSum": numbagg.nansum,
        "ReduceMean": numbagg.nanmean,
        "ReduceMax": numbagg.nanmax,
        "ReduceMin": numbagg.nanmin,
    }
    function = known[operator]

    def run(x: np.ndarray, axes: tuple[int, ...]) -> Any:
        if x.dtype.itemsize < 4:
            raise NotImplementedError("numbagg reduces 32 and 64 bits")
        return function(x, axis=axes)

    return run


@dataclass(frozen=True)
class Library:
    """A library: what makes its reduction of an operator, and the operators that it has."""

    make: Callable[[str], Reduction]
    operators: tuple[str, ...] = tuple(NUMPY)


#: By the name of the module, which also tells whether it is here.
LIBRARIES: dict[str, Library] = {
    "scipy": Library(scipy_peer, ("ReduceL2", "ReduceLogSumExp")),
    "torch": Library(torch_peer),
    "jax": Library(jax_peer),
    "onnxruntime": Library(onnxruntime_peer),
    "numkong": Library(numkong_peer, ("ReduceL2", "ReduceSum", "ReduceMax", "ReduceMin")),
    "bottleneck": Library(
        bottleneck_peer,
        ("ReduceL2", "ReduceSum", "ReduceSumSquare", "ReduceMean", "ReduceMax", "ReduceMin"),
    ),
    "numbagg": Library(numbagg_peer, ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin")),
}


def names(operator: str) -> tuple[str, ...]:
    """Return the libraries that have an operator, installed or not."""
    return tuple(name for name, library in LIBRARIES.items() if operator in library.operators)


def reduction(operator: str, name: str) -> Reduction:
    """Return a library's reduction; NotImplementedError where the library is not installed."""
    if importlib.util.find_spec(name) is None:
        raise NotImplementedError(f"{name} is not installed")
    return LIBRARIES[name].make(operator)


def reductions(operator: str) -> dict[str, Reduction]:
    """Return an operator's reductions by NumPy and by all other libraries that are here and have it."""
    here = [name for name in names(operator) if importlib.util.find_spec(name) is not None]
    return NUMPY[operator] | {name: reduction(operator, name) for name in here}
