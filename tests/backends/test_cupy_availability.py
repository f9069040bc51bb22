"""What the CuPy backend says of what is missing: CuPy, driver, device, NVRTC; and what it refuses."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import xpreduce
import xpreduce_cupy
from xpreduce.dtypes import DTYPES
from xpreduce.operators import find
from xpreduce.reductions import prepare

CUPY = importlib.util.find_spec("cupy") is not None
without_cupy = pytest.mark.skipif(CUPY, reason="CuPy is installed")
with_cupy = pytest.mark.skipif(not CUPY, reason="CuPy is not installed")


def test_other_arrays_are_refused() -> None:
    with pytest.raises(TypeError, match=r"ReduceL2: numpy.ndarray is not a CuPy array; .*cupy.asarray"):
        xpreduce.reduce_l2(np.ones(3), backend="cupy")


def test_cupy_is_not_imported_to_ask() -> None:
    """Neither dispatch nor the package imports CuPy, nor anything that is not in the core."""
    code = """
        import sys, numpy, xpreduce, xpreduce_cupy
        xpreduce.reduce_l2(numpy.ones(3))
        try:
            xpreduce.reduce_l2(numpy.ones(3), backend="cupy")
        except TypeError:
            print(*({"cupy", "cupy_backends"} & set(sys.modules)), "none")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["none"], done.stderr


@without_cupy
def test_without_cupy() -> None:
    found = xpreduce.backends()["cupy"]
    assert not found.ready
    assert found.version == ""
    assert found.note.startswith("CuPy is not installed; pip install 'xpreduce[cuda13x]'")


@with_cupy
@pytest.mark.filterwarnings("ignore")
def test_with_cupy_and_no_device() -> None:
    """What is missing is told apart, whatever CuPy itself makes of it, and with what to do."""
    import cupy

    found = xpreduce.backends()["cupy"]
    assert found.version == cupy.__version__
    if found.ready:
        pytest.skip("there is a device")
    assert "driver" in found.note or "CUDA device" in found.note or "NVRTC" in found.note
    if not cupy.cuda.runtime.driverGetVersion():
        assert "there is no NVIDIA driver; install it" in found.note
    try:
        cupy.cuda.nvrtc.getVersion()
    except RuntimeError:
        major = cupy.cuda.runtime.runtimeGetVersion() // 1000
        assert f"pip install 'cupy-cuda{major}x[ctk]>=14'" in found.note
    else:
        assert "NVRTC" not in found.note


@with_cupy
@pytest.mark.filterwarnings("ignore")
def test_errors_are_explained() -> None:
    """What CuPy raises here is raised again with what is missing, and CuPy's own words."""
    import cupy

    from xpreduce_cupy.availability import explained

    if cupy.cuda.runtime.driverGetVersion():
        pytest.skip("there is a driver")
    said = r"ReduceL2: there is no NVIDIA driver; .*CuPy says: cudaError"
    with pytest.raises(RuntimeError, match=said), explained("ReduceL2"):
        cupy.empty(3)


@with_cupy
@pytest.mark.filterwarnings("ignore")
def test_cupys_nvrtc_compiles_the_kernels() -> None:
    """With CuPy's options, without any header; a missing one is told from other errors."""
    from cupy.cuda import compiler, nvrtc

    from xpreduce_cupy import availability
    from xpreduce_cupy.kernels import OPTIONS, family_of, source

    try:
        nvrtc.getVersion()
    except RuntimeError as error:
        assert "NVRTC, which compiles kernels, can't be loaded" in str(availability.lacking())
        pytest.skip(str(error))
    float32 = DTYPES["float32"]
    name = family_of(find("l2"), float32, float32).kernel("rows")
    program = nvrtc.createProgram(source(), "kernels.cu", (), ())
    nvrtc.addNameExpression(program, name)
    nvrtc.compileProgram(program, (*OPTIONS, "--device-as-default-execution-space", "-arch=sm_90"))
    assert nvrtc.getLoweredName(program, name)
    assert nvrtc.getCUBIN(program)
    with pytest.raises(compiler.CompileException) as caught:
        compiler._NVRTCProgram('#include "no_such_header.h"').compile(("-arch=sm_90",))
    assert availability.is_about_headers(str(caught.value))
    with pytest.raises(compiler.CompileException) as caught:
        compiler._NVRTCProgram("int wrong = ;").compile(("-arch=sm_90",))
    assert not availability.is_about_headers(str(caught.value))


@with_cupy
def test_bfloat16_before_cupy_14() -> None:
    """The error names the version that has it."""
    import cupy

    if int(cupy.__version__.partition(".")[0]) >= 14:
        pytest.skip("this CuPy has bfloat16")
    x = np.ones(3, "float32")
    reduction = prepare(find("l2"), x, 0, True, False, "bfloat16", "numpy")[1]
    with pytest.raises(TypeError, match=r"ReduceL2: CuPy 13\..* has no bfloat16; it comes with CuPy 14"):
        xpreduce_cupy.reduce(x, reduction)


@with_cupy
def test_numpy_and_cupy_are_not_mixed() -> None:
    """States of NumPy arrays are refused, whatever they are to be put together with."""
    x = np.ones((3, 4), "float32")
    reduction = prepare(find("l2"), x, 0, True, False, None, "numpy")[1]
    from xpreduce_numpy import partial

    with pytest.raises(TypeError, match=r"ReduceL2: a numpy.ndarray can't be put together with CuPy arrays"):
        xpreduce_cupy.combine(partial(x, reduction), partial(x, reduction), reduction)
