"""The accuracy report: its page fits its figures, its exact values are right, xpreduce keeps its bounds."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import exact
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "asv_benchmarks" / "accuracy.py"
REDUCTIONS = 2000


def run(*arguments: str | Path) -> None:
    """Run the command; it says what is beyond the bounds, and fails."""
    done = subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_page_fits_the_figures(tmp_path: Path) -> None:
    shutil.copy(ROOT / "docs" / "accuracy.json", tmp_path)
    run("--render", "--output", tmp_path / "accuracy.json")
    assert (tmp_path / "accuracy.md").read_text() == (ROOT / "docs" / "accuracy.md").read_text()


def test_report_has_every_operator_and_dtype() -> None:
    found = json.loads((ROOT / "docs" / "accuracy.json").read_text())["results"]
    assert {op.removeprefix("Reduce") for op in found} == {
        op.title().replace("_", "") for op in exact.OPERATORS
    }
    for dtypes in found.values():
        assert set(dtypes) == {*exact.FLOATS, *exact.INTEGERS}
        assert all(figures["reductions"] >= 10**6 for figures in dtypes.values())


def test_bounds_are_kept(tmp_path: Path) -> None:
    run("--reductions", str(REDUCTIONS), "--peers", "none", "--output", tmp_path / "figures.json")
    found = json.loads((tmp_path / "figures.json").read_text())["results"]
    for op, dtypes in found.items():
        for dtype, figures in dtypes.items():
            ours = figures["libraries"]["xpreduce"]
            assert figures["reductions"] >= REDUCTIONS
            assert figures["beyond"] == 0
            if op in ("ReduceMax", "ReduceMin") or (dtype in exact.INTEGERS and op != "ReduceLogSumExp"):
                assert ours["right"] == figures["reductions"], (op, dtype)


def test_peers_are_measured(tmp_path: Path) -> None:
    """NumPy is always there; the others where they are installed."""
    run(
        "--reductions",
        "50",
        "--operators",
        "l2",
        "--dtypes",
        "float32",
        "--output",
        tmp_path / "figures.json",
    )
    found = json.loads((tmp_path / "figures.json").read_text())["results"]["ReduceL2"]["float32"]
    assert {"xpreduce", "NumPy"} <= set(found["libraries"])
    assert found["libraries"]["NumPy"]["not_finite"] > 0


@pytest.mark.parametrize("dtype", [*exact.FLOATS, *exact.INTEGERS])
@pytest.mark.parametrize("op", exact.OPERATORS)
def test_exact_values(op: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ways to the exact value that have nothing in common agree."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    inputs: Any = importlib.import_module("rounding.inputs")
    oracle: Any = importlib.import_module("rounding.exact")
    nearest: Any = importlib.import_module("rounding.nearest")
    integers: Any = importlib.import_module("rounding.integers")
    formats: Any = importlib.import_module("rounding.formats")
    for batch in inputs.batches(op, dtype, 200, seed=1):
        rows = batch.rows[:3]
        if dtype in exact.INTEGERS:
            right = integers.right(op, rows).tolist()
            assert right == [exact.reduced(op, row, dtype) for row in rows.tolist()]
            continue
        with np.errstate(all="ignore"):
            found = nearest.rounded(oracle.values(op, rows), formats.FLOATS[dtype])
        for number, row in enumerate(rows.astype(np.float64).tolist()):
            rounded = float(found.nearest[number])
            if not np.isfinite(rounded):
                continue
            value, unit = exact.unrounded(op, row), Fraction(2) ** int(found.unit[number])
            assert unit == exact.ulp(value, dtype)
            rest = (value - Fraction(rounded)) / unit
            assert abs(rest) <= Fraction(1, 2)
            assert float(rest) == pytest.approx(found.rest[number], abs=1e-9)
