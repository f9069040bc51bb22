"""The dtypes: what their numbers are, and NumPy's dtype of each name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Format:
    """A binary floating point format.

    Attributes
    ----------
    name : str
        Of the dtype.
    digits : int
        Binary digits of a significand.
    highest, lowest : int
        Exponent of the largest power of two, and of the smallest subnormal number.
    """

    name: str
    digits: int
    highest: int
    lowest: int

    @property
    def maximum(self) -> float:
        """The largest finite number."""
        return float((2 - 2.0 ** (1 - self.digits)) * 2.0**self.highest)


FLOATS = {
    found.name: found
    for found in (
        Format("float16", 11, 15, -24),
        Format("bfloat16", 8, 127, -133),
        Format("float32", 24, 127, -149),
        Format("float64", 53, 1023, -1074),
    )
}
INTEGERS = ("int32", "int64", "uint32", "uint64")
DTYPES = (*FLOATS, *INTEGERS)


def numpy_dtype(name: str) -> np.dtype:
    """Return NumPy's dtype of this name; bfloat16 is that of ml_dtypes."""
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)
