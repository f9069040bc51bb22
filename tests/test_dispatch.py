"""Which backend serves which array, and what is said where none does."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xpreduce
from xpreduce import dispatch

X = np.ones((3, 4))


def test_lists_and_numbers() -> None:
    """What is no array is a TypeError that says what to call first."""
    for data in ([1.0, 2.0], (1.0,), 1.0, 1, True, 1j, range(3)):
        with pytest.raises(TypeError, match=r"is not an array; make one first, .* numpy\.asarray"):
            xpreduce.reduce_l2(data)


@pytest.mark.parametrize(
    "data", ["text", None, object(), {1: 2}, memoryview(b"12")], ids=lambda data: type(data).__name__
)
def test_unknown_objects(data: Any) -> None:
    """What nobody knows is a TypeError that lists who is there."""
    with pytest.raises(TypeError, match=r"not an array that xpreduce knows: backends .* numpy"):
        xpreduce.reduce_l2(data)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_subclasses() -> None:
    """Subclasses of ndarray would lose their meaning."""
    for data in (np.ma.masked_array([1.0]), np.matrix([[1.0]])):
        for backend in (None, "numpy", "portable"):
            with pytest.raises(TypeError, match=r"ReduceL2: .* subclass of numpy\.ndarray whose meaning"):
                xpreduce.reduce_l2(data, backend=backend)


def test_numpy_scalars() -> None:
    """A NumPy scalar is an array of rank 0, and so is the result."""
    got = xpreduce.reduce_l2(np.float32(-3))
    assert type(got) is np.ndarray
    assert (got.shape, got.dtype, got) == ((), np.float32, 3)


def test_backend_argument() -> None:
    """`backend=` forces one, by its short name or its prefix."""
    for name in ("numpy", "portable"):
        assert xpreduce.reduce_l2(X, backend=name) == pytest.approx(12**0.5)
    with pytest.raises(ValueError, match=r"no backend 'cuda'; there are 'numpy', 'cupy', 'dask' and"):
        xpreduce.reduce_l2(X, backend="cuda")
    with pytest.raises(TypeError, match=r"numpy\.ndarray is not a Dask array"):
        xpreduce.reduce_l2(X, backend="dask")


def test_use_backend_is_undone() -> None:
    """The block ends, also by an error; blocks nest."""
    with xpreduce.use_backend("portable"):
        assert xpreduce.explain("l2", X).backend == "xpreduce.portable"
        with xpreduce.use_backend("numpy"):
            assert xpreduce.explain("l2", X).backend == "xpreduce_numpy"
        assert xpreduce.explain("l2", X).reason == "forced by use_backend"
    with pytest.raises(ZeroDivisionError), xpreduce.use_backend("portable"):
        raise ZeroDivisionError
    assert xpreduce.explain("l2", X).backend == "xpreduce_numpy"


def test_use_backend_stays_in_its_thread() -> None:
    """Another thread does not see it."""
    seen = []
    with xpreduce.use_backend("portable"):
        thread = threading.Thread(target=lambda: seen.append(xpreduce.explain("l2", X).backend))
        thread.start()
        thread.join()
    assert seen == ["xpreduce_numpy"]


def test_explain() -> None:
    """It names backend, kernel, layout and reason, and raises what the call would raise."""
    text = str(xpreduce.explain("ReduceSum", np.ones((2000, 30), "float32"), axes=0))
    assert "ReduceSum of numpy.ndarray, float32, shape (2000, 30)" in text
    assert "xpreduce_numpy (serves numpy.ndarray)" in text
    assert "layout: reduced 2000, kept 30" in text
    assert "unchanged" in xpreduce.explain("l2", X, noop_with_empty_axes=True).kernel
    assert xpreduce.explain("l2", X, backend="portable").reason == "asked for by backend="
    with pytest.raises(xpreduce.AxisError):
        xpreduce.explain("l2", X, axes=5)


def test_backends() -> None:
    """It lists what is installed, and whether it can work."""
    found = xpreduce.backends()
    assert found["numpy"].version == np.__version__
    assert found["numpy"].ready
    assert found["portable"].ready
    assert set(found) >= {"numpy", "dask", "portable"}


def test_unknown_operator() -> None:
    """The error lists the operators."""
    with pytest.raises(ValueError, match=r"no operator 'norm'; .* ReduceL2 \(l2\), ReduceSum \(sum\)"):
        xpreduce.reduce("norm", X)
    with pytest.raises(TypeError, match='a string, such as "ReduceL2" or "l2", not of type int'):
        xpreduce.reduce(3, X)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not of type ndarray"):
        xpreduce.reduce(X, "l2")  # type: ignore[arg-type]


BACKEND = """
    from xpreduce.protocol import Status
    def refusal(array_type): return None
    def reduce(x, reduction): return "reduced by {name}"
    def kernel(x, reduction): return "theirs"
    def status(): return Status("1", True, "")
