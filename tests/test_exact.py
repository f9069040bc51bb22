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

from xpreduce_numpy import integers, narrow, small, wide

SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
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
def arrays(draw: st.DrawFn, dtype: str) -> np.ndarray[Any, Any]:
    """Arrays of rank 0 to 4 with any strides: permuted, reversed, sliced, with zero-length dimensions."""
    shape = draw(npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    kind = numpy_dtype(dtype)
    if dtype in exact.RANGE:
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
    order = draw(st.permutations(range(x.ndim)))
    steps = draw(st.lists(like([1, 1, -1, 2, -2]), min_size=x.ndim, max_size=x.ndim))
    return x.transpose(order)[tuple(slice(None, None, step) for step in steps)]


@st.composite
def calls(draw: st.DrawFn, dtypes: tuple[str, ...]) -> tuple[str, Any, Any, bool]:
    dtype = draw(like(list(dtypes)))
    x = draw(arrays(dtype))
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
        number = int(value) if x.dtype.kind in "iu" else float(value)
        found[tuple(0 if a in reduced else i for a, i in enumerate(index))].append(number)
    return found


def check(library: Library, op: str, dtype: str, x: Any, axes: Any, got: Any) -> None:
    for index, values in sets(x, axes).items():
        result, right = got[index], exact.reduced(op, values, dtype)
        if dtype in exact.RANGE:
            assert int(result) == right, (index, values)
            continue
        number = float(result)
        if math.isfinite(right) and math.isfinite(number):
            if library.correctly_rounded and dtype != "float64":
                assert number == right, (index, values)
            error = abs(Fraction(number) - exact.unrounded(op, values))
            assert error <= exact.allowed_error(op, values, dtype), (index, values, number, right)
            if right == 0 and number == 0:
                assert math.copysign(1, number) == math.copysign(1, right), (index, values)
        elif math.isfinite(right) or math.isfinite(number):
            # Only where the exact value is within the bound of the largest number may they differ.
            assert dtype == "float64" or not library.correctly_rounded, (index, values, number, right)
            largest = Fraction(float(np.finfo("f8").max)) if dtype == "float64" else Fraction(number)
            assert abs(exact.unrounded(op, values)) >= largest, (index, values, number, right)
        else:
            assert str(number) == str(right), (index, values)


@pytest.mark.parametrize("op", ["l2", "sum"])
@SETTINGS
@given(data=st.data())
def test_exact(library: Library, op: str, data: st.DataObject) -> None:
    """Results are the exact values, rounded as the rule says, with the right shape and dtype."""
    dtype, x, axes, keepdims = data.draw(calls(library.dtypes))
    before = x.copy()
    got = library.reduce(op, x, axes=axes, keepdims=True)
    assert got.dtype == x.dtype
    check(library, op, dtype, x, axes, got)
    dropped = library.reduce(op, x, axes=axes, keepdims=keepdims)
    reduced = {a % x.ndim for a in axes} if axes else set(range(x.ndim))
    want = got if keepdims else got.reshape([s for a, s in enumerate(got.shape) if a not in reduced])
    assert dropped.shape == want.shape
    assert dropped.tobytes() == want.tobytes()
    assert x.tobytes() == before.tobytes()


@pytest.mark.parametrize("op", ["l2", "sum"])
@SETTINGS
@given(data=st.data())
def test_special_values(library: Library, op: str, data: st.DataObject) -> None:
    """NaN and infinities come out as IEEE arithmetic on the formula has it, wherever they stand."""
    dtype = data.draw(like([d for d in library.dtypes if d in exact.PRECISION]))
    x = data.draw(arrays(dtype)).copy()
    for value in data.draw(st.lists(like([math.nan, math.inf, -math.inf]), max_size=3)):
        if x.size:
            x.flat[data.draw(st.integers(0, x.size - 1))] = value
    axes = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.none()))
    got = library.reduce(op, x, axes=axes)
    check(library, op, dtype, x, None if axes is None else [axes], got)


@pytest.mark.parametrize("op", ["l2", "sum"])
@SETTINGS
@given(data=st.data())
def test_blocks(op: str, data: st.DataObject) -> None:
    """The NumPy backend's blocks, made tiny, agree with exact arithmetic."""
    (numpy,) = (library() for library in LIBRARIES if library.name == "numpy")
    dtype, x, axes, _ = data.draw(calls(numpy.dtypes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small, "MOST", 0)
        block = data.draw(like([1, 2, 3, 7, 16, 2**18]))
        for kind in (narrow, wide, integers):
            patch.setattr(kind, "BLOCK", block)
        got = numpy.reduce(op, x, axes=axes)
    check(numpy, op, dtype, x, axes, got)


@pytest.mark.parametrize("op", ["l2", "sum"])
@SETTINGS
@given(data=st.data())
def test_chunkings(op: str, data: st.DataObject) -> None:
    """A Dask array's results don't depend on its chunks, empty ones among them."""
    (dask,) = (library() for library in LIBRARIES if library.name == "dask")
    dtype, x, axes, keepdims = data.draw(calls(dask.dtypes))
    chunks = []
    for size in x.shape:
        cuts = sorted(data.draw(st.lists(st.integers(0, size), max_size=4)))
        chunks.append(tuple(b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)))
    got = dask.reduce(op, x, axes=axes, keepdims=True, chunks=tuple(chunks))
    check(dask, op, dtype, x, axes, got)
    assert dask.reduce(op, x, axes=axes, keepdims=keepdims, chunks=tuple(chunks)).size == got.size
