"""Every code block of the README and of docs/ runs, and prints what the page says.

A page's ``python``, ``pycon`` and ``bash`` blocks run in order, in one temporary folder and (the Python ones)
in one namespace. A ``text`` block straight after one of them is its output, in which ``...`` stands for
anything. A block is left out only if an HTML comment on the line above it says so::

    <!-- needs: a GPU -->
    <!-- needs: a cluster -->
    <!-- runs in: .ci/run -->

`test_marked_blocks` lists all that are left out. What needs PyTorch runs where PyTorch is, and what needs the
example of a backend in test_example_backend.py.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, RUNS, Block, blocks

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: Needs that some machines meet, and the module that tells.
MET = {"needs: PyTorch": "torch"}

#: Page and mark of each block that does not run here.
MARKED = [
    ("README.md", "runs in: .ci/run"),
    ("README.md", "runs in: .ci/run"),
    ("CONTRIBUTING.md", "runs in: .ci/newcomer"),
    ("CONTRIBUTING.md", "runs in: .ci/newcomer"),
    ("docs/accuracy.md", "needs: ten minutes or more"),
    ("docs/getting_started/gpu.md", "needs: a GPU"),
    ("docs/getting_started/gpu.md", "needs: a GPU"),
    ("docs/getting_started/gpu.md", "needs: PyTorch"),
    ("docs/getting_started.md", "needs: a clone"),
    *[("docs/how_to/backend.md", "needs: xpreduce_masked")] * 3,
    *[("docs/how_to/clusters.md", "needs: a cluster")] * 5,
    *[("docs/how_to/gpu.md", "needs: a GPU")] * 7,
    ("docs/performance.md", "needs: an hour or more"),
]


def run_python(block: Block, page: Path, names: dict[str, Any]) -> str:
    """Run a block in `names` and return what it printed."""
    # Blank lines before it make a traceback name the page's own line.
    code = compile("\n" * block.line + block.code, str(page), "exec", dont_inherit=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def run_pycon(block: Block, page: Path, names: dict[str, Any]) -> None:
    """Run an interactive session as a doctest."""
    test = doctest.DocTestParser().get_doctest(block.code, names, page.name, str(page), block.line)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not report, "".join(report)


def run_bash(block: Block, folder: Path) -> str:
    """Run a block with this interpreter's programs first on the path, and return what it printed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def met(mark: str) -> bool:
    """Whether what a block needs is here."""
    return mark in MET and importlib.util.find_spec(MET[mark]) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language not in RUNS or (block.mark and not met(block.mark)):
            continue
        where = f"{page.name}, line {block.line}"
        if block.language == "pycon":
            run_pycon(block, page, names)
            continue
        printed = run_bash(block, tmp_path) if block.language == "bash" else run_python(block, page, names)
        if block.output is not None:
            same = doctest.OutputChecker().check_output(block.output, printed, doctest.ELLIPSIS)
            assert same, f"{where} should print\n{block.output}\nbut prints\n{printed}"


def test_marked_blocks() -> None:
    marked = [
        (str(page.relative_to(ROOT)), block.mark) for page in PAGES for block in blocks(page) if block.mark
    ]
    assert marked == MARKED


def test_every_language_is_known() -> None:
    """A block of an unknown language, or of none, would silently not run."""
    directives = {"{eval-rst}", "{include}", "{literalinclude}", "{raw}", "{support-table}", "{toctree}"}
    known = {*RUNS, *directives, "text", "toml", "json"}
    unknown = [
        f"{page.name}, line {block.line}: {block.language!r}"
        for page in PAGES
        for block in blocks(page)
        if block.language not in known
    ]
    assert not unknown
