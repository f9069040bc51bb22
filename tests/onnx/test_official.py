"""The official test suite of ONNX, from the installed package, against our backend.

All models that contain a Reduce node: those about a single operator, and larger ones in which one or more
are among others (expanded softmax, attention, layer normalization, ...). None is left out unless
`EXCLUDED` says why.
"""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("onnx.defs", reason="the package onnx is not installed")

from official import SINGLE, Official, officials
from onnx import defs
from onnx.backend.test.runner import Runner

from xpreduce.onnx import Backend
from xpreduce.onnx.op_run import ReduceRun

#: Tests that do not pass, and why each is not ours to pass; one that passes all the same fails.
EXCLUDED: dict[str, str] = {}

#: How many there are at least, by the opset that the installed onnx has: none gets lost unseen.
SINGLE_COUNT, COUNT = {28: (136, 334)}.get(defs.onnx_opset_version(), (120, 200))


def test_counts() -> None:
    names = [official.name for official in officials()]
    assert len(set(names)) == len(names)
    assert len([name for name in names if name.startswith(SINGLE)]) >= SINGLE_COUNT
    assert len(names) >= COUNT
    assert set(EXCLUDED) <= set(names)


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
def test_official(official: Official, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes and dtypes are as expected, values as near as the suite asks; and it was us who reduced."""
    ran = []
    ours = ReduceRun._run
    monkeypatch.setattr(ReduceRun, "_run", lambda self, *x, **y: ran.append(self) or ours(self, *x, **y))  # type: ignore[func-returns-value]  # that is the point
    assert Backend.is_compatible(official.model)
    prepared = Backend.prepare(official.model)
    sets = 0
    for inputs, outputs in official.data_sets():
        got: tuple[Any, ...] = prepared.run(inputs)
        Runner.assert_similar_outputs(outputs, got, official.rtol, official.atol)
        sets += 1
    assert sets
    assert ran
