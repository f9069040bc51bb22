"""Several reductions at once: what comes back, in which order, what is refused; data is read once."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Any

import dask
import dask.array as da
import exact
import numpy as np
import pytest
from libraries import Library, numpy_dtype

import xpreduce

ALL = list(exact.OPERATORS)
LAYOUTS: list[tuple[tuple[int, ...], Any]] = [
    ((20_000,), None),
    ((20, 1000), 1),
    ((1000, 20), 0),
    ((10, 20, 30), (0, 2)),
    ((3000, 6), 1),
    ((6, 3000), 0),
]


def values(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Return small numbers whose sums, squares and products are exact in every dtype."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, shape) + (rng.random(shape) < 2.0**-10)
    return (x * (1 if dtype.startswith("u") else rng.choice([1, 1, 1, -1], shape))).astype(numpy_dtype(dtype))


@pytest.mark.parametrize(("shape", "axes"), LAYOUTS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64", "int32", "uint64"])
def test_layouts(library: Library, dtype: str, shape: tuple[int, ...], axes: Any) -> None:
    """Whatever the layout, each result is what its operator alone gives."""
    if dtype not in library.dtypes:
        pytest.skip(f"{library.name} has no {dtype}")
    x = values(shape, dtype)
    ops = ["l2", "sum", "max", "mean", "sum_square", "prod"]
    for view in (x, x[..., ::2]):
        for op, got in zip(ops, library.reduce_many(ops, view, axes), strict=True):
            np.testing.assert_array_equal(got, library.reduce(op, view, axes), err_msg=op)


@pytest.mark.parametrize(("shape", "axes"), [((5_000_000,), None), ((2000, 2500), 0), ((2000, 2500), 1)])
def test_large(shape: tuple[int, ...], axes: Any) -> None:
    """Arrays that are shared out among threads, also piece by piece."""
    x = values(shape, "float32")
    ops = ["l2", "mean", "max"]
    for threads in (1, 3):
        with xpreduce.use_num_threads(threads):
            results = xpreduce.reduce_many(ops, x, axes)
        for op, got in zip(ops, results, strict=True):
            np.testing.assert_array_equal(got, xpreduce.reduce(op, x, axes))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_plain_pieces(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain NumPy goes piece by piece, in the order of memory."""
    pieces = pytest.importorskip("xpreduce_numpy.pieces")
    choice = pytest.importorskip("xpreduce_numpy.choice")
    monkeypatch.setattr(pieces, "LENGTH", 500)
    x = values((10, 20, 15), dtype)
    for view in (x, x.transpose(1, 0, 2), x[::-1, ::2]):
        for axes in (None, 0, 2, (0, 2)):
            for keepdims in (True, False):
                with choice.use_kernels("plain"):
                    results = xpreduce.reduce_many(ALL, view, axes, keepdims=keepdims)
                for op, got in zip(ALL, results, strict=True):
                    want = xpreduce.reduce(op, view, axes, keepdims=keepdims)
                    assert got.shape == want.shape
                    if op.startswith("log"):
                        np.testing.assert_allclose(got, want, rtol=2.0**-22)
                    else:
                        np.testing.assert_array_equal(got, want, err_msg=op)


def test_order_and_names() -> None:
    """Results come in the order of the names, which may be of either kind and come twice."""
    x = np.array([[3.0, 4.0], [6.0, 8.0]])
    ops = ("ReduceMax", "l2", "MAX", "ReduceL2", "sum")
    results = xpreduce.reduce_many(ops, x, axes=1, keepdims=False)
    assert isinstance(results, tuple)
    want = [[4, 8], [5, 10], [4, 8], [5, 10], [7, 14]]
    np.testing.assert_array_equal(np.stack(results), want)
    (one,) = xpreduce.reduce_many(iter(["l2"]), x, keepdims=False)
    assert one == xpreduce.reduce_l2(x, keepdims=False)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4), ()])
def test_empty(library: Library, shape: tuple[int, ...]) -> None:
    for dtype in library.dtypes:
        x = np.zeros(shape, numpy_dtype(dtype))
        for axes in [None, *range(len(shape))]:
            for op, got in zip(ALL, library.reduce_many(ALL, x, axes), strict=True):
                want = library.reduce(op, x, axes)
                assert got.shape == want.shape
                np.testing.assert_array_equal(got.astype("f8"), want.astype("f8"))


