"""Time every layout, dtype and peer on NumPy arrays, in seconds."""

from __future__ import annotations

import numpy as np

from . import cases, data, peers


class Grid:
    """The table of cases for one operator; the operators below fill in its name."""

    operator = ""
    param_names = ("case", "dtype", "by")
    timeout = 600
    warmup_time = 0.0

    def setup(self, case: str, dtype: str, by: str) -> None:
        self.case = cases.CASES[case]
        buffer = data.filled(dtype, cases.ELEMENTS)
        self.x = self.case.look(buffer, cases.ELEMENTS)
        self.reduction = peers.NUMPY[self.operator][by]
        if by != peers.OURS:  # ours must serve everything: where it can't, that is a failure
            peers.try_out(self.reduction, self.x, self.case.axes)

    def time_grid(self, case: str, dtype: str, by: str) -> None:
        with np.errstate(all="ignore"):
            self.reduction(self.x, self.case.axes)


class ReduceL2(Grid):
    operator = "ReduceL2"
    params = (tuple(cases.CASES), cases.DTYPES, tuple(peers.NUMPY[operator]))


class ReduceSum(Grid):
    operator = "ReduceSum"
    params = (tuple(cases.CASES), cases.DTYPES, tuple(peers.NUMPY[operator]))


# asv would take the base class for a benchmark of its own.
del Grid
