"""Time every operator, layout and dtype on NumPy arrays, and some beside other libraries, in seconds."""

from __future__ import annotations

import numpy as np

from . import cases, data, other_libraries, peers


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
        ways = peers.NUMPY[self.operator]
        self.reduction = ways[by] if by in ways else other_libraries.reduction(self.operator, by)
        if by != peers.OURS:  # ours must serve everything: where it can't, that is a failure
            peers.try_out(self.reduction, self.x, self.case.axes)

    def time_grid(self, case: str, dtype: str, by: str) -> None:
        with np.errstate(all="ignore"):
            self.reduction(self.x, self.case.axes)


#: What all else is timed on: each library starts anew for every cell, which takes longer than the cell.
SOME_CASES = ("full", "last long", "first wide", "middle small")
SOME_DTYPES = ("float32", "float64")

for name, ways in peers.NUMPY.items():
    ours, formula, *others = ways
    grid = (tuple(cases.CASES), cases.DTYPES, (ours, formula))
    globals()[name] = type(name, (Grid,), {"operator": name, "params": grid})
    beside = (SOME_CASES, SOME_DTYPES, (ours, *others, *other_libraries.names(name)))
    globals()[f"{name}Beside"] = type(f"{name}Beside", (Grid,), {"operator": name, "params": beside})

# asv would take the base class for a benchmark of its own.
del Grid
