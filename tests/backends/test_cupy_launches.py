"""Launch plans of the CuPy backend: every value once, for every shape, stride and split, within limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpreduce.axes import plan
from xpreduce_cupy import launches
from xpreduce_cupy.kernels import BLOCK, LONGEST_CHUNK, MOST_DIMENSIONS
from xpreduce_cupy.launches import MOST_BLOCKS, Launch, launch_of

# Of an NVIDIA GPU of any generation that CuPy 13 serves.
MOST_THREADS = 1024

CASES = [
    ((2**24,), (0,), 4, "rows, 256 threads a result, in 2048 splits; layout: reduced 16777216"),
    ((2048, 8192), (1,), 4, "rows, 256 threads a result; layout: kept 2048, reduced 8192"),
    ((2**18, 64), (1,), 4, "rows, 4 threads a result; layout: kept 262144, reduced 64"),
    ((2**21, 8), (1,), 4, "rows, one thread a result; layout: kept 2097152, reduced 8"),
    ((2048, 8192), (0,), 4, "strided, 8 threads a result, in 8 splits; layout: reduced 2048, kept 8192"),
    ((8, 2**21), (0,), 4, "strided, one thread a result; layout: reduced 8, kept 2097152"),
    ((2**17, 128), (0,), 4, "strided, 8 threads a result, in 512 splits; layout: reduced 131072, kept 128"),
    ((2**23, 2), (0,), 4, "strided, 128 threads a result, in 2048 splits; layout: reduced 8388608, kept 2"),
    (
        (64, 512, 512),
        (1,),
        4,
        "strided, 8 threads a result, in 2 splits; layout: kept 64, reduced 512, kept 512",
    ),
    ((2**18, 8, 8), (1,), 4, "strided, one thread a result; layout: kept 262144, reduced 8, kept 8"),
    (
        (64, 512, 512),
        (0, 2),
        4,
        "rows, 128 threads a result, in 8 splits; layout: reduced 64, kept 512, reduced 512",
    ),
    ((2**20, 4, 4), (1, 2), 2, "rows, one thread a result; layout: kept 1048576, reduced 16"),
    ((2**22, 3), (1,), 4, "strided, one thread a result; layout: kept 4194304, reduced 3"),
    ((), (), 4, "strided, one thread a result; layout: one element"),
]


@pytest.mark.parametrize(("shape", "axes", "item", "want"), CASES)
def test_contiguous(shape: tuple[int, ...], axes: tuple[int, ...], item: int, want: str) -> None:
    """What is chosen for the layouts that a kernel must be fast on."""
    strides = tuple(item * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    assert str(launch_of(shape, strides, item, axes)) == want


def terms_read(launch: Launch) -> list[int]:
    """Return the terms of a result as the splits of stage 1 take them, one after the other."""
    return [
        term
        for split in range(launch.splits)
        for term in range(split * launch.chunk, min((split + 1) * launch.chunk, launch.terms))
    ]


def offsets(launch: Launch, result: int, terms: list[int]) -> list[int]:
    """Return where a result's terms lie, in elements from the first one: what the kernels compute."""
    start = launch.offset
    for size, stride in reversed(launch.kept):
        result, index = divmod(result, size)
        start += index * stride
    found = []
    for term in terms:
        segment, within = divmod(term, launch.run) if launch.kind == "rows" else (term, 0)
        offset = start + within
        for size, stride in reversed(launch.reduced):
            segment, index = divmod(segment, size)
            offset += index * stride
        found.append(offset)
    return found


