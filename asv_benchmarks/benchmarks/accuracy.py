"""Track the largest error of every operator and dtype, and the share of results that are right."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from xpreduce.dtypes import NUMERIC
from xpreduce.operators import OPERATORS

from .peers import OURS

# The report's own measure lies beside the benchmarks, and asv knows only the folder of these.
sys.path.insert(0, str(Path(__file__).parents[1]))

#: Results of each operator and dtype. The accuracy report takes a million; changes show in fewer.
REDUCTIONS = int(os.environ.get("XPREDUCE_BENCH_REDUCTIONS", 2000))


class Accuracy:
    """What the accuracy report measures, on fewer results."""

    param_names = ("operator", "dtype", "by")
    params = (tuple(operator.short for operator in OPERATORS.values()), NUMERIC, (OURS, "NumPy"))
    timeout = 600

    def setup(self, operator: str, dtype: str, by: str) -> None:
        if importlib.util.find_spec("mpmath") is None:
            raise NotImplementedError("exact values need mpmath")
        from rounding.measure import measure

        self.measured: Any = measure(operator, dtype, REDUCTIONS, seed=1, names=[by])
        self.tally = self.measured.libraries[by]

    def track_largest_error(self, operator: str, dtype: str, by: str) -> float:
        # Of what is finite: asv can't draw infinities, and they are not among those that are right.
        return float(self.tally.largest)

    def track_share_right(self, operator: str, dtype: str, by: str) -> float:
        return float(self.tally.right / self.measured.reductions)


Accuracy.track_largest_error.unit = "ulp"  # type: ignore[attr-defined]
Accuracy.track_share_right.unit = "of all"  # type: ignore[attr-defined]
