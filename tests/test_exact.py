"""Properties: every result against exact arithmetic, over magnitudes, shapes, axes and layouts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import exact
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from libraries import LIBRARIES, Library, numpy_dtype

from xpreduce_numpy import small
from xpreduce_numpy.plain import (
    extremes,
    general,
    integer_products,
    integers,
    log_sum_exp,
    narrow,
    products,
    wide,
    wide_products,
)

KERNELS = (extremes, general, integer_products, integers, log_sum_exp, narrow, products, wide, wide_products)

SETTINGS = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def bit_patterns(dtype: str) -> st.SearchStrategy[int]:
    """Bits of finite numbers of all exponents, zeros of both signs and subnormals among them."""
    bits = 8 * numpy_dtype(dtype).itemsize
    digits = exact.PRECISION[dtype][0]
    exponents = st.integers(0, 2 ** (bits - digits) - 2)
    fractions = st.one_of(st.integers(0, 2 ** (digits - 1) - 1), st.sampled_from([0, 1]))
    signs = st.integers(0, 1)
    return st.builds(lambda s, e, f: s << (bits - 1) | e << (digits - 1) | f, signs, exponents, fractions)


def like(values: list[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


@st.composite
def arrays(draw: st.DrawFn, dtype: str, op: str = "sum") -> np.ndarray[Any, Any]:
    """Arrays of rank 0 to 4 with any strides: permuted, reversed, sliced, with zero-length dimensions."""
    shape = draw(npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        x = draw(npst.arrays(kind, shape))
    elif dtype in exact.RANGE:
        low, high = exact.RANGE[dtype]
        small = st.integers(max(low, -3), 3)
        x = draw(
            npst.arrays(kind, shape, elements=st.one_of(st.integers(low, high), small, like([low, high])))
        )
    else:
        unsigned = np.dtype(f"u{kind.itemsize}")
        near = draw(bit_patterns(dtype))  # so that some exponents meet, and ties and cancelling pairs arise
        flip = 1 << (8 * kind.itemsize - 1)
        elements = st.one_of(bit_patterns(dtype), like([near, near ^ flip, near ^ 1, near ^ 1 ^ flip]))
        x = draw(npst.arrays(unsigned, shape, elements=elements)).view(kind)
        if op == "log_sum_exp" and draw(st.booleans()):  # where more than the largest counts
            x = np.clip(x.astype("f8"), -50, 50).astype(kind)
        elif op == "prod" and draw(st.booleans()):  # where products don't all end as 0 and infinity
            x = np.copysign(np.frexp(x.astype("f8"))[0] * 1.5, x.astype("f8")).astype(kind)
    order = draw(st.permutations(range(x.ndim)))
    steps = draw(st.lists(like([1, 1, -1, 2, -2]), min_size=x.ndim, max_size=x.ndim))
    return x.transpose(order)[tuple(slice(None, None, step) for step in steps)]


@st.composite
def calls(draw: st.DrawFn, dtypes: tuple[str, ...], op: str) -> tuple[str, Any, Any, bool]:
    """A dtype, an array of it, and the arguments to reduce it with."""
    dtype = draw(like(list(dtypes)))
    x = draw(arrays(dtype, op))
    axes = None
    if x.ndim and draw(st.booleans()):
        axes = draw(st.lists(st.integers(-x.ndim, x.ndim - 1), unique_by=lambda a: a % x.ndim))
    return dtype, x, axes, draw(st.booleans())


def sets(x: Any, axes: Any) -> dict[tuple[int, ...], list[Any]]:
    """Return the values behind each result, by the result's index with reduced axes at 0."""
    reduced = {a % x.ndim for a in axes} if axes else set(range(x.ndim))
    kept = [range(1) if a in reduced else range(size) for a, size in enumerate(x.shape)]
    found: dict[tuple[int, ...], list[Any]] = {index: [] for index in np.ndindex(*(len(k) for k in kept))}
    for index in np.ndindex(*x.shape):
        value = x[index]
        number = int(value) if x.dtype.kind in "iub" else float(value)
        found[tuple(0 if a in reduced else i for a, i in enumerate(index))].append(number)
    return found


def check(library: Any, op: str, x: Any, axes: Any, got: Any, dtype: str) -> None:
    """Assert that each result, of `dtype`, is what the semantics allow."""
    for index, values in sets(x, axes).items():
        result, right = got[index], exact.reduced(op, values, dtype)
        if dtype not in exact.RANGE:
            check_float(library, op, values, float(result), right, dtype)
        elif op in exact.LOGARITHMS and values and math.isfinite(spread := abs(right) * 2.0**-51):
            # A float64 result, which may be 2 ulp off, rounded toward zero.
            assert abs(int(result) - right) <= math.ceil(spread), (values, result, right)
        else:
            assert int(result) == right, (values, result, right)


