"""States: combine is associative and commutative, the empty state its identity, finish what reduce gives."""

from __future__ import annotations

from typing import Any

import exact
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import numpy_dtype
from test_exact import arrays, check

import xpreduce_numpy
from xpreduce import operators, portable
from xpreduce.reductions import prepare

BACKENDS = [xpreduce_numpy, portable]


class Sound:
    """What `check` asks of a library."""

    correctly_rounded = True


def reduction(op: str, x: Any, axes: Any) -> Any:
    return prepare(operators.find(op), x, axes, True, False, None, None)[1]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.__name__)
@pytest.mark.parametrize("op", exact.OPERATORS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_pieces_in_any_order(backend: Any, op: str, data: st.DataObject) -> None:
    """Pieces, combined in any order and any tree, finish to the exact value of the whole."""
    dtype = data.draw(st.sampled_from([*exact.FLOATS, *exact.INTEGERS]))
    x = data.draw(arrays(dtype, op).filter(lambda x: x.ndim > 0))
    what = reduction(op, x, 0)
    cuts = sorted(data.draw(st.lists(st.integers(0, x.shape[0]), max_size=4)))
    states = [backend.partial(x[a:b], what) for a, b in zip([0, *cuts], [*cuts, x.shape[0]], strict=True)]
    while len(states) > 1:
        a = states.pop(data.draw(st.integers(0, len(states) - 1)))
        b = states.pop(data.draw(st.integers(0, len(states) - 1)))
        states.append(backend.combine(a, b, what))
    check(Sound(), op, x, [0], backend.finish(states[0], what), dtype)


@pytest.mark.parametrize("op", exact.OPERATORS)
@pytest.mark.parametrize("dtype", [*exact.FLOATS, *exact.INTEGERS])
def test_empty_is_identity(op: str, dtype: str) -> None:
    """Combining with the state of an empty piece, on either side, changes no bit of the result."""
    values = [3, 0, 2**20] if dtype in exact.INTEGERS else [3.0, -0.0, 1e-7]
    x = np.asarray([values], numpy_dtype(dtype))
    what = reduction(op, x, 0)
    for backend in BACKENDS:
        state, empty = backend.partial(x, what), backend.partial(x[:0], what)
        want = backend.finish(state, what)
        for combined in (backend.combine(state, empty, what), backend.combine(empty, state, what)):
            assert backend.finish(combined, what).tobytes() == want.tobytes()
        nothing = backend.finish(backend.combine(empty, empty, what), what)
        right = np.full(nothing.shape, exact.reduced(op, [], dtype), nothing.dtype)
        np.testing.assert_array_equal(nothing.astype("f8"), right.astype("f8"))


@pytest.mark.parametrize("op", exact.OPERATORS)
@pytest.mark.parametrize("dtype", [*exact.FLOATS, *exact.INTEGERS])
@pytest.mark.parametrize("shape", [(300, 500), (7, 20000), (20000, 7), (100, 30, 50)])
def test_finish_of_partial_is_reduce(op: str, dtype: str, shape: tuple[int, ...]) -> None:
    """The eager way and the way by states agree, also where they run different kernels."""
    rng = np.random.default_rng(0)
    if dtype in exact.INTEGERS:
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    else:
        x = rng.standard_normal(shape).astype(numpy_dtype(dtype))
    for axes in (0, len(shape) - 1, None, (0, len(shape) - 1)):
        what = reduction(op, x, axes)
        got = xpreduce_numpy.finish(xpreduce_numpy.partial(x, what), what)
        want = xpreduce_numpy.reduce(x, what)
        for other in (got, portable.reduce(x, what)):
            if op in exact.LOGARITHMS and dtype == "float64":  # within 2 ulp, not bit for bit
                unit = np.spacing(np.nanmax(np.maximum(abs(want), 1), initial=1))
                np.testing.assert_allclose(other, want, rtol=0, atol=2 * unit)
            else:
                np.testing.assert_array_equal(other.astype("f8"), want.astype("f8"))


def test_states_combine_across_backends() -> None:
    """States of one array library combine, whoever made them."""
    x = np.linspace(-1, 1, 1000).reshape(10, 100)
    what = reduction("sum", x, 0)
    mixed = portable.combine(xpreduce_numpy.partial(x[:4], what), portable.partial(x[4:], what), what)
    assert xpreduce_numpy.finish(mixed, what).tobytes() == xpreduce_numpy.reduce(x, what).tobytes()
