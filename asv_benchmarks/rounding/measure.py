"""Measure one operator and dtype: every library on the same inputs, against exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from . import exact, integers, nearest
from .formats import FLOATS
from .inputs import Batch, batches
from .libraries import LIBRARIES, OURS, Reduction, reductions

#: Breaches of the bounds that are kept, with their inputs.
KEPT = 5


@dataclass
class Tally:
    """What one library did: its exact results, its largest error, the inputs of that, and what is no number.

    The error is in ulp for floating point and in units for integers.
    """

    right: int = 0
    largest: float = 0.0
    inputs: str = ""
    not_finite: int = 0

    def add(self, errors: np.ndarray, right: np.ndarray, name: str) -> None:
        """Count the results of a batch."""
        finite = np.isfinite(errors)
        self.right += int(right.sum())
        self.not_finite += int((~finite).sum())
        largest = float(errors[finite].max(initial=0.0))
        if largest > self.largest:
            self.largest, self.inputs = largest, name


@dataclass
class Measured:
    """The figures of one operator and dtype.

    `of_bound` is the largest error of xpreduce over the one that its bounds allow there, `beyond` counts the
    results for which that is above 1, and `breaches` has some of them.
    """

    reductions: int = 0
    libraries: dict[str, Tally] = field(default_factory=dict)
    of_bound: float = 0.0
    beyond: int = 0
    breaches: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON has them."""
        return asdict(self)


def measure(op: str, dtype: str, count: int, seed: int, names: Iterable[str] = LIBRARIES) -> Measured:
    """Reduce at least `count` rows with those of the libraries that can."""
    contenders = reductions(op, dtype, names)
    found = Measured(libraries={name: Tally() for name in contenders})
    with np.errstate(all="ignore"):
        for batch in batches(op, dtype, count, seed):
            found.reductions += len(batch.rows)
            if dtype in FLOATS:
                floats(found, op, dtype, batch, contenders)
            else:
                whole_numbers(found, op, batch, contenders)
    return found


def floats(found: Measured, op: str, dtype: str, batch: Batch, contenders: dict[str, Reduction]) -> None:
    """Compare the results of one batch of floating point rows."""
    to = FLOATS[dtype]
    values = exact.values(op, batch.rows)
    right = nearest.rounded(values, to)
    for name, reduction in contenders.items():
        results = np.asarray(reduction(batch.x, batch.axis)).astype(np.float64)
        errors = nearest.errors(results, right)
        same = (results == right.nearest) | (np.isnan(results) & np.isnan(right.nearest))
        found.libraries[name].add(errors, same, batch.name)
        if name == OURS:
            bounds = nearest.allowed(op, values, right, to, batch.rows.shape[1])
            note(found, batch, results, right.nearest, errors, bounds)


def whole_numbers(found: Measured, op: str, batch: Batch, contenders: dict[str, Reduction]) -> None:
    """Compare the results of one batch of integer rows."""
    right = integers.right(op, batch.rows)
    for name, reduction in contenders.items():
        results = np.asarray(reduction(batch.x, batch.axis))
        errors = integers.errors(results, right)
        found.libraries[name].add(errors, results == right, batch.name)
        if name == OURS:
            note(found, batch, results, right, errors, integers.allowed(op, right))


def note(
    found: Measured,
    batch: Batch,
    results: np.ndarray,
    right: np.ndarray,
    errors: np.ndarray,
    bounds: np.ndarray,
) -> None:
    """Compare errors of xpreduce with what is allowed, and keep the first that are beyond."""
    limited = (bounds > 0) & (bounds < np.inf)
    found.of_bound = max(found.of_bound, float((errors[limited] / bounds[limited]).max(initial=0.0)))
    beyond = ~(errors <= bounds)
    found.beyond += int(beyond.sum())
    for row in np.flatnonzero(beyond)[: max(0, KEPT - len(found.breaches))]:
        found.breaches.append(
            {
                "inputs": batch.name,
                "values": repr(batch.rows[row, :40].astype(object).tolist()),
                "count": batch.rows.shape[1],
                "axis": batch.axis,
                "result": repr(results[row].item()),
                "right": repr(right[row].item()),
                "error": repr(float(errors[row])),
            }
        )
