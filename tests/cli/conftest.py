"""What the command's tests share: running it in this process or in one of its own, and exact values."""

from __future__ import annotations

import decimal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from xpreduce.cli import main


@dataclass
class Ended:
    """How a run ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run the command in this process."""

    def run(*arguments: object) -> Ended:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        return Ended(code, *capfd.readouterr())

    return run


@pytest.fixture
def process() -> Command:
    """Run the command in a process of its own; `before` is Python code that runs first."""

    def run(*arguments: object, before: str = "") -> Ended:
        done = subprocess.run(
            [*launcher(before), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return run


def launcher(before: str = "") -> list[str]:
    """Return the start of a command line that runs some code, then the command."""
    return [sys.executable, "-c", f"{before}\nimport sys\nfrom xpreduce.cli import main\nsys.exit(main())"]


@pytest.fixture(name="launcher")
def launcher_fixture() -> Callable[[str], list[str]]:
    """Return `launcher`."""
    return launcher


@pytest.fixture(scope="session")
def values() -> np.ndarray:
    """Whole numbers of both signs, shape (8, 6, 5), in which no two slices are alike."""
    count = 8 * 6 * 5
    return (np.arange(count) * 7919 % 1009 - 500).reshape(8, 6, 5)


@pytest.fixture(scope="session")
def exact_sum() -> Callable[..., np.ndarray]:
    """Sum with Python's integers."""
    return lambda ints, axes=None: _exact(ints, axes, sum)


@pytest.fixture(scope="session")
def exact_l2() -> Callable[..., np.ndarray]:
    """Norm with Python's integers and decimals of 60 digits."""
    return lambda ints, axes=None: _exact(ints, axes, _norm)


def _norm(numbers: list[int]) -> float:
    with decimal.localcontext(prec=60):
        return float(decimal.Decimal(sum(n * n for n in numbers)).sqrt())


def _exact(
    ints: np.ndarray, axes: tuple[int, ...] | None, reduce: Callable[[list[int]], float]
) -> np.ndarray:
    """Reduce the lists of Python numbers along axes, which stay with length 1."""
    axes = tuple(range(ints.ndim)) if axes is None else tuple(axis % ints.ndim for axis in axes)
    kept = [axis for axis in range(ints.ndim) if axis not in axes]
    rows = ints.transpose(*kept, *axes).reshape([ints.shape[axis] for axis in kept] + [-1])
    result = [reduce([int(n) for n in rows[index]]) for index in np.ndindex(rows.shape[:-1])]
    shape = [1 if axis in axes else n for axis, n in enumerate(ints.shape)]
    return np.array(result, np.float64).reshape(shape)


@pytest.fixture
def leftovers(tmp_path: Path) -> Callable[[], list[str]]:
    """List what lies in the test's folder."""
    return lambda: sorted(path.name for path in tmp_path.iterdir())
