"""The page that compares the runtimes says what running them says today."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("onnx.defs", reason="the package onnx is not installed")

from onnx_faults import FOUND_WITH, versions
from onnx_values import LINES

BOLD = re.compile(r"\*\*(?!refuse|gives)[^*|]+\*\*")


def without_wrong_numbers(page: str) -> list[str]:
    """Return a page's lines without numbers that are not right: they may depend on the processor."""
    tables = page.partition("## Value by value")[2]
    return BOLD.sub("**wrong**", tables).splitlines()


def test_page_is_what_running_gives() -> None:
    if versions() != FOUND_WITH:
        pytest.skip(f"needs {FOUND_WITH}, there is {versions()}")
    import onnx_differences

    found, now = onnx_differences.PAGE.read_text(), onnx_differences.page()
    assert found.partition("## Value")[0] == now.partition("## Value")[0]
    assert without_wrong_numbers(found) == without_wrong_numbers(now)


def test_xpreduce_is_right_on_the_page() -> None:
    from onnx_differences import PAGE

    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| Reduce")]
    assert len(rows) == len(LINES)
    assert all(row[3] == row[4] for row in rows)
