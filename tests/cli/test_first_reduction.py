"""The README's main job, on a small data set."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import zarr

SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "first_reduction.py"


@pytest.fixture
def script(tmp_path):
    """Run the script."""

    def run():
        return subprocess.run(
            [sys.executable, SCRIPT, "--mib", "16", "--folder", tmp_path / "data"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    return run


def test_it_passes_twice_and_notices_other_data(script, tmp_path):
    for _ in range(2):
        done = script()
        assert done.returncode == 0, done.stderr
        assert "wrong values 0 of 262144" in done.stdout
        assert "peak memory" in done.stdout
    store = tmp_path / "data" / "first_reduction_16.zarr"
    zarr.open_array(store)[-1, 0, 0] += 1
    done = script()
    assert done.returncode == 1
    assert "remove it to have it made again" in done.stderr
    shutil.rmtree(store)
    assert script().returncode == 0
