"""The rules for axes, keepdims and the no-op, and every error with its message, on every backend."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from libraries import Library

import xpreduce

OPS = [("l2", "ReduceL2"), ("sum", "ReduceSum")]


def ones(library: Library) -> Any:
    return library.asarray(np.ones((2, 3, 4), "float32"))


FORMS: list[tuple[Any, tuple[int, ...]]] = [
    (None, (0, 1, 2)),
    ((), (0, 1, 2)),
    ([], (0, 1, 2)),
    (np.zeros(0, "int64"), (0, 1, 2)),
    (0, (0,)),
    (-1, (2,)),
    (np.int64(1), (1,)),
    (np.asarray(1), (1,)),
    ([0, 2], (0, 2)),
    ((2, 0), (0, 2)),
    ((-1, 1), (1, 2)),
    (range(2), (0, 1)),
    (np.asarray([1]), (1,)),
    (np.asarray([-3, 2], "int32"), (0, 2)),
    (np.asarray([0, 1], "uint8"), (0, 1)),
    ([np.int32(0), 1, 2], (0, 1, 2)),
]


@pytest.mark.parametrize(("axes", "reduced"), FORMS, ids=repr)
@pytest.mark.parametrize("keepdims", [True, False, 1, 0, np.True_, np.int64(0)], ids=repr)
def test_forms(library: Library, axes: Any, reduced: tuple[int, ...], keepdims: Any) -> None:
    """Every allowed form of axes reduces what it names, in any order."""
    x = np.ones((2, 3, 4), "float32")
    got = library.reduce("sum", x, axes, keepdims=keepdims)
    want = x.sum(axis=reduced, keepdims=bool(keepdims))
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


def test_axes_are_brought_at_once() -> None:
    """An array on a device costs one transfer, not one for each axis."""

    class OnDevice:
        dtype, shape = "int64", (2,)
        transfers = 0

        def tolist(self) -> list[int]:
            self.transfers += 1
            return [0, 2]

    axes = OnDevice()
    np.testing.assert_array_equal(xpreduce.reduce_sum(np.ones((2, 3, 4)), axes, keepdims=False), [8, 8, 8])
    assert axes.transfers == 1


def test_axes_of_each_library(library: Library) -> None:
    """Axes may be an integer array of the data's own library, unless it must be computed."""
    axes = library.asarray(np.asarray([0, 2], "int64"))
    if library.lazy:
        with pytest.raises(TypeError, match=r"ReduceL2: axes is a Dask collection; call axes.compute\(\)"):
            xpreduce.reduce_l2(ones(library), axes)
        return
    got = library.to_numpy(xpreduce.reduce_sum(ones(library), axes, keepdims=False))
    np.testing.assert_array_equal(got, [8, 8, 8])


ERRORS: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"axes": 3},
        xpreduce.AxisError,
        "{op}: axis 3 is out of range for an array of rank 3; allowed are -3 to 2",
    ),
    ({"axes": [0, -4]}, xpreduce.AxisError, "{op}: axis -4 is out of range for an array of rank 3"),
    ({"axes": (0, 0)}, ValueError, "{op}: axes names the same dimension of rank 3 twice: 0, twice"),
    ({"axes": (2, -1)}, ValueError, "{op}: axes names the same dimension of rank 3 twice: 2 and -1"),
    ({"axes": True}, TypeError, "{op}: an axis must be an integer, not True (bool)"),
    ({"axes": [0, True]}, TypeError, "{op}: an axis must be an integer, not True (bool)"),
    ({"axes": np.True_}, TypeError, "{op}: axes must be integers, not an array of bool"),
    ({"axes": 1.0}, TypeError, "{op}: an axis must be an integer, not 1.0 (float)"),
    ({"axes": [1.0]}, TypeError, "{op}: an axis must be an integer, not 1.0 (float)"),
    ({"axes": "01"}, TypeError, "{op}: an axis must be an integer, not '01' (str)"),
    ({"axes": {0}}, TypeError, "{op}: an axis must be an integer, not {{0}} (set)"),
    ({"axes": np.asarray([0.0])}, TypeError, "{op}: axes must be integers, not an array of float64"),
    ({"axes": np.asarray([True])}, TypeError, "{op}: axes must be integers, not an array of bool"),
    ({"axes": np.asarray([[0]])}, ValueError, "{op}: axes must be one-dimensional, not of shape (1, 1)"),
    ({"axes": [[0]]}, TypeError, "{op}: an axis must be an integer, not [0] (list)"),
    ({"keepdims": 2}, ValueError, "{op}: keepdims must be True, False, 1 or 0, not 2"),
    ({"keepdims": None}, ValueError, "{op}: keepdims must be True, False, 1 or 0, not None"),
    ({"keepdims": 1.0}, ValueError, "{op}: keepdims must be True, False, 1 or 0, not 1.0"),
    ({"keepdims": [1]}, ValueError, "{op}: keepdims must be True, False, 1 or 0, not [1]"),
    ({"noop_with_empty_axes": 2}, ValueError, "{op}: noop_with_empty_axes must be True, False, 1, 0 or"),
    ({"noop_with_empty_axes": "yes"}, ValueError, "\"elementwise\", not 'yes'"),
]


