"""The array libraries that the suite runs over: how each makes arrays, reduces them, and gives them back."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import ml_dtypes
import numpy as np

import xpreduce
from xpreduce.operators import find
from xpreduce.reductions import prepare

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
ALL = ("float16", "bfloat16", "float32", "float64", "int32", "int64", "uint32", "uint64")
NOT_BFLOAT16 = tuple(name for name in ALL if name != "bfloat16")


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype of this name, bfloat16 included."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


class Library(ABC):
    """One array library, seen from NumPy: every test value goes in and comes out as a NumPy array."""

    name: str
    dtypes: tuple[str, ...] = ALL
    correctly_rounded = True
    """Whether float16, bfloat16 and float32 are always the nearest, not only almost always."""
    lazy = False
    """Whether arrays hold no values until they are computed."""
    gpu = False
    """Whether it needs a CUDA device."""
    emulated = False
    """Whether it is too slow to be tested unless asked for."""

    @abstractmethod
    def asarray(self, x: Any) -> Any:
        """Return a NumPy array as an array of this library."""

    @abstractmethod
    def to_numpy(self, result: Any) -> np.ndarray[Any, Any]:
        """Return a result as a NumPy array, after checks that it is of this library."""

    def here(self) -> AbstractContextManager[Any]:
        """Return the context in which reductions are called."""
        return nullcontext()

    def reduce(self, op: str, x: Any, *args: Any, **kwargs: Any) -> np.ndarray[Any, Any]:
        """Reduce a NumPy array by way of this library."""
        with self.here():
            result = xpreduce.reduce(op, self.asarray(x), *args, **kwargs)
        return self.to_numpy(result)

    def reduce_many(self, ops: Any, x: Any, *args: Any, **kwargs: Any) -> list[np.ndarray[Any, Any]]:
        """Reduce a NumPy array by way of this library, by several operators at once."""
        with self.here():
            results = xpreduce.reduce_many(ops, self.asarray(x), *args, **kwargs)
        return [self.to_numpy(result) for result in results]


class NumPy(Library):
    """NumPy arrays that can't be written to."""

    name = "numpy"

    def asarray(self, x: Any) -> Any:
        x = np.asarray(x).view()
        x.flags.writeable = False
        return x

    def to_numpy(self, result: Any) -> np.ndarray[Any, Any]:
        assert type(result) is np.ndarray
        assert result.dtype.isnative
        return result


class NumPyCompiled(NumPy):
    """NumPy arrays through compiled kernels, however small they are."""

    name = "numpy-compiled"

    def __init__(self) -> None:
        choice = importlib.import_module("xpreduce_numpy.choice")
        if choice.missing() is not None:
            raise ImportError(choice.missing())
        self._use_kernels = choice.use_kernels

    def here(self) -> AbstractContextManager[Any]:
        return self._use_kernels("compiled")


class NumPyPortable(NumPy):
    """NumPy arrays through the portable backend."""

    name = "numpy-portable"

    def here(self) -> AbstractContextManager[Any]:
        return xpreduce.use_backend("portable")


class Strict(Library):
    """array-api-strict with everything off that the standard makes optional."""

    name = "array-api-strict"
    dtypes = ("float32", "float64", "int32", "int64", "uint32", "uint64")

    def __init__(self) -> None:
        self.xp = importlib.import_module("array_api_strict")
        self.xp.set_array_api_strict_flags(
            boolean_indexing=False, data_dependent_shapes=False, enabled_extensions=()
        )

    def asarray(self, x: Any) -> Any:
        return self.xp.asarray(np.array(x, dtype=x.dtype.newbyteorder("=")))

    def to_numpy(self, result: Any) -> np.ndarray[Any, Any]:
        assert type(result) is type(self.xp.asarray(0))
        return np.asarray(result)


class Torch(Library):
    """PyTorch tensors on the CPU."""

    name = "torch"

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")

    def asarray(self, x: Any) -> Any:
        x = np.array(x, dtype=x.dtype.newbyteorder("=") if x.dtype != BFLOAT16 else x.dtype, order="C")
        if x.dtype == BFLOAT16:
            return self.torch.from_numpy(x.view(np.int16)).view(self.torch.bfloat16)
        return self.torch.from_numpy(x)

    def to_numpy(self, result: Any) -> np.ndarray[Any, Any]:
        assert isinstance(result, self.torch.Tensor)
        if result.dtype == self.torch.bfloat16:
            return result.view(self.torch.int16).numpy().view(BFLOAT16)
        return result.numpy()