def check_limits(launch: Launch) -> None:
    """What CUDA and the kernels take."""
    for lanes, block in ((launch.lanes, launch.block), (launch.merge_lanes, BLOCK)):
        assert block & (block - 1) == 0 == lanes & (lanes - 1)
        assert 1 <= lanes <= block <= BLOCK <= MOST_THREADS
    assert max(launch.blocks, launch.merge_blocks) <= MOST_BLOCKS
    assert launch.results <= launch.blocks // launch.splits * (launch.block // launch.lanes)
    assert launch.results <= launch.merge_blocks * (BLOCK // launch.merge_lanes)
    assert 1 <= launch.chunk <= LONGEST_CHUNK
    assert launch.splits * launch.chunk >= launch.terms
    assert launch.splits == 1 or (launch.splits - 1) * launch.chunk < launch.terms
    assert max(len(launch.kept), len(launch.reduced)) <= MOST_DIMENSIONS
    for numbers in (*launch.kept, *launch.reduced, (launch.offset, launch.terms, launch.results)):
        assert all(abs(number) < 2**63 for number in numbers)


@st.composite
def geometries(draw: st.DrawFn) -> tuple[Any, tuple[int, ...]]:
    """An array of any strides, and axes."""
    sizes = st.one_of(st.integers(0, 5), st.sampled_from([1, 16, 33]))
    shape = draw(st.lists(sizes, max_size=4))
    x = np.arange(math.prod(shape), dtype="i8").reshape(shape)
    x = x.transpose(draw(st.permutations(range(x.ndim))))
    steps = st.sampled_from([1, 1, 1, -1, 2, -2])
    x = x[tuple(slice(None, None, draw(steps)) for _ in range(x.ndim))]
    if draw(st.booleans()):
        at = draw(st.integers(0, x.ndim))
        x = np.broadcast_to(np.expand_dims(x, at), (*x.shape[:at], draw(st.integers(1, 20)), *x.shape[at:]))
    axes = tuple(axis for axis in range(x.ndim) if draw(st.booleans()))
    return x, axes


@settings(max_examples=300, deadline=None)
@given(geometry=geometries(), blocks=st.sampled_from([1, 4, 2**11]), least=st.sampled_from([1, 128]))
def test_every_value_once(geometry: tuple[Any, tuple[int, ...]], blocks: int, least: int) -> None:
    """Whatever is split how: each result gets the values that NumPy's own indexing gives it."""
    x, axes = geometry
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launches, "BLOCKS", blocks)
        patch.setattr(launches, "_THREADS", blocks * BLOCK)
        patch.setattr(launches, "_LEAST_BYTES", least)
        launch = launch_of.__wrapped__(x.shape, x.strides, 8, axes)
    assert launch is not None
    check_limits(launch)
    rules = plan("ReduceSum", x.ndim, axes, True, "elementwise")
    assert (launch.results, launch.terms) == (
        math.prod(x.shape[a] for a in rules.kept),
        math.prod(x.shape[a] for a in axes),
    )
    if not x.size:
        return
    # Each element of x says where it lies in its buffer; x's own first element is where addresses start.
    rows = x.transpose((*rules.kept, *axes)).reshape(launch.results, -1)
    order = launch.places(x.shape, rules).of(np.arange(launch.results)).reshape(-1)
    terms = terms_read(launch)
    assert sorted(terms) == list(range(launch.terms))
    first = int(x[(0,) * x.ndim])
    for result, row in zip(order.tolist(), rows.tolist(), strict=True):
        assert sorted(first + offset for offset in offsets(launch, result, terms)) == sorted(row)


@settings(max_examples=300, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 36), min_size=1, max_size=5),
    axes=st.sets(st.integers(0, 4)),
    item=st.sampled_from([1, 2, 4, 8]),
    gap=st.sampled_from([1, 2, -1]),
)
def test_large_arrays(sizes: list[int], axes: set[int], item: int, gap: int) -> None:
    """Arrays of any size that memory can hold, and larger ones, keep to the limits or are refused."""
    shape = tuple(2**size + 1 if size else 1 for size in sizes)
    reduced = tuple(axis for axis in sorted(axes) if axis < len(shape))
    strides = tuple(gap * item * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    if math.prod(shape) >= 2**58:
        return
    if math.prod(size for axis, size in enumerate(shape) if axis not in reduced) > MOST_BLOCKS * BLOCK:
        with pytest.raises(ValueError, match="results are more than"):
            launch_of(shape, strides, item, reduced)
        return
    launch = launch_of(shape, strides, item, reduced)
    assert launch is not None
    check_limits(launch)


def test_scratch_is_small() -> None:
    """Accumulators of all splits take less than half of the memory that a call may use besides its result."""
    for results in (1, 2, 3, 100, 8192, 2**16, 2**19, 2**20, 2**24):
        for terms in (2, 100, 10**4, 10**6):
            for shape, axes in (((results, terms), (1,)), ((terms, results), (0,))):
                for item in (1, 2, 4, 8):
                    launch = launch_of(shape, (shape[1] * item, item), item, axes)
                    assert launch is not None
                    assert launch.splits == 1 or launch.splits * results * 24 <= 2**23


def test_too_many_dimensions() -> None:
    """More than 8 dimensions that don't merge are left to a copy."""
    shape = (2, 3) * 10
    strides = np.empty(shape, "i1").strides
    assert launch_of(shape, strides, 1, tuple(range(0, 20, 2))) is None
    assert launch_of(shape, strides, 1, tuple(range(10))) is not None


def test_same_on_every_device() -> None:
    """A plan depends on nothing but the geometry: so the same bits come out everywhere."""
    assert launch_of((1000, 1000), (4000, 4), 4, (0,)) == launch_of.__wrapped__(
        (1000, 1000), (4000, 4), 4, (0,)
    )
