"""Which dtypes are taken, and what is said of the others."""

from __future__ import annotations

import numpy as np
import pytest
from libraries import Library, numpy_dtype

import xpreduce


@pytest.mark.parametrize("op", ["l2", "sum"])
def test_result_has_the_dtype_of_the_input(library: Library, op: str) -> None:
    """The result's dtype is the input's, in native byte order."""
    for dtype in library.dtypes:
        x = np.asarray([[3, 4], [6, 8]], numpy_dtype(dtype))
        got = library.reduce(op, x, axes=1, keepdims=False)
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got.astype("f8"), [5, 10] if op == "l2" else [7, 14])


@pytest.mark.parametrize(
    ("dtype", "hint"),
    [
        ("int8", 'pass dtype="int32"'),
        ("int16", 'pass dtype="int32"'),
        ("uint8", 'pass dtype="int32"'),
        ("uint16", 'pass dtype="int32"'),
        ("bool", "cast it first"),
        ("complex64", "real and imaginary parts"),
        ("complex128", "real and imaginary parts"),
    ],
)
def test_refused(library: Library, dtype: str, hint: str) -> None:
    """Other dtypes are a TypeError that names operator, dtype, what is allowed and the cast."""
    if library.name == "torch" and dtype == "uint16":
        pytest.skip("PyTorch's uint16 can't be made from NumPy everywhere")
    with pytest.raises(TypeError) as caught:
        xpreduce.reduce_l2(library.asarray(np.ones(3, dtype)))
    message = str(caught.value)
    assert message.startswith(f"ReduceL2 takes no {dtype}")
    assert "float16, bfloat16, float32, float64, int32, int64, uint32, uint64" in message
    assert hint in message


@pytest.mark.parametrize(
    "x",
    [
        np.asarray(["a"]),
        np.asarray([b"a"]),
        np.asarray([object()]),
        np.asarray(["2026-01-01"], "datetime64[D]"),
        np.asarray([1], "timedelta64[s]"),
        np.zeros(2, [("a", "f4")]),
        np.ones(2, np.longdouble),
    ],
    ids=lambda x: str(x.dtype),
)
def test_refused_by_numpy(x: np.ndarray) -> None:
    """So are those that only NumPy has."""
    with pytest.raises(TypeError, match="ReduceSum takes no"):
        xpreduce.reduce_sum(x)
