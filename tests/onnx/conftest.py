"""What the tests of the ONNX front share."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def reduced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The versions of our operators that ran in a model, in order: such as ``"ReduceMean-18"``."""
    from xpreduce.onnx import op_run

    ran: list[str] = []
    evaluate = op_run.evaluate

    def watched(version: Any, *args: Any) -> Any:
        ran.append(str(version))
        return evaluate(version, *args)

    monkeypatch.setattr(op_run, "evaluate", watched)
    return ran