@pytest.mark.parametrize(("op", "name"), OPS)
@pytest.mark.parametrize(("kwargs", "error", "message"), ERRORS)
def test_errors(
    library: Library, op: str, name: str, kwargs: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Errors name the operator, what was given, and what is allowed."""
    with pytest.raises(error) as caught:
        xpreduce.reduce(op, ones(library), **kwargs)
    assert message.format(op=name) in str(caught.value)


def test_rank_0_has_no_axes(library: Library) -> None:
    """Any axis at all is out of range for rank 0."""
    for axis in (0, -1):
        with pytest.raises(xpreduce.AxisError, match=f"axis {axis} is out of range.*rank 0; it has no axes"):
            xpreduce.reduce_l2(library.asarray(np.asarray(1.0, "float32")), axis)


def test_axis_error_is_both(library: Library) -> None:
    """AxisError is what NumPy's users catch: a ValueError and an IndexError."""
    assert issubclass(xpreduce.AxisError, ValueError)
    assert issubclass(xpreduce.AxisError, IndexError)


@pytest.mark.parametrize("op", ["l2", "sum"])
@pytest.mark.parametrize("axes", [None, (), []])
@pytest.mark.parametrize("keepdims", [True, False])
def test_noop(library: Library, op: str, axes: Any, keepdims: bool) -> None:
    """The no-op returns the very same object; with axes it changes nothing."""
    x = ones(library)
    for noop in (True, 1):
        assert xpreduce.reduce(op, x, axes, keepdims=keepdims, noop_with_empty_axes=noop) is x
    got = xpreduce.reduce(op, x, 0, keepdims=keepdims, noop_with_empty_axes=True)
    assert tuple(got.shape) == ((1, 3, 4) if keepdims else (3, 4))


def test_checks_come_before_the_noop(library: Library) -> None:
    """A no-op with a bad argument or dtype is an error all the same."""
    with pytest.raises(ValueError, match="keepdims"):
        xpreduce.reduce_l2(ones(library), keepdims=3, noop_with_empty_axes=True)
    with pytest.raises(TypeError, match="ReduceL2 takes no int8"):
        xpreduce.reduce_l2(library.asarray(np.ones(3, "int8")), noop_with_empty_axes=True)


def test_elementwise(library: Library) -> None:
    """The newer reading of the no-op still takes the steps that are not reductions."""
    for dtype in library.dtypes:
        if dtype.startswith("u"):
            continue
        x = np.asarray([[-2.0, 3.0, -0.0]]).astype(np.float32 if dtype == "bfloat16" else dtype)
        if dtype == "bfloat16":
            x = x.astype("bfloat16")
        for keepdims in (True, False):
            kwargs = {"noop_with_empty_axes": "elementwise", "keepdims": keepdims}
            norm = library.reduce("l2", x, **kwargs)
            assert norm.shape == x.shape
            assert norm.dtype == x.dtype
            np.testing.assert_array_equal(norm.astype("f8"), [[2, 3, 0]])
            assert not np.signbit(norm.astype("f8")).any()
            total = library.reduce("sum", x, **kwargs)
            np.testing.assert_array_equal(total.astype("f8"), x.astype("f8"))
            assert math.copysign(1, total.astype("f8")[0, 2]) == math.copysign(1, float(x[0, 2]))


def test_elementwise_saturates(library: Library) -> None:
    """The absolute value of the smallest integer is out of range."""
    x = np.asarray([-(2**31)], "int32")
    assert library.reduce("l2", x, noop_with_empty_axes="elementwise") == 2**31 - 1
