"""The NumPy backend on its thresholds: where plain arithmetic ends and something slower begins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import exact
import numpy as np
import pytest
from libraries import numpy_dtype
from test_exact import check

import xpreduce
from xpreduce_numpy.plain import exceptions, wide_products

RNG = np.random.default_rng(7)


class Sound:
    """What `check` asks of a library."""

    correctly_rounded = True


def layouts(x: Any) -> list[Any]:
    """Return the same matrix in memory orders that walk it differently."""
    return [x, np.asfortranarray(x), x[::-1].copy()[::-1], np.repeat(x, 2, 1)[:, ::2]]


def checked(op: str, x: Any) -> None:
    """Assert that some results along both axes are right, and the others the same on every layout."""
    dtype = x.dtype.name
    for axis, some in ((0, np.s_[:, :12]), (1, np.s_[:8])):
        want = xpreduce.reduce(op, x, axes=axis)
        check(Sound(), op, x[some], [axis], want[some], dtype)
        for y in layouts(x):
            got = xpreduce.reduce(op, y, axes=axis)
            if dtype != "float64":
                assert got.tobytes() == want.tobytes()
            elif y.flags.f_contiguous:
                check(Sound(), op, y[some], [axis], got[some], dtype)


@pytest.mark.parametrize("dtype", exact.FLOATS)
@pytest.mark.parametrize("terms", [1, 2, 3, 4, 5, 6, 7, 63, 64, 65, 130, 515])
@pytest.mark.parametrize("balanced", [True, False])
def test_products_next_to_the_ends_of_the_range(dtype: str, terms: int, balanced: bool) -> None:
    """Chains that leave float64's range, for ever or until other factors bring them back."""
    digits, highest, lowest = exact.PRECISION[dtype]
    exponents = RNG.choice([lowest, lowest + digits, highest - 1, 0], (terms, 70))
    if balanced:  # large and small in turn, most of them cancelling
        exponents[1::2] = -exponents[: terms // 2 * 2 : 2]
        exponents = np.clip(exponents, lowest, highest - 1)
    x = np.ldexp(RNG.integers(8, 16, (terms, 70)) / 8 * RNG.choice([-1, 1], (terms, 70)), exponents)
    checked("prod", x.astype(numpy_dtype(dtype)))


@pytest.mark.parametrize("dtype", exact.FLOATS)
@pytest.mark.parametrize("special", [0.0, -0.0, math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("terms", [2, 9, 200])
def test_products_of_special_values(dtype: str, special: float, terms: int) -> None:
    """Beside factors whose product overflows or underflows, too; two of them, and beside each other."""
    lowest, highest = exact.PRECISION[dtype][2], exact.PRECISION[dtype][1]
    x = np.ldexp(1.0, RNG.choice([lowest, highest], (terms, 6))) * RNG.choice([-1, 1], (terms, 6))
    x[terms // 2] = special
    x[-1, 2:4] = special, -1.0
    x[0, 4:] = 0.0, math.inf
    checked("prod", x.astype(numpy_dtype(dtype)))


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_products_of_numbers_near_one(dtype: str) -> None:
    """Where rounding errors add up, and where products lie on ties."""
    unit = 2.0 ** -exact.PRECISION[dtype][0]
    for factors in (
        [1 + 2 * unit, 1 - unit, 1.0, 1.5],
        [1 + 2 * unit, 1.0, 1.0, 1.0, -1.0],
        [1.5, 1.25, 0.5, 1],
    ):
        x = RNG.choice(factors, (60, 33))
        checked("prod", x.astype(numpy_dtype(dtype)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_products_of_many_blocks(dtype: str) -> None:
    """More factors than a block holds, with results in range."""
    exponents = RNG.uniform(-1, 1, 2**18 + 3)
    x = np.exp2(exponents - exponents.mean() + 1e-4).astype(numpy_dtype(dtype))
    got = float(xpreduce.reduce_prod(x, keepdims=False))
    size, exponent = 1, 0
    for value in x.astype("f8").tolist():
        mantissa, power = math.frexp(value)
        size *= int(mantissa * 2**53)
        exponent += power - 53
        extra = max(size.bit_length() - 400, 0)
        size >>= extra
        exponent += extra
    right = Fraction(size) * Fraction(2) ** exponent
    assert abs(Fraction(got) - right) <= exact.ulp(right, dtype) * (
        2 if dtype == "float64" else Fraction(51, 100)
    )


def test_products_without_reported_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the processor reports nothing, chains are as short as is always safe."""
    monkeypatch.setattr(exceptions, "_reported", lambda: False)
    for dtype in exact.FLOATS:
        _, highest, lowest = exact.PRECISION[dtype]
        x = np.ldexp(RNG.uniform(1, 2, (70, 70)), RNG.integers(lowest, highest, (70, 70)))
        checked("prod", x.astype(numpy_dtype(dtype)))
        checked("prod", RNG.uniform(0.5, 1.9, (70, 70)).astype(numpy_dtype(dtype)))


def test_what_leaves_the_range_is_reported() -> None:
    """Overflow and inexact underflow; not zeros, infinities and NaN that were there before."""
    for values in ([1e200, 1e200], [1e-200, 1e-200], [1e-200, 1e-123]):
        for shape in ((2, 1), (2, 9), (1, 2)):
            axis = 1 if shape == (1, 2) else 0
            x = np.broadcast_to(np.expand_dims(values, 1 - axis), shape)
            assert exceptions.in_range(np.multiply.reduce, x, axis=axis) is None
    for values in ([0.0, 1e-300], [5e-324, 2.0], [math.inf, 1e300], [math.nan, 1e300], [math.inf, 0.0]):
        with np.errstate(invalid="ignore"):
            assert exceptions.in_range(np.multiply.reduce, np.asarray(values)) is not None


@pytest.mark.parametrize("dtype", exact.INTEGERS)
def test_integer_products_next_to_thresholds(dtype: str) -> None:
    """Next to 2**53 and to the ends of the range, with negative factors, far beyond, back by zero."""
    low, high = exact.RANGE[dtype]
    near = [2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**31 - 1, 2**31, high, high - 1, -low]
    rows: list[list[int]] = []
    for number in near:
        for split in (1, 2, 3, 7, 73, 127, 337, 641, 6700417):
            for sign in (1, -1):
                row = [sign * (number // split), split, 1, 1, 1, 1]
                rows += [row, [*row[:2], -1, -1, -1, 1], [*row[:5], 0], [number, number, *row[:4]]]
    rows = [row for row in rows if all(low <= v <= high for v in row)]
    x = np.asarray(rows, dtype)
    for y in (x, np.tile(x, (1, 12)) if low < 0 else x, np.concatenate([x, np.ones((len(x), 70), dtype)], 1)):
        checked("prod", np.ascontiguousarray(y.T))


@pytest.mark.parametrize("op", ["sum", "l1", "mean", "l2", "sum_square", "log_sum"])
@pytest.mark.parametrize("dtype", exact.INTEGERS)
def test_integer_sums_next_to_thresholds(op: str, dtype: str) -> None:
    """Sums next to the ends of 64 bits and of the dtype, squares next to 2**52 and to roots of integers."""
    low, high = exact.RANGE[dtype]
    roots = [2**26 - 1, 2**26, 2**26 + 1, 3037000499, 3037000500, 94906265, 94906266, 46340, 46341]
    numbers = [v for r in roots for v in (r, -r, r - 1)] + [
        low,
        low + 1,
        high,
        high - 1,
        high // 2 + 1,
        0,
        1,
        -1,
    ]
    numbers = [v for v in numbers if low <= v <= high]
    for terms in (1, 2, 3, 8, 40):
        x = RNG.choice(np.asarray(numbers, dtype), (terms, 90))
        x[1:, ::3] = RNG.choice(np.asarray([0, 1, max(low, -1)], dtype), (terms - 1, 30))
        checked(op, x)


@pytest.mark.parametrize("shift", [0.0, 599.0, 601.0, -599.0, -601.0, 1e4, -1e4, 1e15])
@pytest.mark.parametrize("terms", [2, 9, 300])
def test_logarithms_far_out(shift: float, terms: int) -> None:
    """Where the largest begins to be subtracted, in some results and not in others."""
    x = RNG.standard_normal((terms, 20)) * RNG.choice([0.01, 1, 30], (1, 20))
    x[:, ::2] += shift
    checked("log_sum_exp", x)


def test_logarithms_dominated_by_one_term() -> None:
    """What the others add shows where the largest is next to zero, also next to where exp underflows."""
    for small in (-1e-3, -0.7, -30.0, -40.0, -600.0, -660.0):
        x = np.asarray([[0.0, small], [small, 0.0]])
        right = float(exact.unrounded("log_sum_exp", [0.0, small]))
        np.testing.assert_allclose(xpreduce.reduce_log_sum_exp(x, axes=1)[:, 0], right, rtol=1e-15)
    for small in (-701.0, -746.0, -1e300, -math.inf):
        assert xpreduce.reduce_log_sum_exp(np.asarray([0.0, small]), keepdims=False) < 1e-289
        assert xpreduce.reduce_log_sum_exp(np.asarray([-3.25, small]), keepdims=False) == -3.25


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_extremes_among_zeros(dtype: str) -> None:
    """+0 is larger than -0, wherever they stand and however many there are."""
    x = RNG.choice([0.0, -0.0, -1.0], (7, 400)).astype(numpy_dtype(dtype))
    checked("max", x)
    checked("min", -x)
    checked("max", np.where(RNG.random(x.shape) < 0.1, numpy_dtype(dtype).type(math.nan), x))


def test_levels_shrink_only_as_far_as_needed() -> None:
    """Pairs whose chains left the range at once are still taken apart in time."""
    assert min(wide_products._FEWER.values()) == 0
    x = np.ldexp(1.0, RNG.integers(-500, 500, (64, 70)))
    x[::2] = 1 / x[1::2]
    checked("prod", x)
