"""What CuPy needs to work here, asked of CuPy itself: driver, device, NVRTC, headers, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import cupy

_PROBE = 'extern "C" __global__ void probe(int* x) { x[0] = 42; }'


def lacking() -> str | None:
    """Return what is missing and what to do about it, or None where a kernel was compiled and ran.

    CuPy can be imported on any machine, so each part is asked for on its own: `cupy.is_available` raises
    where there is no driver, and says True where nothing can be compiled.
    """
    found = [reason for reason in (_hardware(), _nvrtc()) if reason is not None]
    return "; ".join(found) or _trial()


def advice(error: Exception) -> str:
    """Return what an error of CuPy's means and what to do, from what is found missing now."""
    reason = "; ".join(each for each in (_hardware(), _nvrtc()) if each is not None)
    text = str(error).strip()
    if not reason and is_about_headers(text):
        reason = _headers()
    return f"{reason} (CuPy says: {text})" if reason else f"CuPy says: {text}"


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Raise what CuPy can't compile or run as a RuntimeError that says what to do; `what` was tried."""
    try:
        yield
    except (cupy.cuda.compiler.CompileException, RuntimeError) as error:  # CUDA's own are RuntimeErrors
        raise RuntimeError(f"{what}: {advice(error)}") from error


def _hardware() -> str | None:
    """Return what is wrong with driver or device."""
    runtime = cupy.cuda.runtime
    if runtime.is_hip:
        return (
            "CuPy is built for ROCm, and the kernels are written for CUDA; install one of CuPy's CUDA builds"
        )
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        if not runtime.driverGetVersion():
            return "there is no NVIDIA driver; install it (in a container: give it the GPUs)"
        if "InsufficientDriver" in str(error):
            served, wanted = (_version(n()) for n in (runtime.driverGetVersion, runtime.runtimeGetVersion))
            return (
                f"the NVIDIA driver serves CUDA up to {served} and CuPy is built for {wanted}; "
                "update the driver, or install CuPy for the older CUDA"
            )
        count, text = 0, f" ({error})"
    else:
        text = ""
    if count:
        return None
    return (
        f"there is no CUDA device{text}; see whether nvidia-smi lists one and CUDA_VISIBLE_DEVICES hides it"
    )


def _nvrtc() -> str | None:
    """Return why NVRTC, which compiles kernels, can't be loaded."""
    try:
        cupy.cuda.nvrtc.getVersion()
    except (RuntimeError, ImportError, OSError, AttributeError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return f"NVRTC, which compiles kernels, can't be loaded ({first}); {_toolkit()}"
    return None


def _trial() -> str | None:
    """Compile and run one small kernel of our own and one of CuPy's; return why that fails."""
    try:
        x = cupy.zeros(1, dtype=cupy.int32)
        cupy.RawKernel(_PROBE, "probe")((1,), (1,), (x,))
        x += 1  # a kernel of CuPy's own needs headers that ours does not
        if int(x[0]) != 43:
            return "a kernel ran and did nothing; see what nvidia-smi says of the device"
    except Exception as error:  # whatever it is, it is what the caller wants to know
        return advice(error)
    return None


def _headers() -> str:
    return f"CUDA's headers, which CuPy's own kernels need, are missing; {_toolkit()}"


def is_about_headers(text: str) -> bool:
    """Return whether an error of CuPy's says that CUDA's headers are missing."""
    return any(
        part in text
        for part in ("CUDA root directory", "could not open source file", "cannot open source file")
    )


def _toolkit() -> str:
    """Return how to get NVRTC and the headers for the CUDA that this CuPy is built for."""
    major = cupy.cuda.runtime.runtimeGetVersion() // 1000
    return (
        f"pip install 'cupy-cuda{major}x[ctk]>=14' brings it, and so does an installed CUDA Toolkit {major} "
        "(CUDA_PATH names its folder)"
    )


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
