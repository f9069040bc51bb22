"""The values that other libraries get wrong, on every backend."""

from __future__ import annotations

import math
from typing import Any

import exact
import numpy as np
import pytest
from libraries import Library, numpy_dtype

I32 = 2**31 - 1
TABLE: list[tuple[str, str, list[Any], Any]] = [
    ("l2", "int32", [50000, 50000], 70710),
    ("l2", "int32", [65536], 65536),
    ("l2", "uint32", [65536], 65536),
    ("l2", "int32", [-128, -128], 181),
    ("l2", "float16", [300, 300], 424.25),
    ("l2", "float16", [600, 800], 1000.0),
    ("l2", "float16", [200] * 4, 400.0),
    ("l2", "float32", [1e20] * 2, 1.4142136e20),
    ("l2", "float32", [1e-30] * 2, 1.4142136e-30),
    ("l2", "float64", [1e200] * 2, 1.414213562373095e200),
    ("l2", "float64", [1e-200] * 2, 1.414213562373095e-200),
    ("l2", "float64", [1 / 3, 2 / 3], 0.7453559924999299),
    ("l2", "bfloat16", [1.0] * 1000, 31.625),
    ("l2", "float32", [math.nan, math.inf], math.nan),
    ("l2", "float32", [-math.inf, 1], math.inf),
    ("l2", "int64", [-(2**63)], 2**63 - 1),
    ("l2", "int64", [2**62] * 2, 6521908912666391106),
    ("l2", "uint64", [2**64 - 1], 2**64 - 1),
    ("l2", "uint64", [2**63, 2**63], 13043817825332782212),
    ("sum", "int64", [2**53, 1], 9007199254740993),
    ("sum", "int32", [I32, I32, -I32 - 1, -I32 - 1], -2),
    ("sum", "int32", [I32, I32], I32),
    ("sum", "int32", [-I32 - 1, -1], -I32 - 1),
    ("sum", "int64", [2**63 - 1] * 3 + [-(2**63)] * 3, -3),
    ("sum", "uint64", [2**64 - 1] * 3, 2**64 - 1),
    ("sum", "float32", [2**24, 1, 2.0**-60], 16777218.0),
    ("sum", "float32", [2**24, 1, -(2.0**-60)], 16777216.0),
    ("sum", "float64", [1.7e308, 1.7e308, -1.7e308], 1.7e308),
    ("sum", "float64", [1e16, 1.0, -1e16], 1.0),
    ("sum", "float16", [60000.0, 60000.0, -60000.0], 60000.0),
    ("sum", "float32", [math.inf, -math.inf], math.nan),
    ("sum", "float32", [math.inf, 1.0], math.inf),
    ("sum", "float64", [-0.0, -0.0], -0.0),
    ("sum", "float64", [-0.0, 0.0], 0.0),
    ("sum", "float32", [-0.0] * 3, -0.0),
    ("sum", "float16", [1.0, -1.0], 0.0),
    ("l1", "int32", [-I32 - 1], I32),
    ("l1", "int64", [-(2**63), 1], 2**63 - 1),
    ("l1", "float16", [-60000.0, 60000.0], math.inf),
    ("l1", "float32", [-0.0], 0.0),
    ("l1", "float64", [1.0, -(2.0**-53), 2.0**-105], 1 + 2.0**-52),
    ("sum_square", "float32", [1e20], math.inf),
    ("sum_square", "float64", [1e-200], 0.0),
    ("sum_square", "int32", [46341], I32),
    ("sum_square", "int64", [3037000499, 1], 9223372030926249002),
    ("sum_square", "uint64", [2**32 - 1, 2**32 - 1], 2**64 - 1),
    ("log_sum", "float16", [60000.0] * 2, 11.695),
    ("log_sum", "float32", [1.0, -2.0], math.nan),
    ("log_sum", "int32", [1, -2], 0),
    ("log_sum", "int32", [0], -I32 - 1),
    ("log_sum", "uint32", [0], 0),
    ("log_sum", "float64", [0.0], -math.inf),
    ("log_sum", "float64", [1.0, 2.0**-60], 2.0**-60),
    ("log_sum", "int64", [2**62] * 4, 44),
]

