"""The performance report: page and charts fit the figures, and measuring gives figures that can be drawn."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SCRIPT = ROOT / "asv_benchmarks" / "report.py"


def run(*arguments: str | Path) -> None:
    """Run the command."""
    done = subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def texts(svg: Path) -> set[str]:
    """Return the words of a chart; it is well-formed, and takes its ink from the page."""
    content = svg.read_text()
    assert "currentColor" in content
    assert "#010203" not in content
    return {element.text or "" for element in ET.fromstring(content).iter("{http://www.w3.org/2000/svg}text")}


def test_page_fits_the_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="what draws the charts is not installed")
    shutil.copy(DOCS / "performance.json", tmp_path)
    run("render", "--output", tmp_path / "performance.json")
    assert (tmp_path / "performance.md").read_text() == (DOCS / "performance.md").read_text()
    drawn = sorted((tmp_path / "performance").iterdir())
    assert [path.name for path in drawn] == sorted(path.name for path in (DOCS / "performance").iterdir())
    for path in drawn:
        assert texts(path) == texts(DOCS / "performance" / path.name)


def test_every_chart_is_on_the_page() -> None:
    shown = re.findall(r"^:file: performance/(.+)$", (DOCS / "performance.md").read_text(), re.MULTILINE)
    assert sorted(shown) == sorted(path.name for path in (DOCS / "performance").iterdir())


def test_names_in_charts_are_unique() -> None:
    """All of them stand in one page."""
    names = [
        name
        for path in (DOCS / "performance").iterdir()
        for name in re.findall(r'\bid="([^"]+)"', path.read_text())
    ]
    assert len(names) == len(set(names))


def test_figures_say_how_they_came_about() -> None:
    found = json.loads((DOCS / "performance.json").read_text())
    assert list(found) == ["layouts", "operators", "sizes", "threads"]
    for part, content in found.items():
        about = content["about"]
        assert part in about["command"]
        assert {"processor", "cores", "read limit", "date", "python", "commit", "versions"} <= set(about)
        assert content["figures"]


def test_measuring(tmp_path: Path) -> None:
    """A small run of every part: each has what the charts take."""
    output = tmp_path / "figures" / "performance.json"
    small = ("--elements", "2**12", "--rounds", "1", "--output", output)
    run("measure", "sizes", *small)
    run("measure", "threads", *small)
    found = json.loads(output.read_text())
    assert all(record["GB/s"] > 0 and record["bytes"] for record in found["sizes"]["figures"])
    assert all(record["share by 1"] > 0 for record in found["threads"]["figures"])
    assert found["threads"]["about"]["command"].endswith("threads --elements 4096 --rounds 1")
