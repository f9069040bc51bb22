"""The CuPy backend's engine, on emulated kernels and NumPy's memory.

Where there is a device, the tests of all array libraries run on CuPy too; see `tests/gpu` for the rest.
"""

from __future__ import annotations

import math
from typing import Any

import exact
import numpy as np
import pytest
from emulated_cuda import emulator
from emulated_cuda.device import EmulatedDevice

import xpreduce
import xpreduce_cupy
from xpreduce.algebra import algebra_of
from xpreduce.operators import find
from xpreduce.protocol import Reduction
from xpreduce.reductions import prepare
from xpreduce_cupy import engine
from xpreduce_cupy.kernels import MOST_DIMENSIONS

FAMILIES = [("l2", "float32"), ("mean", "float64"), ("min", "int8"), ("prod", "int32"), ("sum", "float16")]


def of(op: str, x: Any, axes: Any, keepdims: bool = True) -> Reduction:
    return prepare(find(op), x, axes, keepdims, False, None, "numpy")[1]


@pytest.fixture
def device() -> EmulatedDevice:
    if emulator.missing() is not None:
        pytest.skip(str(emulator.missing()))
    return EmulatedDevice(emulator.Emulator())


def values(dtype: str, shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(7)
    if dtype.startswith("float"):
        return (rng.standard_normal(shape) * 2.0 ** rng.integers(-5, 5, shape)).astype(dtype)
    return rng.integers(-3, 4, shape).astype(dtype)


def views(x: Any) -> dict[str, Any]:
    """Layouts of one kind each: none is copied on its way to the kernels."""
    overlapping = np.lib.stride_tricks.as_strided(x, (20, 5, 9), (x.itemsize * 2, x.itemsize, x.itemsize * 3))
    return {
        "contiguous": x,
        "transposed": x.T,
        "reversed": x[::-1, :, ::-1],
        "sliced": x[1::2, :, 1::3],
        "broadcast": np.broadcast_to(x[:, :1, :], x.shape),
        "all broadcast": np.broadcast_to(x[0, 0, 0], x.shape),
        "overlapping": overlapping,
        "fortran": np.asfortranarray(x),
        "permuted": x.transpose(1, 2, 0),
    }


@pytest.mark.parametrize(("op", "dtype"), FAMILIES)
@pytest.mark.parametrize("layout", list(views(np.zeros((2, 2, 2)))))
def test_engine(device: EmulatedDevice, op: str, dtype: str, layout: str) -> None:
    """Any strides give what NumPy's backend gives, at once or by states; nothing is written elsewhere."""
    x = views(values(dtype, (40, 8, 33)))[layout]
    before = x.copy()
    for axes in (None, 0, 1, 2, (0, 2), (1, 2), (0, 1)):
        for keepdims in (True, False):
            reduction = of(op, x, axes, keepdims)
            got = engine.reduce(device, x, reduction)
            want = xpreduce.reduce(op, x, axes, keepdims=keepdims)
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            if dtype == "float64":
                np.testing.assert_allclose(got, want, rtol=3e-16)
            else:
                np.testing.assert_array_equal(got, want)
            assert engine.reduce(device, x, reduction).tobytes() == got.tobytes()
            state = engine.partial(device, x, reduction)
            assert engine.finish(device, state, reduction).tobytes() == got.tobytes()
    assert x.tobytes() == before.tobytes()


@pytest.mark.parametrize(("op", "dtype"), FAMILIES)
def test_states_combine(device: EmulatedDevice, op: str, dtype: str) -> None:
    """Pieces give what the whole gives, whichever of them the portable algebra has seen; empty ones too."""
    x = values(dtype, (30, 11))
    reduction = of(op, x, 0)
    algebra = algebra_of(reduction)
    for cut in (0, 1, 17, 30):
        a, b = (engine.partial(device, part, reduction) for part in (x[:cut], x[cut:]))
        with np.errstate(all="ignore"):
            portable = algebra.partial(np, np.ascontiguousarray(x[cut:].T))
        portable = tuple(part.reshape(1, -1) if part.ndim else part for part in portable)
        assert [part.dtype for part in b] == [part.dtype for part in portable]
        assert [part.shape for part in b] == [part.shape for part in portable]
        want = xpreduce.reduce(op, x, 0)
        for other in (b, portable):
            state = engine.combine(device, a, other, reduction)
            got = engine.finish(device, state, reduction)
            np.testing.assert_allclose(got, want, rtol=3e-16 if dtype == "float64" else 0)
            with np.errstate(all="ignore"):
                finished = algebra.finish(np, state)
            np.testing.assert_allclose(finished, want, rtol=3e-16 if dtype == "float64" else 0)


def test_states_of_other_layouts_combine(device: EmulatedDevice) -> None:
    """States lie as their arrays do; where these differ they are brought into one order."""
    x = values("float32", (6, 5, 4))
    reduction = of("l2", x, 1)
    a, b = engine.partial(device, x, reduction), engine.partial(device, np.asfortranarray(x), reduction)
    assert a[0].strides != b[0].strides
    got = engine.finish(device, engine.combine(device, a, b, reduction), reduction)
    np.testing.assert_array_equal(got, xpreduce.reduce_l2(np.concatenate([x, x], axis=1), 1))


@pytest.mark.parametrize("op", ["l2", "sum", "min"])
@pytest.mark.parametrize("shape", [(0,), (2, 0, 3), (0, 3), (3, 0)])
def test_empty(device: EmulatedDevice, op: str, shape: tuple[int, ...]) -> None:
    """Without results nothing is launched; without terms kernels write the value of the empty set."""
    x = np.zeros(shape, "float32")
    for axes in (None, *range(len(shape))):
        got = engine.reduce(device, x, of(op, x, axes))
        np.testing.assert_array_equal(got, np.full(got.shape, exact.reduced(op, [], "float32"), "float32"))
        if not got.size:
            assert not device.launched
        device.launched.clear()


def test_too_many_dimensions(device: EmulatedDevice) -> None:
    """More dimensions than the kernels take are copied into fewer."""
    shape = (2, 1, 2) * (MOST_DIMENSIONS + 1)
    x = values("float32", shape)[..., ::1]
    axes = tuple(range(0, len(shape), 3))
    got = engine.reduce(device, x, of("l2", x, axes))
    np.testing.assert_array_equal(got, xpreduce.reduce_l2(x, axes))
    assert "a copy" in xpreduce_cupy.kernel(x, of("l2", x, axes))


def test_elements_that_are_not_aligned(device: EmulatedDevice) -> None:
    """A GPU can't read them: that is an error before anything is launched."""
    x = np.zeros(41, "i1")[1:].view("f4")
    with pytest.raises(ValueError, match="ReduceL2: the elements are not aligned to their size, 4 bytes"):
        engine.reduce(device, x, of("l2", x, None))
    assert not device.launched


def test_two_stages(device: EmulatedDevice) -> None:
    """A long row is split over blocks, and its parts are put together in a second launch."""
    x = values("float32", (1, 300_000))
    got = engine.reduce(device, x, of("l2", x, None, False))
    assert got.shape == ()
    assert got == np.float32(math.sqrt(math.fsum(float(v) ** 2 for v in x[0])))
    assert device.launched == ["rows", "merge"]


def test_explain_says_how_it_is_cut() -> None:
    x = np.zeros((8, 2**14), "float32")
    text = xpreduce_cupy.kernel(x, of("l2", x, 1))
    assert "Square, float32" in text
    assert "rows, 256 threads a result" in text
    assert "layout: kept 8, reduced 16384" in text
    assert xpreduce_cupy.kernel(x[:0], of("l2", x[:0], 1)) == "none: the set is empty"
