"""The backend that the pages go through is installed with pip, found by its entry point, and right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pages import ROOT, blocks

pytest.importorskip("hatchling", reason="what builds the example is not installed")

EXAMPLE = ROOT / "docs" / "examples" / "xpreduce_masked"
PAGE = ROOT / "docs" / "how_to" / "backend.md"

VALUES = """
import itertools
import numpy as np, xpreduce
rng = np.random.default_rng(1)
dtypes, operators = ("float32", "int16", "float16", "int64"), ("l2", "mean", "max", "log_sum_exp")
for dtype, op in itertools.product(dtypes, operators):
    result = "float64" if dtype == "int16" else None
    x = np.ma.masked_array(rng.integers(-9, 9, (3, 4, 5)).astype(dtype), rng.random((3, 4, 5)) < 0.6)
    x[1, :, 2] = np.ma.masked
    for axes in (None, 0, 1, (0, 2), (1, -1)):
        for keepdims in (True, False):
            got = xpreduce.reduce(op, x, axes, keepdims=keepdims, dtype=result)
            assert isinstance(got, np.ma.MaskedArray)
            which = tuple(range(3)) if axes is None else tuple(np.atleast_1d(axes) % 3)
            for index in np.ndindex(*(1 if i in which else n for i, n in enumerate(x.shape))):
                where = tuple(slice(None) if i in which else index[i] for i in range(3))
                terms = x.data[where][~np.ma.getmaskarray(x)[where]]
                place = index if keepdims else tuple(n for i, n in enumerate(index) if i not in which)
                if terms.size:
                    assert got[place] == xpreduce.reduce(op, terms, keepdims=False, dtype=result)
                else:
                    assert got[place] is np.ma.masked
assert xpreduce.reduce_max(np.ma.ones((2, 0))).mask.all()
assert xpreduce.reduce_max(np.ma.ones((0, 2)), axes=1).shape == (0, 1)
print(xpreduce.reduce_max(np.ma.masked_array([True, False], [True, False])))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package as pip does, into a folder of its own."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*command, "--no-build-isolation", "--target", folder, EXAMPLE], check=True)
    assert list(folder.glob("xpreduce_masked-*.dist-info/entry_points.txt"))
    return folder


def run(program: str, installed: Path) -> str:
    """Run a program in an interpreter that finds the installed package."""
    path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_page(installed: Path) -> None:
    """What the page shows is what the installed package does."""
    found = [block for block in blocks(PAGE) if block.mark == "needs: xpreduce_masked"]
    programs = [block for block in found if block.language == "python"]
    assert len(programs) == 2
    assert str(EXAMPLE.relative_to(ROOT)) in found[0].code
    text = "\n".join(block.code for block in programs)
    assert run(text, installed) == "".join(block.output or "" for block in programs)


def test_values(installed: Path) -> None:
    """Masked values do not count, whatever they hold; where none counts, the result is masked."""
    assert run(VALUES, installed) == "[False]\n"


def test_others_keep_their_backends(installed: Path) -> None:
    program = "import numpy, xpreduce; print(*xpreduce.backends()); print(xpreduce.reduce_l2(numpy.ones(4)))"
    names, result = run(program, installed).splitlines()
    assert {"numpy", "dask", "numpy.ma", "portable"} <= set(names.split())
    assert result == "[2.]"
    with pytest.raises(AssertionError, match="is not a masked array"):
        run("import numpy, xpreduce; xpreduce.reduce_l2(numpy.ones(4), backend='numpy.ma')", installed)


def test_chunks_without_states(installed: Path) -> None:
    """A backend of four functions serves the chunks of a Dask array where they hold all that is reduced."""
    program = """
import dask.array as da, numpy as np, xpreduce
x = da.ma.masked_greater(da.from_array(np.array([[3.0, 4.0, 9.0], [5.0, 12.0, 9.0]]), chunks=(1, 3)), 8)
print(xpreduce.reduce_sum(x, axes=1, keepdims=False).compute().tolist())
for call in (xpreduce.reduce_sum, lambda x: xpreduce.explain("sum", x)):
    try:
        call(x)
    except TypeError as error:
        print(error)
"""
    result, *errors = run(program, installed).splitlines()
    assert result == "[7.0, 5.0]"
    assert len(errors) == 2
    for error in errors:
        assert error.startswith("ReduceSum: the chunks of the Dask array: xpreduce_masked makes no states")
        assert "x.rechunk({axis: -1})" in error


def test_without_it_masked_arrays_are_refused() -> None:
    """The example brings what xpreduce alone does not do."""
    xpreduce = pytest.importorskip("xpreduce")
    with pytest.raises(TypeError, match="meaning a reduction would lose"):
        xpreduce.reduce_l2(np.ma.masked_array([1.0], [True]))
