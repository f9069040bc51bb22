"""The official test suite of ONNX, from the installed package, against our backend.

All models that contain a Reduce node: those about a single operator, and larger ones in which one or more
are among others (expanded softmax, attention, layer normalization, ...). None is left out unless
`EXCLUDED` says why.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("onnx.defs", reason="the package onnx is not installed")

import onnx
from official import SINGLE, Official, officials
from onnx.backend.test.runner import Runner

from xpreduce.onnx import Backend

#: Tests that do not pass, and why each is not ours to pass; one that passes all the same fails.
EXCLUDED: dict[str, str] = {}

#: How many there are, by onnx's version: about single operators, and in all. None gets lost unseen.
COUNTS = {"1.23.2": (136, 334)}
AT_LEAST = (120, 200)
PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"


def test_counts() -> None:
    names = [official.name for official in officials()]
    single = [name for name in names if name.startswith(SINGLE)]
    assert len(set(names)) == len(names)
    assert (len(single), len(names)) == COUNTS.get(onnx.__version__, (len(single), len(names)))
    assert len(single) >= AT_LEAST[0]
    assert len(names) >= AT_LEAST[1]
    assert set(EXCLUDED) <= set(names)


def test_counts_on_the_page() -> None:
    """The page tells the counts of one version."""
    words = " ".join(PAGE.read_text().split())
    found = re.search(r"in onnx (\S+), the (\d+) tests .* and the (\d+) other .* All (\d+) pass, none", words)
    assert found is not None
    single, others, everything = (int(number) for number in found.groups()[1:])
    assert (single, everything) == COUNTS[found[1]]
    assert single + others == everything
    assert not EXCLUDED


# The other operators are ONNX's own, and some compute infinities and NaN on their way.
@pytest.mark.filterwarnings("ignore::RuntimeWarning:onnx")
@pytest.mark.parametrize(
    "official",
    [
        pytest.param(
            official,
            id=official.name,
            marks=[pytest.mark.xfail(reason=EXCLUDED[official.name])] if official.name in EXCLUDED else [],
        )
        for official in officials()
    ],
)
def test_official(official: Official, reduced: list[str]) -> None:
    """Shapes and dtypes are as expected, values as near as the suite asks; and it was us who reduced."""
    assert Backend.is_compatible(official.model)
    prepared = Backend.prepare(official.model)
    sets = list(official.data_sets())
    for inputs, outputs in sets:
        Runner.assert_similar_outputs(outputs, prepared.run(inputs), official.rtol, official.atol)
    assert sets
    assert reduced
