"""The table of operators, dtypes and backends in the reference says what happens when one tries."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xpreduce
from xpreduce.dtypes import DTYPES
from xpreduce.operators import OPERATORS

pytest.importorskip("sphinx", reason="the pages' own packages are not installed")
ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes")

EXTENSIONS = Path(__file__).parents[2] / "docs" / "extensions"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The Sphinx extension."""
    monkeypatch.syspath_prepend(EXTENSIONS)
    return importlib.import_module("support_table")


def array(dtype: str, backend: str) -> Any:
    """Return two ones as an array that a backend serves."""
    ones = np.ones(2, ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    if backend == "dask":
        return pytest.importorskip("dask.array").from_array(ones)
    return ones


def test_every_operator_and_dtype_is_in_it(table: Any) -> None:
    assert list(table.support()) == list(OPERATORS)
    assert all(list(dtypes) == list(DTYPES) for dtypes in table.support().values())


@pytest.mark.parametrize("backend", ["numpy", "dask", "portable"])
@pytest.mark.parametrize("op", OPERATORS)
def test_every_cell(op: str, backend: str, table: Any) -> None:
    assert backend in table.backends()
    for dtype, how in table.support()[op].items():
        x = array(dtype, backend)
        if how == "yes":
            assert xpreduce.reduce(op, x, backend=backend).dtype == x.dtype
            continue
        with pytest.raises(TypeError, match=f"takes no {dtype}"):
            xpreduce.reduce(op, x, backend=backend)
        if how == "with dtype":
            assert xpreduce.reduce(op, x, dtype="float32", backend=backend).dtype == np.float32
        else:
            with pytest.raises(TypeError, match=f"takes no {dtype}"):
                xpreduce.reduce(op, x, dtype="float32", backend=backend)


def test_bold_is_compiled(table: Any) -> None:
    choice = importlib.import_module("xpreduce_numpy.choice")
    if choice.missing() is not None:
        pytest.skip(choice.missing())
    assert all(table.compiled(OPERATORS["ReduceL2"], dtype) for dtype in OPERATORS["ReduceL2"].dtypes)
    assert table.compiled(OPERATORS["ReduceSum"], "int16")
    assert not table.compiled(OPERATORS["ReduceLogSumExp"], "int64")
    assert table.LARGE >= choice.LEAST


def test_every_backend_has_a_note(table: Any) -> None:
    assert set(table.backends()) <= set(table.NOTES)
