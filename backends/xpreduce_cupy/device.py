"""A CUDA device by way of CuPy: memory from its pool, kernels by its NVRTC, work on its current stream."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import cupy
import numpy as np

from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction
from xpreduce_cupy.availability import explained
from xpreduce_cupy.kernels import OPTIONS, Arguments, Family, source

BFLOAT16_SINCE = 14
"""The first version of CuPy whose arrays can be bfloat16."""


class CudaDevice:
    """One device. Launches go to the stream that is current on it, and nothing waits for them."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str], Any] = {}

    def address(self, array: Any) -> int:
        """Return the address of the element with all indices 0."""
        return int(array.data.ptr)

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Return a new array in C order; what is in it does not matter."""
        return cupy.empty(shape, _dtype(dtype))

    def number(self, value: int) -> Any:
        """Return an int64 array without dimensions."""
        return cupy.full((), value, np.int64)

    def launch(self, family: Family, kind: str, blocks: int, block: int, arguments: Arguments) -> None:
        """Launch one of a family's kernels, which is compiled for the device when it is first needed."""
        function = self._functions.get((family.name, kind)) or self.load(family, kind)
        # An array of one element is what CuPy takes for a structure that is passed by value.
        packed = np.frombuffer(memoryview(arguments).cast("B"), dtype=f"V{ctypes.sizeof(arguments)}")
        function((blocks,), (block,), (packed,))

    def load(self, family: Family, kind: str) -> Any:
        """Compile a kernel for the current device, or read it from CuPy's cache on disk."""
        name = family.kernel(kind)
        module = cupy.RawModule(code=source(), options=OPTIONS, name_expressions=(name,))
        function = self._functions[family.name, kind] = module.get_function(name)
        return function


@contextmanager
def device_of(reduction: Reduction, *arrays: Any) -> Iterator[CudaDevice]:
    """Make the device of the arrays the current one, and explain the errors of what is done there.

    Raises
    ------
    TypeError
        If one is no CuPy array, or of a dtype that this CuPy hasn't.
    ValueError
        If they lie on several devices.
    """
    name = reduction.operator.name
    for dtype in (reduction.dtype, reduction.result):
        if dtype.name == "bfloat16" and int(cupy.__version__.partition(".")[0]) < BFLOAT16_SINCE:
            raise TypeError(
                f"{name}: CuPy {cupy.__version__} has no bfloat16; it comes with CuPy {BFLOAT16_SINCE}. "
                'Install that, or use float32: data.astype("float32"), or dtype="float32" for the result'
            )
    for array in arrays:
        if not isinstance(array, cupy.ndarray):
            kind = f"{type(array).__module__}.{type(array).__qualname__}"
            raise TypeError(
                f"{name}: a {kind} can't be put together with CuPy arrays; move it to the device first, "
                "with cupy.asarray(data)"
            )
    numbers = sorted({array.device.id for array in arrays})
    if len(numbers) > 1:
        raise ValueError(
            f"{name}: the arrays lie on the CUDA devices {', '.join(map(str, numbers))}; copy them to one"
        )
    with explained(name), cupy.cuda.Device(numbers[0]):
        yield device(numbers[0])


@lru_cache
def device(number: int) -> CudaDevice:
    """Return the one object that keeps a device's kernels."""
    return CudaDevice()


@lru_cache
def _dtype(name: str) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(in_namespace(np, name))
    return found
