"""The check for regressions: what noise does not trip, and what it finds, with real runs on a small size."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "asv_benchmarks" / "regressions.py"

#: Takes half as long again as the reduction itself.
PLANTED = """

_reduce = reduce


def reduce(x, reduction):
    from time import perf_counter

    start = perf_counter()
    result = _reduce(x, reduction)
    stop = start + 1.5 * (perf_counter() - start)
    while perf_counter() < stop:
        pass
    return result
"""


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The package as it is, the same again, and with a slowdown."""
    found = {}
    for name in ("base", "same", "slower"):
        found[name] = tmp_path_factory.mktemp(name)
        for folder in ("src", "backends"):
            shutil.copytree(ROOT / folder, found[name] / folder)
    with (found["slower"] / "backends/xpreduce_numpy/__init__.py").open("a") as file:
        file.write(PLANTED)
    return found


def check(base: Path, head: Path) -> subprocess.CompletedProcess[str]:
    """Run the command on a few cells."""
    command = [sys.executable, SCRIPT, base, head, "--operator", "ReduceSum", "--elements", str(2**18)]
    return subprocess.run(command, capture_output=True, text=True)


def test_identical_code_passes(trees: dict[str, Path]) -> None:
    for _ in range(2):
        done = check(trees["base"], trees["same"])
        assert done.returncode == 0, done.stdout + done.stderr
        assert "0 regressions" in done.stdout


def test_a_planted_slowdown_fails(trees: dict[str, Path]) -> None:
    done = check(trees["base"], trees["slower"])
    assert done.returncode == 1, done.stdout + done.stderr
    slower = [line for line in done.stdout.splitlines() if line.startswith("slower: ")]
    assert slower, done.stdout


def test_what_is_no_commit(trees: dict[str, Path], tmp_path: Path) -> None:
    done = check(trees["base"], tmp_path)
    assert done.returncode == 1
    assert "neither a commit nor a folder" in done.stderr


def test_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disturbance that comes and goes does not count, more work does."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    module: Any = importlib.import_module("regressions")
    quiet = [1.0] * 9
    assert module.judged(quiet, quiet) == 1
    assert module.judged(quiet, [1.0, 3.0, 1.0, 3.0, 3.0, 3.0, 3.0, 3.0, 1.0]) == 1
    assert module.judged([2.0] * 8 + [1.0], [2.0] * 9) == 1
    assert module.judged(quiet, [1.5] * 9) == 1.5
    assert module.judged([1.0, 9.0, 1.0], [1.5, 13.5, 1.5]) == 1.5