def check_float(library: Any, op: str, values: Any, number: float, right: Any, dtype: str) -> None:
    context = (values, number, right)
    if math.isfinite(right) and math.isfinite(number):
        if not values:
            assert number == right, context
            return
        if library.correctly_rounded and dtype != "float64" and op not in exact.LOGARITHMS:
            assert number == right, context
        error = abs(Fraction(number) - exact.unrounded(op, values))
        assert error <= exact.allowed_error(op, values, dtype), context
        if right == 0 and number == 0 and op not in exact.LOGARITHMS:
            assert math.copysign(1, number) == math.copysign(1, right), context
    elif math.isfinite(right) or math.isfinite(number):
        # Only where the exact value is within the bound of the largest number may they differ.
        assert dtype == "float64" or not library.correctly_rounded, context
        digits, highest, _ = exact.PRECISION[dtype]
        largest = (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** highest
        assert abs(exact.unrounded(op, values)) >= largest, context
        assert 2 * abs(number) >= largest, context
    else:
        assert str(number) == str(float(right)), context


def dtypes_of(library: Library, op: str) -> tuple[str, ...]:
    return (*library.dtypes, "int8", "uint8", "bool") if op in ("max", "min") else library.dtypes


@pytest.mark.parametrize("op", exact.OPERATORS)
@SETTINGS
@given(data=st.data())
def test_exact(library: Library, op: str, data: st.DataObject) -> None:
    """Results are the exact values, rounded as the rule says, with the right shape and dtype."""
    dtype, x, axes, keepdims = data.draw(calls(dtypes_of(library, op), op))
    before = x.copy()
    got = library.reduce(op, x, axes=axes, keepdims=True)
    assert got.dtype == x.dtype
    check(library, op, x, axes, got, dtype)
    dropped = library.reduce(op, x, axes=axes, keepdims=keepdims)
    reduced = {a % x.ndim for a in axes} if axes else set(range(x.ndim))
    want = got if keepdims else got.reshape([s for a, s in enumerate(got.shape) if a not in reduced])
    assert dropped.shape == want.shape
    assert dropped.tobytes() == want.tobytes()
    assert x.tobytes() == before.tobytes()


@pytest.mark.parametrize("op", exact.OPERATORS)
@SETTINGS
@given(data=st.data())
def test_special_values(library: Library, op: str, data: st.DataObject) -> None:
    """NaN and infinities come out as IEEE arithmetic on the formula has it, wherever they stand."""
    dtype = data.draw(like([d for d in library.dtypes if d in exact.PRECISION]))
    x = data.draw(arrays(dtype, op)).copy()
    for value in data.draw(st.lists(like([math.nan, math.inf, -math.inf]), max_size=3)):
        if x.size:
            x.flat[data.draw(st.integers(0, x.size - 1))] = value
    axes = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.none()))
    got = library.reduce(op, x, axes=axes)
    check(library, op, x, None if axes is None else [axes], got, dtype)


@pytest.mark.parametrize("op", exact.OPERATORS)
@SETTINGS
@given(data=st.data())
def test_other_dtype(library: Library, op: str, data: st.DataObject) -> None:
    """With `dtype=` the exact value is rounded once to that dtype; small integers are taken too."""
    small = [d for d in ("int8", "int16", "uint8", "uint16") if library.name != "torch" or d != "uint16"]
    _, x, axes, _ = data.draw(calls((*library.dtypes, *small), op))
    result = data.draw(like(list(library.dtypes)))
    got = library.reduce(op, x, axes=axes, dtype=result)
    assert got.dtype == numpy_dtype(result)
    check(library, op, x, axes, got, result)


@SETTINGS
@given(data=st.data())
def test_several_at_once(library: Library, data: st.DataObject) -> None:
    """Results of several operators together are as exact as each alone."""
    ops = data.draw(st.lists(like(list(exact.OPERATORS)), min_size=1, max_size=6))
    dtype, x, axes, keepdims = data.draw(calls(library.dtypes, ops[0]))
    before = x.copy()
    results = library.reduce_many(ops, x, axes=axes, keepdims=True)
    for op, got in zip(ops, results, strict=True):
        assert got.dtype == x.dtype
        check(library, op, x, axes, got, dtype)
    dropped = library.reduce_many(ops, x, axes=axes, keepdims=keepdims)
    reduced = {a % x.ndim for a in axes} if axes else set(range(x.ndim))
    shape = [s for a, s in enumerate(results[0].shape) if keepdims or a not in reduced]
    for got, want in zip(dropped, results, strict=True):
        assert got.shape == tuple(shape)
        assert got.tobytes() == want.tobytes()
    assert x.tobytes() == before.tobytes()


@pytest.mark.parametrize("op", exact.OPERATORS)
@SETTINGS
@given(data=st.data())
def test_blocks(op: str, data: st.DataObject) -> None:
    """The NumPy backend's blocks, made tiny, agree with exact arithmetic."""
    (numpy,) = (library() for library in LIBRARIES if library.name == "numpy")
    dtype, x, axes, _ = data.draw(calls(dtypes_of(numpy, op), op))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small, "MOST", 0)
        block = data.draw(like([1, 2, 3, 7, 16, 2**18]))
        for kind in KERNELS:
            patch.setattr(kind, "BLOCK", block)
        got = numpy.reduce(op, x, axes=axes)
    check(numpy, op, x, axes, got, dtype)


@pytest.mark.parametrize("op", exact.OPERATORS)
@SETTINGS
@given(data=st.data())
def test_chunkings(op: str, data: st.DataObject) -> None:
    """A Dask array's results don't depend on its chunks, empty ones among them."""
    (dask,) = (library() for library in LIBRARIES if library.name == "dask")
    dtype, x, axes, keepdims = data.draw(calls(dtypes_of(dask, op), op))
    chunks = []
    for size in x.shape:
        cuts = sorted(data.draw(st.lists(st.integers(0, size), max_size=4)))
        chunks.append(tuple(b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)))
    got = dask.reduce(op, x, axes=axes, keepdims=True, chunks=tuple(chunks))
    check(dask, op, x, axes, got, dtype)
    assert dask.reduce(op, x, axes=axes, keepdims=keepdims, chunks=tuple(chunks)).size == got.size
