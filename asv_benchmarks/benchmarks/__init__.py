"""Benchmarks of xpreduce: cases, data and peers are tables, the other modules time them."""

import importlib
from contextlib import suppress

# Once, for all the processes that asv forks; earlier commits may have no such module.
for module in ("xpreduce_numpy.compiled.families", "dask.array", "mpmath"):
    with suppress(ImportError):
        importlib.import_module(module)
