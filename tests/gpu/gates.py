"""What bandwidth must be reached, as a share of a device-to-device copy's, and who must not be faster."""

from __future__ import annotations

from typing import Any

GATES = {
    "full": 0.85,
    "last long": 0.85,
    "first wide": 0.75,
    "first few": 0.75,
    "first tall": 0.75,
    "middle": 0.75,
    "both ends": 0.75,
    "first two": 0.75,
    "transposed": 0.75,
    "every other": 0.75,
    "last 64": 0.5,
    "last 8": 0.5,
    "middle small": 0.5,
    "last two small": 0.5,
}
"""The least share for each case: contiguous ones, columns and middle dimensions, short rows."""

SLOWER = 0.9
"""A peer's time over ours, in the median, below which we count as slower."""

UNGATED = ("prod", "log_sum", "log_sum_exp")
"""Operators whose arithmetic may take longer than the memory does: their share is reported alone."""


def verdict(op: str, dtype: str, case: str, figures: dict[str, Any]) -> str | None:
    """Return which gate a measured cell misses, or None."""
    missed = []
    if op not in UNGATED and figures["of copy"] < GATES[case]:
        missed.append(f"{figures['of copy']:.2f} of a copy, and {GATES[case]} is asked for")
    missed += [f"slower than {peer}" for peer, ratio in figures["peers"].items() if ratio < SLOWER]
    return "; ".join(missed) or None
