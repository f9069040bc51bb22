"""The NumPy backend: layouts, memory, warnings, and the paths that only some data take."""

from __future__ import annotations

import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import exact
import numpy as np
import pytest
from libraries import BFLOAT16, numpy_dtype

import xpreduce
from xpreduce_numpy import careful
from xpreduce_numpy.choice import use_kernels

RNG = np.random.default_rng(1)
DTYPES = [*exact.FLOATS, *exact.INTEGERS]


def random(shape: tuple[int, ...], dtype: str) -> Any:
    if dtype in exact.RANGE:
        return RNG.integers(*exact.RANGE[dtype], shape, dtype, endpoint=True)
    return RNG.standard_normal(shape).astype(numpy_dtype(dtype))


@pytest.mark.parametrize("op", exact.OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_on_every_layout(op: str, dtype: str) -> None:
    """The same values give the same bits, however they lie in memory."""
    x = random((6, 50, 70), dtype)
    layouts = [
        np.asfortranarray(x),
        np.ascontiguousarray(x.transpose(1, 2, 0)).transpose(2, 0, 1),
        np.ascontiguousarray(x[::-1, ::-1, ::-1])[::-1, ::-1, ::-1],
        np.repeat(np.repeat(x, 2, 0), 3, 2)[::2, :, ::3],
        np.frombuffer(b"\0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),  # not aligned
    ]
    if dtype != "bfloat16":
        layouts.append(x.astype(x.dtype.newbyteorder()))
    # Kernels are compared with these bits in test_compiled.py.
    with use_kernels("plain"):
        for axes in (0, 1, 2, (0, 1), (0, 2), (1, 2), None):
            want = xpreduce.reduce(op, x, axes=axes)
            for y in layouts:
                got = xpreduce.reduce(op, y, axes=axes)
                assert got.dtype.isnative
                np.testing.assert_array_equal(got.astype("f8"), want.astype("f8"))


@pytest.mark.parametrize("op", exact.OPERATORS)
def test_same_bits_on_every_run(op: str) -> None:
    x = random((1000, 1000), "float32")
    runs = {xpreduce.reduce(op, x, axes=0).tobytes() for _ in range(5)}
    assert len(runs) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_same_bits_where_almost_all_cancels(dtype: str) -> None:
    """What is left of sums that cancel does not depend on the order in memory, and is exact."""
    size = 64 * 96 - 40
    spread = 60 if dtype in ("float32", "float64") else 6
    half = np.ldexp(RNG.uniform(1, 2, size // 2), RNG.integers(-spread, spread, size // 2))
    half = half.astype(numpy_dtype(dtype))
    rest = np.full(40, 1e-33 if spread == 60 else 2.0**-14).astype(half.dtype)
    x = np.concatenate([half, -half, rest])
    RNG.shuffle(x)
    x = x.reshape(64, 96)
    want = exact.reduced("sum", x.astype("f8").ravel().tolist(), dtype)
    for y in (x, np.asfortranarray(x), x[::-1].copy()[::-1], x.reshape(-1)):
        assert float(xpreduce.reduce_sum(y, keepdims=False)) == want
    assert float(xpreduce.reduce_mean(x, keepdims=False)) == exact.reduced(
        "mean", x.astype("f8").ravel().tolist(), dtype
    )


def test_broadcast_arrays() -> None:
    """A dimension of stride 0 counts as often as it is long."""
    x = np.broadcast_to(np.asarray([1, 2, 3], "int32"), (1000, 5, 3))
    np.testing.assert_array_equal(xpreduce.reduce_sum(x, (0, 1), keepdims=False), [5000, 10000, 15000])
    np.testing.assert_array_equal(xpreduce.reduce_sum(x.T, 0, keepdims=False), np.full((5, 1000), 6))


def test_memory_mapped(tmp_path: Path) -> None:
    """A memory-mapped file gives a plain array, and is not read into memory whole."""
    x = random((512, 4096), "float32")
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    got = xpreduce.reduce_l2(mapped, axes=0)
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, xpreduce.reduce_l2(x, axes=0))


@pytest.mark.parametrize(
    ("op", "dtype"),
    [(op, dtype) for op in ("l2", "sum", "max") for dtype in DTYPES]
    + [(op, dtype) for op in ("l1", "mean", "prod", "log_sum_exp") for dtype in ("float32", "float64")],
)
def test_extra_memory(op: str, dtype: str) -> None:
    """No temporary of the input's size: at most the output and 16 MiB."""
    x = random((2**12, 2**11 if op not in ("prod", "log_sum_exp") else 2**9), dtype)  # up to 64 MiB
    views = [
        (x, 0),
        (x, 1),
        (x, None),
        (x.T, 0),
        (x[:, ::2], 0),
        (x.reshape(-1, 8), 1),
        (x.reshape(-1, 4, 4), 1),
    ]
    xpreduce.reduce(op, x[:64], axes=0)
    for view, axes in views:
        for kernels in ("plain", "compiled"):
            with use_kernels(kernels):
                xpreduce.reduce(op, view[:2], axes=axes)  # code is not the reduction's memory
                if kernels == "compiled":
                    xpreduce.reduce(op, view, axes=axes)
                tracemalloc.start()
                got = xpreduce.reduce(op, view, axes=axes)
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            assert peak <= got.nbytes + 2**24, (kernels, view.shape, axes, peak / 2**20)


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_no_warnings(dtype: str) -> None:
    """What overflows, underflows or is NaN on the way never shows."""
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, float(exact.rounded(exact.Fraction(10) ** 400, dtype))]
    if dtype == "float64":
        values += [1.7e308, -1.7e308, 5e-324, 1e200, 1e-200]
    x = np.asarray([values] * 300, numpy_dtype(dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for op in exact.OPERATORS:
            for y in (x, x[:2], x[0], x[0, :1]):
                for axes in (None, 0, -1):
                    xpreduce.reduce(op, y, axes=axes)


def test_open_roundings_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums next to a tie take the careful path and come out right."""
    calls = []
    state = careful.state
    monkeypatch.setattr(careful, "state", lambda *args: calls.append(1) or state(*args))
    x = np.ones((3000, 200), "float32")
    x[:, 0] = 0
    x[:3, 0] = 2.0**24, 1, 2.0**-60
    x[:3, 1] = 2.0**24, 1, -(2.0**-60)
    x[3:, 1] = 0
    got = xpreduce.reduce_sum(x, axes=0)
    assert calls
    np.testing.assert_array_equal(got[0, :3], [16777218, 16777216, 3000])


@pytest.mark.parametrize("scale", [1e300, 1e-300, 2.0**-1074])
def test_float64_out_of_range_in_one_column(scale: float) -> None:
    """Columns of far apart magnitudes keep all their digits."""
    x = np.ones((5000, 30))
    x[:, 7] = scale
    got = xpreduce.reduce_l2(x, axes=0, keepdims=False)
    right = exact.reduced("l2", [scale] * 5000, "float64")
    assert got[7] == right
    assert got[0] == exact.reduced("l2", [1.0] * 5000, "float64")


def test_float64_sum_overflows_only_at_the_end() -> None:
    big = np.finfo("f8").max
    x = np.zeros((4000, 3))
    x[:2000, 0], x[2000:, 0] = big, -big
    x[5, 0] = 0
    x[:2, 1] = big
    got = xpreduce.reduce_sum(x, axes=0, keepdims=False)
    np.testing.assert_array_equal(got, [-big, np.inf, 0])


def test_logarithms_of_sums_that_almost_cancel() -> None:
    """The sign of a sum decides between a number and NaN."""
    values = [8.267972677977988e-35, 6.705073105795639e-17, 2.0481158726424456e-16, -6.157255076554512e-16]
    values += [-values[2], -values[3], -values[1], -1.47323103813431e-37]
    for dtype in ("float32", "float64"):
        x = np.asarray([values] * 500, dtype).T
        right = exact.reduced("log_sum", x[:, 0].astype("f8").tolist(), dtype)
        np.testing.assert_allclose(xpreduce.reduce_log_sum(x, axes=0)[0], right, rtol=1e-6)
        np.testing.assert_array_equal(
            xpreduce.reduce_log_sum(np.zeros((3, 900), dtype), axes=0), [[-np.inf] * 900]
        )


@pytest.mark.parametrize("size", [2, 500, 5000])
def test_float64_means_of_huge_values(size: int) -> None:
    """Dividing a sum near the end of the range takes no detour over infinity."""
    x = np.zeros((size, 3))
    x[0] = 2.6787715179656683e300, -1.7e308, 1.0
    got = xpreduce.reduce_mean(x, axes=0, keepdims=False)
    for i in range(3):
        assert got[i] == exact.reduced("mean", x[:, i].tolist(), "float64")


def test_half_precision_conversion_is_exact() -> None:
    """Every float16 and every bfloat16 goes through the blocks as it is."""
    bits = np.arange(2**16, dtype="u2")
    for dtype in (np.dtype("f2"), BFLOAT16):
        x = bits.view(dtype)
        with np.errstate(all="ignore"):
            finite = np.isfinite(x.astype("f4"))
        x = np.where(finite, x, np.zeros_like(x))
        got = xpreduce.reduce_sum(x.reshape(1, -1), axes=0)
        np.testing.assert_array_equal(got[0].astype("f4"), x.astype("f4"))
        norm = xpreduce.reduce_l2(np.stack([x, np.zeros_like(x)]), axes=0)
        np.testing.assert_array_equal(norm[0].astype("f4"), np.abs(x.astype("f4")))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_large_random_sums_are_correctly_rounded(dtype: str) -> None:
    """Rows and columns of random numbers, against exact sums."""
    x = random((300, 4000), dtype)
    for op in ("l2", "sum"):
        rows = xpreduce.reduce(op, x, axes=1, keepdims=False)
        columns = xpreduce.reduce(op, x, axes=0, keepdims=False)
        for i in range(0, 300, 30):
            assert float(rows[i]) == exact.reduced(op, x[i].tolist(), dtype)
            assert float(columns[i]) == exact.reduced(op, x[:, i].tolist(), dtype)
