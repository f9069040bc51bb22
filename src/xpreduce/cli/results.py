"""A result as text: one line for a scalar, NumPy's text for a small array, or a JSON object."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

#: Most values that are printed; more must be written to a file.
MOST_PRINTED = 1000


def text(values: np.ndarray[Any, Any], *, scalar: bool) -> str:
    """Return all digits: the shortest text that reads back as the same value of the same dtype."""
    if scalar:
        return str(values.reshape(-1)[0])
    return np.array2string(values, separator=", ", floatmode="unique", threshold=sys.maxsize)


def as_json(values: np.ndarray[Any, Any], *, scalar: bool, about: dict[str, Any]) -> str:
    """Return `about` and the value or values, as one line of strict JSON.

    JSON has no NaN and no infinities: they become the strings "NaN", "Infinity" and "-Infinity", which
    ``float`` of Python and ``Number`` of JavaScript read.
    """
    flat = [_number(value) for value in values.reshape(-1)]
    if scalar:
        return document(about | {"value": flat[0]})
    return document(about | {"values": _nested(flat, values.shape)})


def document(content: dict[str, Any]) -> str:
    """Return one line of strict JSON."""
    return json.dumps(content, allow_nan=False)


def _number(value: Any) -> int | float | str:
    if isinstance(value, np.bool):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    # By way of the shortest text, so that 0.1 in float32 is 0.1 and not 0.10000000149011612.
    number = float(str(value))
    if np.isfinite(number):
        return number
    return "NaN" if np.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return flat[0]
    size = len(flat) // shape[0] if shape[0] else 0
    return [_nested(flat[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]
