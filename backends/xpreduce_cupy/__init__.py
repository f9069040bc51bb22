"""The CuPy backend: CUDA kernels of our own, compiled for the device when they are first needed.

It serves `cupy.ndarray` with any strides. All work is put on the stream that is current on the array's
device, and nothing waits for it; results and states are CuPy arrays on that device. Importing this
package imports no CuPy.
"""

from __future__ import annotations

from typing import Any

from xpreduce.protocol import Reduction, State, Status
from xpreduce_cupy import engine
from xpreduce_cupy.kernels import family_of
from xpreduce_cupy.launches import launch_of


def refusal(array_type: type) -> str | None:
    """Return why an array of another library, or a subclass, can't be served."""
    name = f"{array_type.__module__}.{array_type.__qualname__}"
    if name == "cupy.ndarray":
        return None
    if any(f"{base.__module__}.{base.__qualname__}" == "cupy.ndarray" for base in array_type.__mro__):
        return (
            f"{name} is a subclass of cupy.ndarray whose meaning a reduction would lose; "
            "reduce a plain array made of it, such as data.view(cupy.ndarray)"
        )
    return f"{name} is not a CuPy array; make one first, with cupy.asarray(data)"


def reduce(x: Any, reduction: Reduction) -> Any:
    """Return the reduction of the whole of `x`."""
    from xpreduce_cupy.device import device_of

    with device_of(reduction, x) as device:
        return engine.reduce(device, x, reduction)


def partial(x: Any, reduction: Reduction) -> State:
    """Return the state of `x`."""
    from xpreduce_cupy.device import device_of

    with device_of(reduction, x) as device:
        return engine.partial(device, x, reduction)


def combine(a: State, b: State, reduction: Reduction) -> State:
    """Return the state of the values of both."""
    from xpreduce_cupy.device import device_of

    with device_of(reduction, *a, *b) as device:
        return engine.combine(device, a, b, reduction)


def finish(state: State, reduction: Reduction) -> Any:
    """Return the result that `state` stands for."""
    from xpreduce_cupy.device import device_of

    with device_of(reduction, *state) as device:
        return engine.finish(device, state, reduction)


def kernel(x: Any, reduction: Reduction) -> str:
    """Return in words what `reduce` would run on `x`."""
    if not x.size:
        return "none: the set is empty"
    launch = launch_of(x.shape, x.strides, x.dtype.itemsize, reduction.plan.axes)
    if launch is None:
        return "a copy with the reduced dimensions last, since there are too many: they don't merge"
    family = family_of(reduction.operator, reduction.dtype, reduction.result)
    return f"{family.name}, compiled for the device: {launch}"


def status() -> Status:
    """Return CuPy's version, and what it lacks here."""
    try:
        import cupy

        from xpreduce_cupy.availability import lacking
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "cupy"
        what = "CuPy is not installed" if missing else f"CuPy can't be imported ({error})"
        return Status(
            "",
            False,
            f"{what}; pip install 'xpreduce[cuda13x]' for CUDA 13, or 'xpreduce[cuda12x]' for CUDA 12",
        )
    reason = lacking()
    return Status(cupy.__version__, reason is None, reason or "bfloat16 needs CuPy 14 and ml_dtypes")
