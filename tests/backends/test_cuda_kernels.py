"""The CUDA kernels without a GPU: the backend's engine on kernels that g++ builds (see emulated_cuda)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import exact
import numpy as np
import pytest
from emulated_cuda import nvrtc
from emulated_cuda.cases import (
    EIGHT,
    LAYOUTS,
    check_one,
    check_states,
    conversions,
    dtypes_of,
    kinds_of,
    launches,
    reduced,
    reduction_of,
    try_layout,
)
from emulated_cuda.device import EmulatedDevice
from emulated_cuda.emulator import KINDS as KINDS_OF_KERNELS
from emulated_cuda.emulator import Emulator, missing
from emulated_cuda.families import some_families
from emulated_cuda.faults import FAULTS, Fault, is_caught, try_orders, try_rounding
from libraries import numpy_dtype
from test_values import ALONE, TABLE

from xpreduce import portable
from xpreduce_cupy import engine
from xpreduce_cupy.launches import launch_of

if missing():
    pytest.skip(str(missing()), allow_module_level=True)

EMULATOR = Emulator()
DEVICE = EmulatedDevice(EMULATOR)


@pytest.mark.parametrize("op", exact.OPERATORS)
def test_layouts(op: str) -> None:
    """Every layout of every dtype, by the launch that the backend chooses and some others."""
    for turn, dtype in enumerate(dtypes_of(op)):
        kinds = kinds_of(dtype)
        for seed, layout in enumerate(LAYOUTS):
            try_layout(EMULATOR, op, dtype, dtype, layout, kinds[(seed + turn) % len(kinds)], seed, some=3)


@pytest.mark.parametrize("op", ["sum", "max"])
def test_eight_dimensions_of_each_sort(op: str) -> None:
    """As many dimensions as the kernels take."""
    assert len(launch_of((2,) * 16, tuple(2 * 2**k for k in reversed(range(16))), 2, EIGHT.axes).kept) == 8
    try_layout(EMULATOR, op, "float16", "float16", EIGHT, "ordinary", 0, some=3)


@pytest.mark.parametrize("op", exact.OPERATORS)
def test_other_results(op: str) -> None:
    """Results of another dtype than the input's: one pair in eleven."""
    for seed, (dtype, result) in list(enumerate(conversions(op)))[::11]:
        kinds = kinds_of(dtype)
        for layout in LAYOUTS[1:6:4]:
            try_layout(EMULATOR, op, dtype, result, layout, kinds[seed % len(kinds)], seed, some=2)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("op", "dtype", "numbers", "right"), TABLE + ALONE)
def test_value(op: str, dtype: str, numbers: list[Any], right: Any, axis: int) -> None:
    """The values that other libraries get wrong, in 3 rows and in 3 columns."""
    x = np.stack([np.asarray(numbers, numpy_dtype(dtype))] * 3, axis=1 - axis)
    got = engine.reduce(DEVICE, x, reduction_of(op, x, (axis,)))
    want = np.full(got.shape, right, x.dtype)
    np.testing.assert_array_equal(got, want)
    if dtype not in exact.RANGE and right == 0:
        np.testing.assert_array_equal(np.signbit(got.astype("f8")), np.signbit(want.astype("f8")))


@pytest.mark.parametrize("op", exact.OPERATORS)
def test_states_combine_with_the_portable_ones(op: str) -> None:
    """Pieces whose states come from kernels and from NumPy, combined and finished by both in turn."""
    for dtype in dtypes_of(op):
        check_states(EMULATOR, op, dtype)


@pytest.mark.parametrize("op", exact.OPERATORS)
def test_states_have_the_portable_form(op: str) -> None:
    """Arrays of the same dtypes and shapes, so that Dask can't tell which of the two made them."""
    for dtype in dtypes_of(op):
        for shape in ((4, 6), (0, 6)):
            x = np.ones(shape, numpy_dtype(dtype))
            what = reduction_of(op, x, (0,))
            ours, theirs = engine.partial(DEVICE, x, what), portable.partial(x, what)
            assert [(a.dtype, a.shape) for a in ours] == [(a.dtype, a.shape) for a in theirs]
            for a, b in zip(ours, theirs, strict=True):
                if not shape[0] and not (op in ("max", "min") and a.dtype == "int64"):
                    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("op", exact.OPERATORS)
