"""Random data to reduce, filled before anything is timed, so that every page is there."""

from __future__ import annotations

import functools

import numpy as np

#: wide: floats over the exponents whose squares, summed, stay in range; integers over the whole range of
#: their dtype. normal: the normal distribution; integers as for wide. all: floats over every finite exponent,
#: subnormals too (most peers overflow there).
KINDS = ("wide", "normal", "all")

# Mantissas and exponents repeat after this many elements: too many for a branch predictor to learn,
# few enough that filling a large buffer takes less time than reducing it.
PERIOD = 2**20


def dtype_of(name: str) -> np.dtype:
    """Return the NumPy dtype of a name, bfloat16 included; NotImplementedError where ml_dtypes is missing."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise NotImplementedError("bfloat16 needs ml_dtypes") from None
    return np.dtype(ml_dtypes.bfloat16)


# (smallest, largest) exponent of two
EXPONENTS = {
    "wide": {"float16": (-5, 5), "bfloat16": (-47, 47), "float32": (-47, 47), "float64": (-383, 383)},
    "all": {"float16": (-24, 15), "bfloat16": (-133, 127), "float32": (-149, 127), "float64": (-1074, 1023)},
}


def period(name: str, kind: str, count: int) -> np.ndarray:
    """Return `count` random values of a dtype."""
    dtype = dtype_of(name)
    rng = np.random.default_rng(20240229)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
    if kind == "normal":
        return rng.standard_normal(count).astype(dtype)
    low, high = EXPONENTS[kind][name]
    # The largest mantissa at the largest exponent must not round to infinity in bfloat16.
    mantissa = rng.uniform(1.0, 1.9375, count) * rng.choice((-1.0, 1.0), count)
    return np.ldexp(mantissa, rng.integers(low, high + 1, count)).astype(dtype)


@functools.lru_cache(maxsize=1)
def filled(name: str, elements: int, kind: str = "wide") -> np.ndarray:
    """Return a flat buffer of random values. The last one is kept, for the next case of the same dtype."""
    values = period(name, kind, min(PERIOD, elements))
    buffer = np.empty(elements, values.dtype)
    for start in range(0, elements, len(values)):
        block = buffer[start : start + len(values)]
        block[...] = values[: len(block)]
    return buffer