"""


def install(folder: Path, name: str, prefix: str) -> None:
    """Make a distribution with a backend, as pip would leave it."""
    (folder / f"{name}.py").write_text(textwrap.dedent(BACKEND).format(name=name))
    info = folder / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[xpreduce.backends]\n{prefix} = {name}\n")


def run(folder: Path, code: str) -> str:
    """Run code in a new interpreter that finds the distributions in `folder`."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n" + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


THEIRS = """
    class Array:
        dtype, ndim, shape = "float32", 1, (3,)
"""


def test_third_party_backend(tmp_path: Path) -> None:
    """An installed package serves its own arrays, and may claim a subclass of ndarray."""
    install(tmp_path, "their_backend", "their_arrays")
    install(tmp_path, "mask_backend", "numpy.ma")
    (tmp_path / "their_arrays").mkdir()
    (tmp_path / "their_arrays/__init__.py").write_text(textwrap.dedent(THEIRS))
    text = run(
        tmp_path,
        """
        import numpy, xpreduce, their_arrays
        print(xpreduce.reduce_l2(their_arrays.Array()))
        print(xpreduce.reduce_l2(numpy.ma.masked_array([1.0])))
        print(xpreduce.reduce_l2(numpy.asarray([1.0])))
        print(sorted(xpreduce.backends()))
        """,
    )
    assert text.splitlines()[:3] == ["reduced by their_backend", "reduced by mask_backend", "[1.]"]
    assert "their_arrays" in text


def test_two_claim_one_prefix(tmp_path: Path) -> None:
    """That is an error that names both."""
    install(tmp_path, "one_backend", "their_arrays")
    install(tmp_path, "other_backend", "their_arrays")
    text = run(tmp_path, "import xpreduce; xpreduce.backends()")
    assert "two backends claim the arrays of their_arrays" in text
    assert "one_backend" in text
    assert "other_backend" in text


def test_broken_backend(tmp_path: Path) -> None:
    """One that can't be imported breaks nothing until an array needs it; then it says what to install."""
    install(tmp_path, "broken_backend", "their_arrays")
    (tmp_path / "broken_backend.py").write_text("import not_there_at_all")
    (tmp_path / "their_arrays.py").write_text(textwrap.dedent(THEIRS))
    text = run(
        tmp_path,
        """
        import numpy, xpreduce, their_arrays
        print(xpreduce.reduce_l2(numpy.asarray([3.0])))
        print(xpreduce.backends()["their_arrays"].ready)
        xpreduce.reduce_l2(their_arrays.Array())
        """,
    )
    assert text.startswith("[3.]\nFalse\n")
    assert "broken_backend can't be imported" in text
    assert "pip install" in text


def test_the_scan_happens_once_and_late() -> None:
    """NumPy arrays never cost the scan of entry points."""
    text = run(
        Path(),
        """
        import numpy, xpreduce
        from xpreduce import dispatch
        xpreduce.reduce_l2(numpy.ones(3))
        print(dispatch._third_party, "importlib.metadata" in sys.modules)
        """,
    )
    assert text.split()[0] == "None"


def test_lookup_is_cached() -> None:
    """The second array of a type costs one dictionary look-up."""
    xpreduce.reduce_l2(X)
    assert dispatch._by_type[np.ndarray] is dispatch.backend_for(X)