# Where zeros are not neutral.
ALONE: list[tuple[str, str, list[Any], Any]] = [
    ("mean", "float16", [60000.0] * 4, 60000.0),
    ("mean", "int32", [I32] * 2, I32),
    ("mean", "int64", [-1, -2], -1),
    ("mean", "int64", [2**63 - 1, 2**63 - 1, -(2**63)], 3074457345618258602),
    ("mean", "uint64", [2**64 - 1] * 3, 2**64 - 1),
    ("mean", "float64", [np.finfo("f8").max, -np.finfo("f8").max, 1e-16], 1e-16 / 3),
    ("mean", "float64", [1.7e308] * 3, 1.7e308),
    ("mean", "float32", [-0.0, -0.0], -0.0),
    ("mean", "float32", [math.inf, -math.inf], math.nan),
    ("prod", "float32", [1e30, 1e30, 1e-30, 1e-30], 1.0),
    ("prod", "float32", [1e-30, 1e-30, 1e30, 1e30], 1.0),
    ("prod", "float64", [2.0**-1000] * 2 + [2.0**1000] * 2, 1.0),
    ("prod", "int32", [65536, 65536], I32),
    ("prod", "int32", [65536, -65536], -I32 - 1),
    ("prod", "int32", [65536, 65536, 0], 0),
    ("prod", "int64", [-(2**63), 1], -(2**63)),
    ("prod", "int64", [-(2**63), -1], 2**63 - 1),
    ("prod", "uint64", [2**32, 2**32], 2**64 - 1),
    ("prod", "uint64", [2**32, 2**32 - 1], 2**64 - 2**32),
    ("prod", "float32", [0.0, math.inf], math.nan),
    ("prod", "float32", [-1.0, 0.0], -0.0),
    ("max", "float32", [1.0, math.nan], math.nan),
    ("max", "float32", [math.nan, 1.0], math.nan),
    ("max", "float32", [math.nan, math.nan, math.nan, 42.0], math.nan),
    ("min", "float32", [1.0, math.nan], math.nan),
    ("min", "float32", [math.nan, 1.0], math.nan),
    ("max", "float32", [-0.0, 0.0], 0.0),
    ("max", "float32", [0.0, -0.0], 0.0),
    ("max", "float16", [-0.0, -0.0], -0.0),
    ("min", "float64", [0.0, -0.0], -0.0),
    ("min", "bfloat16", [-0.0, 0.0], -0.0),
    ("max", "uint64", [1, 2**64 - 1, 0], 2**64 - 1),
    ("min", "int64", [1, -(2**63), 0], -(2**63)),
    ("max", "int8", [-128, -1], -1),
    ("min", "uint8", [255, 3], 3),
    ("max", "bool", [False, True], True),
    ("min", "bool", [True, True], True),
    ("log_sum_exp", "float64", [0.0, -40.0], 4.248354255291589e-18),
    ("log_sum_exp", "float32", [1000.0] * 2, 1000.6932),
    ("log_sum_exp", "float32", [-1000.0] * 2, -999.3068),
    ("log_sum_exp", "float32", [math.inf, -math.inf], math.inf),
    ("log_sum_exp", "float32", [-math.inf, -math.inf], -math.inf),
    ("log_sum_exp", "int32", [1, 1], 1),
    ("log_sum_exp", "int64", [2**62], 2**62),
]


@pytest.mark.parametrize("padding", [0, 5, 400, 20000])
@pytest.mark.parametrize(("op", "dtype", "values", "right"), TABLE)
def test_value(library: Library, op: str, dtype: str, values: list[Any], right: Any, padding: int) -> None:
    """Each value alone, and beside zeros that change nothing but which kernel runs."""
    if dtype not in library.dtypes:
        pytest.skip(f"{library.name} has no {dtype}")
    zero = -0.0 if dtype.startswith(("f", "b")) and math.copysign(1, right) < 0 else 0
    x = np.asarray([*values, *[zero] * padding], numpy_dtype(dtype))
    got = library.reduce(op, x, keepdims=False)
    assert got.shape == ()
    assert got.dtype == x.dtype
    want = np.asarray(right, x.dtype)
    if not library.correctly_rounded and padding > 10000 and right == 16777218:
        # Halfway but for 2**-60: more than a state of so many terms must tell.
        assert got in (16777216, 16777218)
        return
    np.testing.assert_array_equal(got, want)
    if dtype.startswith(("f", "b")):
        assert math.copysign(1, float(got)) == math.copysign(1, float(want)) or math.isnan(right)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("op", "dtype", "values", "right"), TABLE + ALONE)
