"""Every family that kernels are instantiated for, and one of each kind."""

from __future__ import annotations

import exact

from emulated_cuda.cases import conversions, dtypes_of
from xpreduce import operators
from xpreduce.dtypes import DTYPES
from xpreduce_cupy.kernels import Family, family_of


def every_family() -> tuple[Family, ...]:
    """Return the families of all operators, dtypes and results."""
    found: dict[str, Family] = {}
    for op in exact.OPERATORS:
        for dtype, result in (*((d, d) for d in dtypes_of(op)), *conversions(op)):
            family = family_of(operators.find(op), DTYPES[dtype], DTYPES[result])
            found[family.name] = family
    return tuple(found.values())


def some_families() -> tuple[Family, ...]:
    """Return the families that need the most registers of each kind."""
    names = (
        "FloatSum<Square, float16, BRIEF>",
        "FloatSum<Square, float64, FULL>",
        "IntegerSum<Square, int64>",
        "FloatProduct<float16>",
        "IntegerProduct<int64>",
        "Extreme<Largest, float64>",
        "LogSumExp<float32, BRIEF>",
        "LogSumExp<float64, FULL>",
    )
    return tuple(family for family in every_family() if family.name in names)
