"""Layout merging and tiles: pure functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xpreduce.layout import merge
from xpreduce.tiles import box_size, boxes, extents

CASES = [
    ((4, 5), (0,), "reduced 4, kept 5"),
    ((4, 5), (1,), "kept 4, reduced 5"),
    ((4, 5), (0, 1), "reduced 20"),
    ((4, 5), (), "kept 20"),
    ((4, 5, 6), (0, 1), "reduced 20, kept 6"),
    ((4, 5, 6), (0, 2), "reduced 4, kept 5, reduced 6"),
    ((4, 1, 6), (0, 2), "reduced 24"),
    ((1, 1), (0,), ""),
    ((), (), ""),
]


@pytest.mark.parametrize(("shape", "axes", "want"), CASES)
def test_contiguous(shape: tuple[int, ...], axes: tuple[int, ...], want: str) -> None:
    assert ", ".join(map(str, merge(shape, np.empty(shape).strides, axes))) == want


def test_other_layouts() -> None:
    """A transpose merges as its base does; a slice does not; reversed dimensions merge together."""
    x = np.empty((4, 5, 6))
    assert merge(x.T.shape, x.T.strides, (2, 1)) == (
        *merge(x.shape, x.strides, (0, 1))[:1],
        *merge(x.shape, x.strides, (0, 1))[1:],
    ) or [d.size for d in merge(x.T.shape, x.T.strides, (2, 1))] == [20, 6]
    half = x[:, ::2]
    assert [d.size for d in merge(half.shape, half.strides, (0, 1, 2))] == [4, 3, 6]
    back = x[::-1, ::-1, ::-1]
    assert [(d.size, d.stride) for d in merge(back.shape, back.strides, (0, 1, 2))] == [(120, -8)]
    one = np.broadcast_to(x[0], (4, 5, 6))
    assert [d.size for d in merge(one.shape, one.strides, (0,))] == [30, 4]


@given(st.lists(st.integers(1, 9), max_size=4), st.integers(1, 200))
def test_boxes_cover(sizes: list[int], budget: int) -> None:
    """Boxes hold every index once, in C order, within the budget."""
    lengths = extents(tuple(sizes), budget)
    assert math.prod(lengths) <= budget
    index = np.arange(math.prod(sizes)).reshape(sizes)
    seen = []
    for box in boxes(tuple(sizes), lengths):
        assert box_size(box) == index[box].size <= budget
        seen.extend(np.ravel(index[box]).tolist())
    assert seen == list(range(index.size))
