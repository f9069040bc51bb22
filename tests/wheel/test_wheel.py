"""The built wheel holds what it should, and works where the source tree is not."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy as np
import pytest

SITE = Path(sysconfig.get_path("purelib"))


def packages() -> set[str]:
    """Return the packages that the distribution says it has: the core and its backends."""
    points = importlib.metadata.distribution("xpreduce").entry_points
    return {"xpreduce", *(point.value for point in points if point.group == "xpreduce.backends")}


def test_contents(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == packages()
    assert {f"{package}/py.typed" for package in packages()} <= set(names)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_imported_from_the_installation(wheel: Path) -> None:
    for package in packages():
        module = importlib.import_module(package)
        assert Path(module.__file__ or "").is_relative_to(SITE), package


def test_nothing_comes_from_a_checkout(wheel: Path) -> None:
    """Also nothing that the packages import in turn, in an interpreter that pytest did not start."""
    program = (
        "import sys, numpy, dask.array, xpreduce; "
        "xpreduce.reduce_l2(dask.array.ones((4, 4), chunks=2)).compute(); "
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('xpreduce')), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    files = [Path(line) for line in done.stdout.splitlines()]
    assert len(files) > len(packages())
    assert [path for path in files if not path.is_relative_to(SITE)] == []


def test_cuda_source_is_there(wheel: Path) -> None:
    from xpreduce_cupy.kernels import source

    assert source().count("__global__") > 0


def test_version(wheel: Path) -> None:
    import xpreduce

    assert importlib.metadata.version("xpreduce") == xpreduce.__version__


def test_reduces(wheel: Path) -> None:
    import xpreduce

    x = np.array([[3, 4], [600, 800]], dtype=np.float16)
    assert xpreduce.reduce_l2(x, axes=1).tolist() == [[5.0], [1000.0]]
    assert xpreduce.reduce_sum(x, axes=0, keepdims=False).tolist() == [603.0, 804.0]


def test_command(wheel: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([3, 4], dtype=np.int32))
    program = Path(sysconfig.get_path("scripts")) / "xpreduce"
    done = subprocess.run([program, "l2", "x.npy"], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.split() == ["5"]


@pytest.fixture(scope="session")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs' folder of an environment with the wheel and none of its extras."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", wheel], check=True)
    return programs


def test_works_without_any_array_library(bare: Path) -> None:
    program = "import xpreduce; print(*(n for n, b in xpreduce.backends().items() if b.ready))"
    done = subprocess.run([bare / "python", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["portable"]


def test_command_says_what_to_install(bare: Path) -> None:
    done = subprocess.run([bare / "xpreduce", "l2", "x.npy"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "pip install 'xpreduce[cli" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_onnx_says_what_to_install(bare: Path) -> None:
    done = subprocess.run([bare / "python", "-c", "import xpreduce.onnx"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "pip install 'xpreduce[onnx]'" in done.stderr