def test_same_bits_in_any_order_of_threads(op: str) -> None:
    """Threads that did not wait for each other would see other values in the opposite order."""
    for dtype in ("float32", "float64", "int64"):
        try_orders(EMULATOR, op, dtype)


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.in_a_kernel], ids=lambda fault: fault.name
)
def test_faults_are_caught(fault: Fault) -> None:
    """A fault in each kernel, and in what they share."""
    assert is_caught(fault)


@pytest.mark.skipif(nvrtc.missing() is not None, reason=str(nvrtc.missing()))
@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
@pytest.mark.parametrize("family", some_families(), ids=lambda family: family.name)
def test_no_register_is_spilled(family: Any, architecture: str) -> None:
    """The kernels compile for GPUs, and all that a thread holds fits into registers."""
    usages = nvrtc.compile_family(family, architecture)
    assert len(usages) == len(KINDS_OF_KERNELS)
    for usage in usages:
        assert usage.stack == usage.spilled == 0, usage


@pytest.mark.parametrize("dtype", exact.FLOATS)
@pytest.mark.parametrize("op", ["l1", "l2", "sum_square", "sum", "mean"])
def test_random_sums_are_correctly_rounded(op: str, dtype: str) -> None:
    """All of some hundred results, by every launch; float64 too, though more is allowed."""
    try_rounding(EMULATOR, op, dtype)


@pytest.mark.parametrize("op", exact.LOGARITHMS)
def test_logarithms_of_float64(op: str) -> None:
    """Within an ulp, or for LogSumExp an ulp of 1, from the smallest to the largest sums there are."""
    rng = np.random.default_rng(11)
    x = rng.standard_normal((200, 3)) * 10.0 ** rng.integers(-2, 3, (200, 1))
    if op == "log_sum":
        x = np.exp(x * rng.uniform(0, 3, (200, 1)))
    what = reduction_of(op, x, (1,))
    got = engine.reduce(DEVICE, x, what)
    for row, number in zip(x.tolist(), got[:, 0].tolist(), strict=True):
        right = exact.unrounded(op, row)
        unit = exact.ulp(right if op == "log_sum" else max(abs(right), Fraction(1)), "float64")
        assert abs(Fraction(number) - right) <= unit * Fraction(6, 10), row


def test_runs_at_every_alignment() -> None:
    """Runs of all short lengths from every start, among others that would show in the result."""
    for dtype in ("int8", "float16", "float32", "float64"):
        held = np.full(90, 99, dtype)
        for start in range(16 // held.itemsize + 1):
            for size in (*range(1, 20), 70):
                x = held[start : start + size]
                x[...] = np.arange(size) % 7
                what = reduction_of("max" if dtype == "int8" else "sum", x, (0,))
                for launch in launches(x, (0,)):
                    got = reduced(DEVICE, x, what, launch)
                    assert got == (min(size - 1, 6) if dtype == "int8" else x.astype("f8").sum())
                x[...] = 99


def test_lanes_beyond_the_terms() -> None:
    """A mean counts terms, not threads."""
    x = np.full((2, 5), -3.0)
    for launch in launches(x, (1,)):
        assert (reduced(DEVICE, x, reduction_of("mean", x, (1,)), launch) == -3).all()


def test_truncation_at_the_ends_of_64_bits() -> None:
    """Sums of float64 next to 2**63 and 2**64, with what lies below their last digit."""
    for top, dtype in ((2.0**63, "int64"), (2.0**64, "uint64")):
        for rest in (0.0, -1.0, -5.0, -0.5, 1.0, 2.0**-40):
            x = np.array([[top, rest, 0.0]])
            what = reduction_of("sum", x, (1,), dtype)
            check_one("sum", x, what, 0, engine.reduce(DEVICE, x, what), dtype)
    for numbers in (
        [2.5, -(2.0**-60)],
        [3.0, -(2.0**-60)],
        [-3.0, 2.0**-60],
        [math.nan, 1.0],
        [2.0**53, 1.5],
    ):
        x = np.array([numbers])
        what = reduction_of("sum", x, (1,), "int32" if numbers[0] < 2**31 else "int64")
        check_one("sum", x, what, 0, engine.reduce(DEVICE, x, what), what.result.name)
