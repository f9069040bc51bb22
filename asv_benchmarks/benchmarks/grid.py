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


#: The layouts and dtypes that the operators besides L2 and Sum are timed on.
FEW_CASES = ("full", "last long", "first wide", "middle small")
FEW_DTYPES = ("float32", "float64")

for name, by in peers.NUMPY.items():
    every = name in ("ReduceL2", "ReduceSum")
    params = (tuple(cases.CASES), cases.DTYPES) if every else (FEW_CASES, FEW_DTYPES)
    globals()[name] = type(name, (Grid,), {"operator": name, "params": (*params, tuple(by))})

# asv would take the base class for a benchmark of its own.
del Grid