class Dask(Library):
    """Dask arrays in several chunks; whatever computes before it is asked to raises."""

    name = "dask"
    lazy = True
    correctly_rounded = False  # states of many terms can't be computed again

    def __init__(self) -> None:
        self.da = importlib.import_module("dask.array")
        self.config = importlib.import_module("dask").config

    def asarray(self, x: Any, chunks: Any = None) -> Any:
        if chunks is None:
            chunks = tuple(max(1, -(-size // 2)) for size in x.shape)
        return self.da.from_array(x, chunks=chunks)

    def here(self) -> AbstractContextManager[Any]:
        return self.nothing_computed()

    @contextmanager
    def nothing_computed(self) -> Iterator[None]:
        """Make every computation raise."""

        def scheduler(*args: Any, **kwargs: Any) -> None:
            raise AssertionError("something was computed while the graph was built")

        with self.config.set(scheduler=scheduler):
            yield

    def reduce(self, op: str, x: Any, *args: Any, chunks: Any = None, **kwargs: Any) -> np.ndarray[Any, Any]:
        with self.here():
            result = xpreduce.reduce(op, self.asarray(x, chunks), *args, **kwargs)
        return self.to_numpy(result)

    def to_numpy(self, result: Any) -> np.ndarray[Any, Any]:
        values = self.computed(result)
        assert type(values) is np.ndarray
        return values

    def computed(self, result: Any) -> Any:
        """Compute a result, which must be what it said it would be."""
        assert isinstance(result, self.da.Array)
        values = result.compute(scheduler="synchronous")
        assert values.dtype == result.dtype
        assert result._meta.ndim == values.ndim
        assert all(n == m or n != n for n, m in zip(result.shape, values.shape, strict=True))
        return values


class CuPy(Library):
    """CuPy arrays, where there is a device."""

    name = "cupy"
    gpu = True
    correctly_rounded = False

    def __init__(self) -> None:
        status = xpreduce.backends()["cupy"]  # imports CuPy, and compiles and runs a tiny kernel
        if not status.ready:
            raise ImportError(status.note)
        self.cupy = importlib.import_module("cupy")
        self.dtypes = ALL if int(self.cupy.__version__.partition(".")[0]) >= 14 else NOT_BFLOAT16

    def asarray(self, x: Any) -> Any:
        return self.cupy.asarray(np.array(x, dtype=x.dtype.newbyteorder("=")))

    def to_numpy(self, result: Any) -> np.ndarray[Any, Any]:
        assert type(result) is self.cupy.ndarray
        return self.cupy.asnumpy(result)


class DaskCuPy(Dask):
    """Dask arrays of CuPy chunks, where there is a device."""

    name = "dask-cupy"
    gpu = True

    def __init__(self) -> None:
        super().__init__()
        self.cupy = CuPy()
        self.dtypes = self.cupy.dtypes

    def asarray(self, x: Any, chunks: Any = None) -> Any:
        meta = self.cupy.asarray(np.empty((0,) * x.ndim, x.dtype))
        return super().asarray(x, chunks).map_blocks(self.cupy.asarray, dtype=x.dtype, meta=meta)

    def to_numpy(self, result: Any) -> np.ndarray[Any, Any]:
        return self.cupy.to_numpy(self.computed(result))


class EmulatedCuda(Library):
    """NumPy arrays through the engine of the CuPy backend, with its kernels emulated on the CPU."""

    name = "emulated-cuda"
    emulated = True
    correctly_rounded = False

    def __init__(self) -> None:
        emulator = importlib.import_module("emulated_cuda.emulator")
        if emulator.missing() is not None:
            raise ImportError(emulator.missing())
        self.engine = importlib.import_module("xpreduce_cupy.engine")
        self.device = importlib.import_module("emulated_cuda.device").EmulatedDevice(emulator.Emulator())

    def asarray(self, x: Any) -> Any:
        return np.asarray(x, x.dtype.newbyteorder("="))

    def to_numpy(self, result: Any) -> np.ndarray[Any, Any]:
        return result

    def reduce(
        self, op: str, x: Any, axes: Any = None, *, keepdims: Any = True, dtype: Any = None, **kwargs: Any
    ) -> np.ndarray[Any, Any]:
        x = self.asarray(x)
        noop = kwargs.get("noop_with_empty_axes", False)
        _, reduction = prepare(find(op), x, axes, keepdims, noop, dtype, "numpy")
        return x if reduction.plan.unchanged else self.engine.reduce(self.device, x, reduction)


LIBRARIES: tuple[type[Library], ...] = (
    NumPy,
    NumPyCompiled,
    NumPyPortable,
    Strict,
    Torch,
    Dask,
    CuPy,
    DaskCuPy,
    EmulatedCuda,
)
