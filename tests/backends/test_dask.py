"""The Dask backend: lazy, whatever the chunks, whatever they hold, whoever runs them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
import tracemalloc
from typing import Any

import dask
import dask.array as da
import exact
import numpy as np
import pytest
from libraries import BFLOAT16, numpy_dtype

import xpreduce

OPS = exact.OPERATORS


def right(op: str, x: Any, axes: Any, keepdims: bool = True) -> Any:
    return xpreduce.reduce(op, x, axes=axes, keepdims=keepdims)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", [*exact.FLOATS, *exact.INTEGERS])
def test_dtype_and_meta(op: str, dtype: str) -> None:
    """dtype, meta and chunks are declared as they come out."""
    x = da.ones((6, 8), chunks=(2, 3), dtype=numpy_dtype(dtype))
    for axes in (None, 0, 1, (0, 1)):
        for keepdims in (True, False):
            lazy = xpreduce.reduce(op, x, axes=axes, keepdims=keepdims)
            value = lazy.compute(scheduler="synchronous")
            assert lazy.dtype == value.dtype == x.dtype
            assert type(lazy._meta) is np.ndarray
            assert lazy._meta.dtype == x.dtype
            assert lazy.shape == value.shape
            assert lazy._meta.ndim == value.ndim


@pytest.mark.parametrize("op", OPS)
def test_big_endian(op: str) -> None:
    x = da.from_array(np.arange(12.0).reshape(3, 4).astype(">f4"), chunks=2)
    lazy = xpreduce.reduce(op, x, axes=0)
    assert lazy.dtype == np.float32
    assert lazy.dtype.isnative
    assert lazy.compute().dtype.isnative


@pytest.mark.parametrize(
    ("dtype", "result"), [("uint8", "float32"), ("uint32", "float64"), ("int16", "bfloat16")]
)
def test_integers_with_results_of_floats(dtype: str, result: str) -> None:
    """Chunks that kernels serve: they sum such integers as floats, but states of integers are limbs."""
    values = np.random.default_rng(0).integers(0, 200, (40, 60)).astype(dtype)
    x, kind = da.from_array(values, chunks=(13, 60)), numpy_dtype(result)
    for ops in (*((op,) for op in OPS), OPS, OPS[::-1]):
        for op, got in zip(ops, dask.compute(*xpreduce.reduce_many(ops, x, dtype=kind)), strict=True):
            want = xpreduce.reduce(op, values, dtype=kind)
            assert got.dtype == want.dtype
            if op in exact.LOGARITHMS and result == "float64":  # within 2 ulp, not bit for bit
                np.testing.assert_allclose(got, want, rtol=2**-50)
            else:
                np.testing.assert_array_equal(got.astype("f8"), want.astype("f8"))


@pytest.mark.parametrize("op", OPS)
def test_unknown_chunks(op: str) -> None:
    """Sizes that nobody knows until they are computed."""
    values = np.random.default_rng(0).standard_normal((40, 6)).astype("float32")
    x = da.from_array(values, chunks=(7, 4))
    some = x[x[:, 0] > 0.5]
    kept = values[values[:, 0] > 0.5]
    for axes in (None, 0, 1, (0, 1)):
        for keepdims in (True, False):
            got = xpreduce.reduce(op, some, axes=axes, keepdims=keepdims).compute()
            np.testing.assert_array_equal(got, right(op, kept, axes, keepdims))
    none = x[x[:, 0] > 100]
    np.testing.assert_array_equal(xpreduce.reduce(op, none, axes=0).compute(), right(op, values[:0], 0))


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bfloat16"])
def test_empty_chunks(op: str, dtype: str) -> None:
    """Chunks without elements, and arrays without."""
    values = np.arange(12).reshape(3, 4).astype(numpy_dtype(dtype))
    x = da.from_array(values, chunks=((0, 3, 0), (0, 4)))
    for axes in (None, 0, 1):
        got, want = xpreduce.reduce(op, x, axes=axes).compute(), right(op, values, axes)
        if dtype == "float64" and op == "log_sum_exp":  # within 2 ulp, by chunks or not
            np.testing.assert_array_max_ulp(got, want, 2)
        else:
            np.testing.assert_array_equal(got, want)
    for shape, chunks in (((0, 4), (1, 2)), ((2, 0, 4), ((1, 1), (0, 0), (4,))), ((0,), ((0, 0, 0),))):
        empty = da.zeros(shape, chunks=chunks, dtype=numpy_dtype(dtype))
        for axes in (None, *range(len(shape))):
            want = right(op, np.zeros(shape, numpy_dtype(dtype)), axes)
            lazy = xpreduce.reduce(op, empty, axes=axes)
            got = lazy.compute()
            assert lazy.shape == got.shape == want.shape
            np.testing.assert_array_equal(got.astype("f8"), want.astype("f8"))


@pytest.mark.parametrize("op", OPS)
def test_same_bits_over_chunkings(op: str) -> None:
    """float32 results don't depend on chunks or tree."""
    values = np.random.default_rng(0).standard_normal((200, 300)).astype("float32")
    for axes in (None, 0, 1):
        want = right(op, values, axes)
        for chunks in ((200, 300), (1, 300), (13, 17), (100, 1), (199, 299)):
            got = xpreduce.reduce(op, da.from_array(values, chunks=chunks), axes=axes).compute()
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_schedulers(scheduler: str) -> None:
    values = np.random.default_rng(0).standard_normal((60, 50))
    x = da.from_array(values, chunks=(20, 25))
    lazy = [
        xpreduce.reduce_l2(x, axes=0),
        xpreduce.reduce_sum(x),
        xpreduce.reduce_l2(x.astype(BFLOAT16), axes=1),
        *xpreduce.reduce_many(["max", "min"], x, axes=1),
        *xpreduce.reduce_many(["sum", "mean"], x),
    ]
    got = dask.compute(*lazy, scheduler=scheduler)
    want = [right("l2", values, 0), right("sum", values, None), right("l2", values.astype(BFLOAT16), 1)]
    want += [right("max", values, 1), right("min", values, 1)]
    want += [right("sum", values, None), right("mean", values, None)]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_query_planning() -> None:
    """Dask's array expressions, off by default, build the same results."""
    code = """
        import dask.array as da, numpy as np, xpreduce
        values = np.arange(24.0).reshape(4, 6)
        x = da.from_array(values, chunks=(2, 3))
        for op in ("l2", "sum"):
            for axes in (None, 0, 1):
                for keepdims in (True, False):
                    lazy = xpreduce.reduce(op, x, axes=axes, keepdims=keepdims)
                    want = xpreduce.reduce(op, values, axes=axes, keepdims=keepdims)
                    assert lazy.shape == want.shape and lazy.dtype == want.dtype
                    assert np.array_equal(lazy.compute(scheduler="synchronous"), want)
                    first, second = xpreduce.reduce_many([op, "max"], x, axes=axes, keepdims=keepdims)
                    assert first.shape == second.shape == want.shape
                    assert np.array_equal(first.compute(scheduler="synchronous"), want)
                    largest = xpreduce.reduce_max(values, axes=axes, keepdims=keepdims)
                    assert np.array_equal(second.compute(scheduler="synchronous"), largest)
        print(xpreduce.explain("l2", x).kernel, type(x).__module__)
    """
    env = os.environ | {"DASK_ARRAY__QUERY_PLANNING": "True"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "4 chunks made states" in done.stdout
    assert "array_expr" in done.stdout


@pytest.mark.parametrize("ops", [["l2"], ["l2", "mean", "max"]])
def test_tasks(ops: list[str]) -> None:
    """Little more than a task for a chunk, also of one element; a hundred thousand are built at once."""
    x = da.ones(3000, chunks=1)
    lazy = xpreduce.reduce_many(ops, x)
    assert len(dict(dask.optimize(*lazy)[0].__dask_graph__())) <= 1.05 * x.npartitions
    for op, value in zip(ops, dask.compute(*lazy, scheduler="synchronous"), strict=True):
        np.testing.assert_array_equal(value, right(op, np.ones(3000), None))
    many = da.ones(10**5, chunks=1)
    start = time.perf_counter()
    for lazy in xpreduce.reduce_many(ops, many):
        assert lazy.shape == (1,)
    assert time.perf_counter() - start < 10  # it takes less than a tenth of a second


@pytest.mark.parametrize("axes", [None, 0, 1])
def test_memory(axes: Any) -> None:
    """A chunk for each thread, two more, and little else."""
    chunk, threads = 2**22, 2
    x = da.ones((2**10 * 40, 2**10), chunks=(2**10, 2**10), dtype="float32").map_blocks(np.copy)
    assert x.blocks[0].nbytes == chunk
    ops = ["l2", "mean", "max"]
    for lazy in (xpreduce.reduce_l2(x, axes), *xpreduce.reduce_many(ops, x, axes)):
        lazy.blocks[0, 0].compute(scheduler="threads", num_workers=threads)  # compiles
        tracemalloc.start()
        try:
            lazy.compute(scheduler="threads", num_workers=threads)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        states = 64 * 40 * 2**10 if axes != 1 else 0
        assert peak <= (threads + 2) * chunk + lazy.nbytes + states + 2**23


def test_float64_sums_overflow_only_at_the_end() -> None:
    """A chunk's sum may be near the end of the range, and the next one's on its other side."""
    x = np.array([1.5e308, 1.5e308, -1.5e308, -1.5e308, 1e300])
    for chunks in (1, 2, 5):
        for values, want in ((x, 1e300), (x[:3], 1.5e308), (x[:2], np.inf), (-x[:2], -np.inf)):
            got = xpreduce.reduce_sum(da.from_array(values, chunks=chunks), keepdims=False).compute()
            assert got == want


def test_undeclared_dtypes_are_refused() -> None:
    """A chunk of another dtype than the array's would give a result that depends on the chunks."""
    x = da.from_array(np.full(10, 1.5), chunks=3).map_blocks(lambda chunk: chunk, dtype="int64")
    for axes in (None, 0):
        with pytest.raises(TypeError, match="a chunk of a Dask array is float64, and the array says int64"):
            xpreduce.reduce_sum(x, axes=axes).compute()


@pytest.mark.parametrize("axes", [None, 0, 1])
@pytest.mark.parametrize("chunks", [2, 4])
def test_undeclared_ranks_are_refused(axes: Any, chunks: int) -> None:
    """Axes would mean other dimensions of such a chunk: a wrong value, and no error."""
    x = da.ones((4, 4), chunks=chunks)
    for change, ndim in ((lambda chunk: chunk[None], 3), (lambda chunk: chunk[0], 1)):
        wrong = x.map_blocks(change, meta=np.empty((0, 0)))
        message = f"ReduceL2: a chunk of a Dask array has {ndim} dimensions, the array declares 2"
        with pytest.raises(ValueError, match=message):
            xpreduce.reduce_l2(wrong, axes=axes).compute()
        with pytest.raises(ValueError, match=message):
            dask.compute(*xpreduce.reduce_many(["l2", "max"], wrong, axes=axes))


def test_masked_chunks_are_refused() -> None:
    """A masked meta is refused before anything runs; a masked chunk behind a plain meta, when it runs."""
    x = da.ma.masked_greater(da.ones((4, 4), chunks=2), 0.5)
    for call in (xpreduce.reduce_l2, lambda x: xpreduce.explain("l2", x)):
        with pytest.raises(
            TypeError, match=r"ReduceL2: the chunks of the Dask array: .*MaskedArray is a subclass"
        ):
            call(x)
    hidden = da.ones((4, 4), chunks=2).map_blocks(np.ma.masked_array, meta=np.empty((0, 0)))
    with pytest.raises(TypeError, match="MaskedArray is a subclass"):
        xpreduce.reduce_l2(hidden).compute()


@pytest.mark.parametrize(
    ("axes", "chunks"), [(None, (2, 3)), (0, (2, 6)), (1, (4, 3)), (0, (4, 6)), (None, (4, 6))]
)
def test_chunks_of_other_libraries(axes: Any, chunks: tuple[int, int]) -> None:
    """Chunks are reduced by their own library's backend, and the result is of that library.

    Each result is one chunk, since Dask itself can't put two of them together.
    """
    strict = pytest.importorskip("array_api_strict")

    values = np.arange(24, dtype="f4").reshape(4, 6)
    x = da.from_array(values, chunks=chunks).map_blocks(
        strict.asarray, meta=strict.empty((0, 0), dtype=strict.float32)
    )
    many = xpreduce.reduce_many(OPS, x, axes)
    for op, together in zip(OPS, many, strict=True):
        for lazy in (xpreduce.reduce(op, x, axes), together):
            assert isinstance(lazy, da.Array)
            assert type(lazy._meta) is type(strict.asarray(0))
            got = lazy.compute(scheduler="synchronous")
            assert type(got) is type(strict.asarray(0))
            np.testing.assert_array_equal(np.asarray(got), right(op, values, axes))


def test_use_backend_does_not_reach_the_chunks() -> None:
    """Forcing the Dask backend is not forcing it on NumPy chunks."""
    x = da.ones((4, 4), chunks=2)
    with xpreduce.use_backend("dask"):
        assert xpreduce.reduce_l2(x).compute(scheduler="synchronous") == 4
    with pytest.raises(TypeError, match="portable backend goes through an array's values"):
        xpreduce.reduce_l2(x, backend="portable")


def test_one_pass() -> None:
    """Chunks that hold all terms of their results become results at once: one task each."""
    x = da.ones((100, 80), chunks=(10, 80))
    assert len(xpreduce.reduce_l2(x, axes=1).__dask_graph__().layers) == 2
    assert "each holds all terms" in str(xpreduce.explain("l2", x, 1))
    assert "made states by xpreduce_numpy" in str(xpreduce.explain("l2", x, 0))


def test_elementwise_and_rank_0() -> None:
    x = da.from_array(np.asarray([-1.0, 2.0]), chunks=1)
    got = xpreduce.reduce_l2(x, noop_with_empty_axes="elementwise")
    assert isinstance(got, da.Array)
    np.testing.assert_array_equal(got.compute(), [1, 2])
    assert xpreduce.reduce_l2(da.from_array(np.asarray(-3.0))).compute() == 3