def test_other_dtype(library: Library) -> None:
    x = np.array([[200, 100], [7, 24]], dtype="uint8")
    norm, mean, largest = library.reduce_many(["l2", "mean", "max"], x, 1, keepdims=False, dtype="float32")
    assert norm.dtype == mean.dtype == largest.dtype == np.float32
    np.testing.assert_array_equal(norm, [np.float32(50000**0.5), 25])
    np.testing.assert_array_equal(mean, [150, 15.5])
    np.testing.assert_array_equal(largest, [200, 24])


def test_no_op() -> None:
    x = np.array([-2.0, 3.0])
    for result in xpreduce.reduce_many(["l2", "sum"], x, noop_with_empty_axes=True):
        assert result is x
    norm, total = xpreduce.reduce_many(["l2", "sum"], x, noop_with_empty_axes="elementwise")
    np.testing.assert_array_equal(norm, [2, 3])
    np.testing.assert_array_equal(total, x)


def test_errors() -> None:
    x = np.ones((2, 3))
    with pytest.raises(TypeError, match=r"such as \['l2'\], not a string"):
        xpreduce.reduce_many("l2", x)
    for wrong in (None, 3, x, np.float32(1)):
        with pytest.raises(TypeError, match=r'such as \["l2"\], not of type'):
            xpreduce.reduce_many(wrong, ["l2"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a string, .* not of type int"):
        xpreduce.reduce_many([1], x)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="names no operator"):
        xpreduce.reduce_many([], x)
    with pytest.raises(ValueError, match="there is no operator 'norm'"):
        xpreduce.reduce_many(["l2", "norm"], x)
    with pytest.raises(xpreduce.AxisError, match="ReduceSum: axis 2 is out of range"):
        xpreduce.reduce_many(["sum", "l2"], x, axes=2)
    with pytest.raises(TypeError, match="ReduceL2 takes no int8"):
        xpreduce.reduce_many(["max", "l2"], x.astype("int8"))
    with pytest.raises(TypeError, match="not an array"):
        xpreduce.reduce_many(["sum", "l2"], [1.0])


def test_one_kernel() -> None:
    """Sums and extremes come from one compiled kernel, and operators of the same terms from one sum."""
    choice = pytest.importorskip("xpreduce_numpy.choice")
    if choice.missing() is not None:
        pytest.skip(choice.missing())
    from xpreduce.operators import find
    from xpreduce.reductions import prepare

    x = np.ones(100_000, "float32")
    ops = ["l2", "sum_square", "sum", "mean", "max", "min"]
    reductions = [prepare(find(op), x, None, True, False, None, None)[1] for op in ops]
    together = choice.together(x, reductions)
    assert together is not None
    assert together.kernels == [4]


def test_eager_memory() -> None:
    """No temporaries of the input's size."""
    x = np.ones((4096, 4096), "float32")
    for axes in (None, 0, 1):
        xpreduce.reduce_many(["l2", "mean", "max"], x, axes)
        tracemalloc.start()
        try:
            xpreduce.reduce_many(["l2", "mean", "max"], x, axes)
            assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("axes", [None, 0, 1])
@pytest.mark.parametrize("chunks", [(10, 10), (10, 40), (40, 10)])
def test_dask_reads_once(axes: Any, chunks: tuple[int, int]) -> None:
    """One task for each chunk, whatever the number of operators."""
    reads: list[tuple[int, ...]] = []
    lock = threading.Lock()

    def block(block_info: Any) -> Any:
        with lock:
            reads.append(block_info[None]["chunk-location"])
        return np.ones(block_info[None]["chunk-shape"])

    x = da.map_blocks(
        block, chunks=da.core.normalize_chunks(chunks, (40, 40)), dtype="f8", meta=np.empty((0, 0))
    )
    reads.clear()
    lazy = xpreduce.reduce_many(["l2", "sum_square", "mean", "max"], x, axes)
    assert not reads
    got = dask.compute(*lazy, scheduler="threads")
    assert len(reads) == len(set(reads)) == x.npartitions
    for op, value in zip(["l2", "sum_square", "mean", "max"], got, strict=True):
        np.testing.assert_array_equal(value, xpreduce.reduce(op, np.ones((40, 40)), axes))