def test_value_on_an_axis(
    library: Library, op: str, dtype: str, values: list[Any], right: Any, axis: int
) -> None:
    """Each value in 40 rows and in 40 columns."""
    if dtype in ("float16", "bfloat16") and dtype not in library.dtypes:
        pytest.skip(f"{library.name} has no {dtype}")
    for copies in (1, 40, 3000):
        x = np.stack([np.asarray(values, numpy_dtype(dtype))] * copies, axis=1 - axis)
        got = library.reduce(op, x, axes=axis, keepdims=False)
        want = np.full(copies, right, x.dtype)
        np.testing.assert_array_equal(got, want)
        if dtype.startswith(("f", "b")) and right == 0:
            np.testing.assert_array_equal(np.signbit(got.astype("f8")), np.signbit(want.astype("f8")))


TOWARD_ZERO: list[tuple[str, list[float], int]] = [
    ("mean", [2.0**-100, 2.0**-100, -129], -42),
    ("mean", [-(2.0**-100), -(2.0**-100), 129], 42),
    ("mean", [2.0**-100, 2.0**-100, 129], 43),
    ("sum", [2.0**-100, -129], -128),
    ("sum", [-(2.0**-100), 2.0**30], 2**30 - 1),
    ("sum", [1 - 2.0**-24, 2.0**-100], 0),
    ("l1", [1 - 2.0**-24, 2.0**-100, 2.0**-24], 1),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("op", "values", "right"), TOWARD_ZERO)
def test_integers_of_floats(library: Library, dtype: str, op: str, values: list[float], right: int) -> None:
    """The exact value is rounded toward zero, however near to an integer it lies."""
    got = library.reduce(op, np.asarray(values, dtype), keepdims=False, dtype="int32")
    assert int(got) == right


def test_below_the_end_of_uint64(library: Library) -> None:
    """The nearest float64 is 2**64, which is beyond the end; the sum isn't."""
    values = np.asarray([2.0**64, -1000.0])
    assert int(library.reduce("sum", values, keepdims=False, dtype="uint64")) == 2**64 - 1000


LARGE: list[tuple[str, str, tuple[int, ...], float, Any, float]] = [
    ("l2", "float32", (10000, 10000), 1.0, None, 10000.0),
    ("sum", "float32", (20_000_000, 2), 1.0, 0, 2e7),
    ("sum", "float32", (20_000_000,), 0.1, None, 2000000.0),
    ("sum", "float16", (4000, 2), 1.0, 0, 4000.0),
    ("mean", "float32", (20_000_000, 2), 1.0, 0, 1.0),
]


@pytest.mark.parametrize(("op", "dtype", "shape", "value", "axes", "right"), LARGE)
def test_large(
    library: Library, op: str, dtype: str, shape: tuple[int, ...], value: float, axes: Any, right: float
) -> None:
    """Sums of so many terms that their own dtype would stop counting."""
    if dtype not in library.dtypes:
        pytest.skip(f"{library.name} has no {dtype}")
    got = library.reduce(op, np.full(shape, value, dtype), axes=axes, keepdims=False)
    np.testing.assert_array_equal(got, np.full(got.shape, right, dtype))


@pytest.mark.parametrize("op", exact.OPERATORS)
@pytest.mark.parametrize("shape", [(2, 0, 4), (0,), (0, 3), (3, 0)])
def test_empty(library: Library, op: str, shape: tuple[int, ...]) -> None:
    """Sets without values have the value of the table, and results without elements keep their shape."""
    more = ("int8", "uint8", "bool") if op in ("max", "min") else ()
    for dtype in (*library.dtypes, *more):
        x = np.zeros(shape, numpy_dtype(dtype))
        for axes in [None, *range(len(shape))]:
            for keepdims in (True, False):
                got = library.reduce(op, x, axes=axes, keepdims=keepdims)
                want = np.sum(x.astype("f8"), axis=axes, keepdims=keepdims)
                assert got.shape == want.shape
                assert got.dtype == x.dtype
                right = np.full(want.shape, exact.reduced(op, [], dtype), x.dtype)
                np.testing.assert_array_equal(got.astype("f8"), right.astype("f8"))
                if not right.any():
                    assert not np.signbit(got.astype("f8")).any()


@pytest.mark.parametrize("op", exact.OPERATORS)
def test_rank_0(library: Library, op: str) -> None:
    """Rank 0 has one element and no axes."""
    for dtype in library.dtypes:
        x = np.asarray(3, numpy_dtype(dtype))
        for axes in (None, (), []):
            got = library.reduce(op, x, axes=axes)
            assert got.shape == ()
            assert got.dtype == x.dtype
            want = float(exact.reduced(op, [3], dtype))
            assert float(got) == pytest.approx(want, rel=1e-15)
