"""The 16 examples of the ReduceL2 specification (ONNX 1.18 and later), on every backend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from libraries import Library

EXAMPLES = json.loads(Path(__file__).with_name("reduce_l2_examples.json").read_text())


def test_there_are_16() -> None:
    assert len(EXAMPLES) == 16


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["name"])
def test_example(library: Library, example: dict[str, Any]) -> None:
    """Inputs and outputs are printed with 8 digits there: a unit of the last one is allowed."""
    data = np.asarray(example["data"], "float32").reshape(example["shape"])
    kwargs = {key: example[key] for key in ("keepdims", "noop_with_empty_axes") if key in example}
    if "axes" in example:
        kwargs["axes"] = np.asarray(example["axes"], "int64")
    got = library.reduce("l2", data, **kwargs)
    want = np.asarray(example["reduced"], "float32").reshape(example["reduced_shape"])
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=0)
