"""How calls behave on a device: streams, waiting, memory, axes, other libraries, Dask. It needs a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from benchmarks import cases

import xpreduce
from gpu.report import Report

ELEMENTS = 2**24

MOST_EXTRA = 2**24
"""Bytes that a call may take besides its result."""

_BUSY = 0.2
"""Seconds for which a stream is kept busy, far longer than launches take."""

_DELAY = """
__device__ unsigned long long now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}
extern "C" __global__ void delay(unsigned long long nanoseconds) {
    unsigned long long start = now();
    while (now() - start < nanoseconds) {}
}
"""


def behaviour(report: Report) -> None:
    """Run all of these checks."""
    checks: dict[str, Callable[[], str | None]] = {
        "a stream of its own, with a producer that is late": late_producer,
        "nothing waits for the device": no_waiting,
        "results without dimensions stay on the device": without_dimensions,
        "axes as a device array": device_axes,
        "NumPy and CuPy are not mixed": mixed,
        "DLPack there and back": dlpack,
        "DLPack from and to PyTorch": dlpack_torch,
        "Dask chunks stay on the device": dask_chunks,
    }
    for name, check in checks.items():
        report.attempt("behaviour", name, check)
    for op, dtype in (
        ("l2", cupy.float32),
        ("sum", cupy.float64),
        ("prod", cupy.int64),
        ("log_sum_exp", cupy.float16),
    ):
        for name in cases.CASES:
            report.attempt(
                "memory", f"{op} of {dtype.__name__}, {name}", lambda a=(op, dtype, name): pool_peak(*a)
            )


def occupied(seconds: float) -> None:
    """Keep the current stream busy for a while."""
    cupy.RawKernel(_DELAY, "delay")((1,), (1,), (np.uint64(seconds * 1e9),))


def waits(call: Callable[[], Any]) -> bool:
    """Return whether a call waits for what was put on its stream before."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        occupied(0)
        call()  # compiles, and takes memory for this stream
        stream.synchronize()
        occupied(_BUSY)
        call()
        done = bool(stream.done)
        stream.synchronize()
    return done


def late_producer() -> str | None:
    """What is put on a stream before the call is seen by it, whatever other streams do."""
    x = cupy.zeros(ELEMENTS, cupy.float32)
    want = float(xpreduce.reduce_sum(x + 1, keepdims=False))
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        occupied(0)
        x += 0
        xpreduce.reduce_sum(x, keepdims=False)  # all is compiled, and the stream has memory
        stream.synchronize()
        occupied(_BUSY)
        x += 1
        result = xpreduce.reduce_sum(x, keepdims=False)
        late = not stream.done
        stream.synchronize()
    if float(result) != want:
        return (
            f"the sum is {float(result)} and not {want}: the call did not run after its stream's other work"
        )
    return None if late else "the call waited for the device"


def no_waiting() -> str | None:
    x = cupy.ones((512, 512), cupy.float32)
    for op in ("l2", "mean", "prod", "max", "log_sum_exp"):
        for axes in (None, 0, 1):
            if waits(lambda op=op, axes=axes: xpreduce.reduce(op, x, axes)):
                return f"{op} along {axes} waited"
    return None


def without_dimensions() -> str | None:
    result = xpreduce.reduce_l2(cupy.full(4, 2, cupy.float32), keepdims=False)
    if type(result) is not cupy.ndarray or result.shape != () or result.dtype != cupy.float32:
        return f"it is a {type(result)} of shape {result.shape}"
    return None if float(result) == 4 else f"it is {result}"


def device_axes() -> str | None:
    x = cupy.ones((2, 3, 4), cupy.float32)
    for data in (x, cupy.asnumpy(x)):
        result = xpreduce.reduce_sum(data, cupy.asarray([0, 2]), keepdims=False)
        if result.tolist() != [8, 8, 8]:
            return f"the sums are {result}"
    return None


def mixed() -> str | None:
    import xpreduce_cupy
    import xpreduce_numpy
    from xpreduce.operators import find
    from xpreduce.reductions import prepare

    x = np.ones((3, 4), "float32")
    reduction = prepare(find("l2"), x, 0, True, False, None, None)[1]
    ours, theirs = xpreduce_cupy.partial(cupy.asarray(x), reduction), xpreduce_numpy.partial(x, reduction)
    try:
        xpreduce_cupy.combine(ours, theirs, reduction)
    except TypeError as error:
        return None if "cupy.asarray" in str(error) else f"the error doesn't say what to do: {error}"
    return "states of NumPy and CuPy arrays were combined"


def dlpack() -> str | None:
    x = cupy.arange(12, dtype=cupy.float32).reshape(3, 4)
    result = xpreduce.reduce_l2(cupy.from_dlpack(x), 1)
    back = cupy.from_dlpack(result)
    if back.data.ptr != result.data.ptr:
        return "the result was copied"
    want = xpreduce.reduce_l2(cupy.asnumpy(x), 1)
    return None if np.array_equal(cupy.asnumpy(back), want) else f"the result is {back}"


def dlpack_torch() -> str | None:
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed, and it is one of the peers too"
    if not torch.cuda.is_available():
        return "this PyTorch has no CUDA; install a build that has"
    t = torch.arange(12, dtype=torch.float32, device="cuda").reshape(3, 4)
    result = torch.from_dlpack(xpreduce.reduce_l2(cupy.from_dlpack(t), 0, keepdims=False))
    if not result.is_cuda:
        return "the result left the device"
    want = xpreduce.reduce_l2(t.cpu().numpy(), 0, keepdims=False)
    return None if np.array_equal(result.cpu().numpy(), want) else f"the result is {result}"


def dask_chunks() -> str | None:
    import dask.array as da

    values = np.random.default_rng(3).standard_normal((300, 200)).astype("float32")
    x = da.from_array(cupy.asarray(values), chunks=(100, 64), asarray=False)
    for op in ("l2", "mean", "prod", "max", "log_sum_exp"):
        for axes in (None, 0, 1):
            lazy = xpreduce.reduce(op, x, axes)
            result = lazy.compute(scheduler="synchronous")
            if type(result) is not cupy.ndarray:
                return f"{op} gave a {type(result)}"
            want = xpreduce.reduce(op, values, axes)
            if not np.allclose(cupy.asnumpy(result), want, rtol=1e-6, atol=0):
                return f"{op} along {axes} gave {result}"
            if waits(lambda lazy=lazy: lazy.compute(scheduler="synchronous")):
                return f"{op} along {axes} brought something to the host"
    return None


def pool_peak(op: str, dtype: Any, name: str) -> str | None:
    """All that a call asks CuPy's pool for: its result, and no more than 16 MiB besides."""
    buffer = cupy.ones(ELEMENTS, dtype)
    x = cases.CASES[name].look(buffer, ELEMENTS)
    xpreduce.reduce(op, x, cases.CASES[name].axes)  # what compiling takes is not counted
    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        result = xpreduce.reduce(op, x, cases.CASES[name].axes)
        extra = pool.total_bytes() - result.nbytes
        del result
    return None if extra <= MOST_EXTRA else f"it took {extra / 2**20:.1f} MiB besides its result"
