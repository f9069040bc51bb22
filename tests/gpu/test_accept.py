"""The acceptance's own checks, on NumPy arrays, and what it says where there is no GPU."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import exact
import numpy as np
import pytest
from libraries import NumPy, numpy_dtype

import xpreduce

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "asv_benchmarks"))  # as accept.py has it

from benchmarks import cases  # noqa: E402  # once it can be found

from gpu import exactness, gates, palette  # noqa: E402
from gpu.report import Report  # noqa: E402


def test_without_a_device(tmp_path: Path) -> None:
    """It runs to its device check, says what is missing and what to do, and has an exit code for that."""
    status = xpreduce.backends()["cupy"]
    if status.ready:
        pytest.skip("there is a device")
    output = tmp_path / "accept.json"
    done = subprocess.run(
        [sys.executable, ROOT / "tests/gpu/accept.py", "--output", output], capture_output=True, text=True
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stderr.startswith(f"nothing was checked and nothing measured: {status.note}")
    assert "Traceback" not in done.stderr
    assert "install" in done.stderr
    assert not done.stdout
    assert not output.exists()


@pytest.mark.gpu
@pytest.mark.timeout(600)
def test_with_a_device(tmp_path: Path) -> None:
    """Where there is a device, everything but speed is right; that is for a machine of one's own."""
    if not xpreduce.backends()["cupy"].ready:
        pytest.skip(xpreduce.backends()["cupy"].note)
    output = tmp_path / "accept.json"
    subprocess.run([sys.executable, ROOT / "tests/gpu/accept.py", "--output", output], check=False)
    records = json.loads(output.read_text())["records"]
    assert [r for r in records if r["problem"] and r["section"] != "bandwidth"] == []


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
@pytest.mark.filterwarnings("ignore")
def test_what_needs_a_device_can_be_imported() -> None:
    from gpu import bandwidth, behaviour

    assert {cell.case for cell in bandwidth.cells()} == set(cases.CASES)
    assert callable(behaviour.behaviour)


def quiet(seconds: float = 1e6) -> Report:
    return Report(seconds, say=lambda line: None)


def run_all(report: Report) -> None:
    exactness.small(report, NumPy())
    exactness.layouts(report, NumPy(), np, elements=2**12)
    exactness.beyond(report, NumPy(), np, free=lambda: 2**40, elements=2**12 + 77)


def test_right_results_are_accepted() -> None:
    report = quiet()
    run_all(report)
    assert report.failed == []
    assert len(report.records) > 2800


def test_wrong_results_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """One result that is off by little in each call is found by nearly all checks."""
    right = xpreduce.reduce

    def reduce(*args: Any, **kwargs: Any) -> Any:
        result = np.array(right(*args, **kwargs), order="C")
        flat = result.reshape(-1)
        if flat.size:
            if result.dtype.kind == "b":
                flat[-1] ^= True
            elif result.dtype.kind in "iu":
                flat[-1] ^= result.dtype.type(1 << (8 * result.itemsize - 2))
            else:
                flat[-1] = np.nan if not np.isfinite(flat[-1]) else flat[-1] * 1.25 + 1
                flat[-1] = 3 if np.isnan(flat[-1]) else flat[-1]
        return result

    monkeypatch.setattr(xpreduce, "reduce", reduce)
    report = quiet()
    run_all(report)
    for section in ("exact", "layouts", "beyond 2**31"):
        problems = [record["problem"] for record in report.records if record["section"] == section]
        assert sum(problem is not None for problem in problems) > 0.97 * len(problems), section


@pytest.mark.parametrize("op", exact.OPERATORS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "uint64", "int8"])
def test_palette_is_exact(op: str, dtype: str) -> None:
    """Counted values reduce to what the oracle says of them one by one."""
    values = palette.palette(op, numpy_dtype(dtype))
    rng = np.random.default_rng(5)
    for size in (1, 2, 40, 300):
        index = rng.integers(0, palette.SIZE, size)
        numbers = [v.item() if dtype != "bfloat16" else float(v) for v in values[index]]
        counts = palette.counted(values, index)
        assert counts == Counter(numbers)
        # Exact, and logarithms to hundreds of digits.
        right = exact.unrounded(op, numbers)
        assert abs(palette.unrounded(op, counts) - right) <= abs(right) * Fraction(2) ** -300
        result = exact.reduced(op, numbers, dtype)
        assert palette.problem(op, counts, dtype, result) is None
        wrong = result ^ 8 if dtype in exact.RANGE else 0.0 if math.isinf(result) else result * 1.25 + 1
        assert palette.problem(op, counts, dtype, wrong) is not None


@pytest.mark.parametrize("step", [1, 2, -1, 3, palette.SIZE, 1024])
def test_progressions(step: int) -> None:
    """What is known of values that repeat is what they are."""
    values = palette.palette("sum", np.dtype("int8"))
    for start, length in ((0, 5), (3, 31), (100, 1000), (7, 1)):
        index = (start + step * np.arange(length)) % palette.SIZE
        assert palette.progression(values, start, step, length) == palette.counted(values, index)


def test_gates() -> None:
    """Every layout has one, and a cell passes where it reaches it and no peer is faster."""
    assert set(gates.GATES) == set(cases.CASES)
    good = {"of copy": 0.86, "peers": {"cupy.sum": 0.95, "torch": 3.0}}
    assert gates.verdict("sum", "float32", "full", good) is None
    assert "0.80 of a copy, and 0.85" in str(gates.verdict("sum", "float32", "full", good | {"of copy": 0.8}))
    assert gates.verdict("log_sum_exp", "float32", "full", good | {"of copy": 0.3}) is None
    slower = good | {"peers": {"cupy.sum": 0.89}}
    assert gates.verdict("sum", "float32", "full", slower) == "slower than cupy.sum"


def test_report(tmp_path: Path) -> None:
    """What fails, raises or has no turn is not accepted."""
    lines: list[str] = []
    report = Report(1e6, lines.append)
    report.attempt("a", "good", lambda: None)
    assert report.close(tmp_path / "good.json")
    report.attempt("a", "wrong", lambda: "it is wrong")
    report.attempt("a", "raises", lambda: str(1 / 0))
    assert not report.close(tmp_path / "bad.json")
    content = json.loads((tmp_path / "bad.json").read_text())
    assert not content["accepted"]
    assert [record["problem"] for record in content["records"]] == [
        None,
        "it is wrong",
        "ZeroDivisionError: division by zero",
    ]
    assert "a: 1 of 3 passed" in lines
    late = quiet(-1)
    late.attempt("a", "good", lambda: None)
    assert late.failed[0]["problem"] == "no time was left for it"
    assert not quiet().close(tmp_path / "none.json")
