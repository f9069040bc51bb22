"""`xpreduce.onnx` loads when it is asked for, and says what to install where onnx is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnx.defs", reason="the package onnx is not installed")

import xpreduce


def run(program: str, *options: str) -> str:
    done = subprocess.run([sys.executable, *options, "-c", program], capture_output=True, text=True)
    return done.stdout + done.stderr


def test_loads_when_asked_for() -> None:
    program = "import sys, xpreduce; print('onnx' in sys.modules); print(xpreduce.onnx.run_node.__name__)"
    assert run(program).split() == ["False", "run_node"]
    assert "onnx" not in xpreduce.__all__


def test_the_reference_evaluator_loads_for_models_alone() -> None:
    program = "import sys, xpreduce.onnx; xpreduce.onnx.run_node; print('onnx.reference' in sys.modules)"
    assert run(program).split() == ["False"]


@pytest.mark.parametrize("asked", ["import xpreduce.onnx", "import xpreduce; xpreduce.onnx"])
def test_says_what_to_install(asked: str) -> None:
    """Without the package; the rest of xpreduce works."""
    found = run(f"import sys; sys.modules['onnx'] = None; import xpreduce; xpreduce.reduce_l2; {asked}")
    assert found.splitlines()[-1].startswith("ImportError: xpreduce.onnx needs the package onnx")
    assert found.splitlines()[-1].endswith("try: pip install 'xpreduce[onnx]'")


def test_a_folder_called_onnx_is_not_the_package(tmp_path: Path) -> None:
    """Python would import it; that must not look like the package."""
    (tmp_path / "onnx").mkdir()
    source = Path(xpreduce.__file__).parents[1]
    if (source / "onnx" / "defs").exists():
        pytest.skip("xpreduce itself is where the package is")
    program = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(source)!r}]; import onnx, xpreduce.onnx"
    assert "try: pip install 'xpreduce[onnx]'" in run(program, "-S")


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match=r"module 'xpreduce\.onnx' has no attribute 'reduce'"):
        _ = xpreduce.onnx.reduce  # type: ignore[attr-defined]  # that is what is wrong
