"""The CUDA kernels as Python sees them: their source, their names, and the arguments that they take.

Everything here is pure: no CUDA and no CuPy is needed. The source lies in ``cuda/``, one `.cuh` file for
each subject, and includes no header of CUDA's, so that NVRTC needs none. The same files compile with
NVRTC, with nvcc, and with g++ for the emulator of the tests.

A *family* is what the kernels are instantiated for: an accumulation of one input dtype, such as
``FloatSum<Square, float32, BRIEF>``. What comes after the accumulation (the root, the mean, the logarithm,
and rounding to a result dtype) is told at run time, so ReduceL2 and ReduceSumSquare share their code.

======================  ==========================================================================
kernel                  what it does
======================  ==========================================================================
``rows<Family>``        stage 1 where reduced values lie side by side: `segments` runs of `run`
                        values for each result, read by 16 bytes wherever they are aligned
``strided<Family>``     stage 1 for any strides: neighbouring threads take neighbouring results, and
                        with ``lanes == block`` neighbouring values of one result
``merge<Family>``       stage 2: puts the accumulators of all splits together, in a fixed order
``combine<Family>``     puts two states of the algebra together, result by result
``finish<Family>``      rounds states of the algebra to results
======================  ==========================================================================

Every kernel takes one argument by value, the structure `Arguments`, and is launched on a grid of one
dimension, `grid` blocks of `block` threads, without dynamic shared memory. `block` is a power of two up
to `BLOCK`. `lanes` threads share a result: a power of two from 1 to `block`.

Stage 1 leaves its work in one of three places, told by `target`: ``TO_RESULTS`` rounds to the result
array, ``TO_STATES`` writes the arrays of the algebra's states, and ``TO_SCRATCH`` writes accumulators,
``family.accumulator_bytes`` for each of ``splits * results``, for `merge`, which has the first two
targets only. More than one split is only possible with ``TO_SCRATCH``. Split s takes the terms from
``s * chunk`` to ``(s + 1) * chunk`` of the `terms` of a result, the last one what is left; a chunk has
at most `LONGEST_CHUNK` terms. Nothing is atomic: two calls give the same bits.

Results are counted, and written side by side, in the order of `kept`, last dimension fastest; that should
be memory order.
For no results nothing must be launched; for no terms stage 1 gives the values of the empty set.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from xpreduce.dtypes import DTYPES, DType
from xpreduce.operators import Operator
from xpreduce.protocol import Reduction

BLOCK = 256
"""The most threads of a block; the kernels' shared memory holds an accumulator for each."""

LONGEST_CHUNK = 2**30
"""The most terms of a split."""

MOST_DIMENSIONS = 8
"""The most merged kept dimensions, and the most merged reduced ones."""

OPTIONS = ("--std=c++17", "--fmad=false")
"""Options for NVRTC and nvcc. Contracted products would break the error-free transformations."""

TO_SCRATCH, TO_RESULTS, TO_STATES = range(3)

FINISHES = ("identity", "sqrt", "mean", "log")
RESULTS = tuple(DTYPES)
"""Dtype names in the order of the numbers that `Arguments.result` gives them."""

_STATES = 6
_WORD = ctypes.c_int64


class Arguments(ctypes.Structure):
    """What every kernel takes by value: 64-bit words alone. Strides count elements, not bytes."""

    _fields_ = (
        ("input", _WORD),  # address of the first element: the one with all indices 0
        ("scratch", _WORD),  # splits * results accumulators, the results of a split side by side
        ("output", _WORD),  # the result array
        ("states", _WORD * _STATES),  # the arrays of the states that are written, without the count
        ("left", _WORD * _STATES),  # states that `combine` and `finish` read
        ("right", _WORD * _STATES),  # the other states that `combine` reads
        ("count", _WORD),  # address of an int64 on the device that holds the terms, or 0: use `terms`
        ("target", _WORD),
        ("result", _WORD),  # index in RESULTS
        ("last", _WORD),  # index in FINISHES
        ("results", _WORD),  # number of results
        ("terms", _WORD),  # number of values behind each result
        ("splits", _WORD),
        ("chunk", _WORD),
        ("lanes", _WORD),
        ("kept_dims", _WORD),
        ("reduced_dims", _WORD),  # for `rows`: of segments, without the dimension of the run
        ("run", _WORD),  # for `rows`: values of stride 1 in a segment
        ("kept", _WORD * 2 * MOST_DIMENSIONS),  # (size, stride), outermost first
        ("reduced", _WORD * 2 * MOST_DIMENSIONS),
    )


def grid(results: int, splits: int, lanes: int, block: int) -> int:
    """Return the number of blocks of a launch; `splits` is 1 for all but stage 1.

    Examples
    --------
    >>> grid(results=1000, splits=4, lanes=32, block=256)
    500
    """
    return -(-results // (block // lanes)) * splits


@dataclass(frozen=True, slots=True)
class Family:
    """What kernels are instantiated for.

    Attributes
    ----------
    name : str
        The type's name in the source, such as ``"FloatSum<Square, float32, BRIEF>"``.
    accumulator_bytes : int
        Size of one accumulator in scratch memory.
    state : tuple of str
        The dtypes of the arrays of a state of the algebra, in its order; ``"count"`` stands for the
        number of terms, an int64 array without dimensions that no kernel writes.
    """

    name: str
    accumulator_bytes: int
    state: tuple[str, ...]

    def kernel(self, kind: str) -> str:
        """Return the name of one of the kernels, such as ``"rows<FloatSum<Square, float32, BRIEF>>"``."""
        return f"{kind}<{self.name}>"


_LIFTS = {"identity": "Identity", "abs": "Absolute", "square": "Square"}


def family_of(operator: Operator, dtype: DType, result: DType) -> Family:
    """Return the family that accumulates `operator` of values of `dtype`."""
    element = "boolean" if dtype.name == "bool" else dtype.name
    if operator.combine in ("maximum", "minimum"):
        side = "Largest" if operator.combine == "maximum" else "Smallest"
        if dtype.is_float:
            state: tuple[str, ...] = ("float64" if dtype.bits == 64 else "float32", "bool", "count")
        else:
            state = ("int64", "count")
        return Family(f"Extreme<{side}, {element}>", 8, state)
    if operator.combine == "product":
        if dtype.is_float or result.is_float:
            return Family(f"FloatProduct<{element}>", 24, ("float64", "float64", "int64"))
        return Family(f"IntegerProduct<{element}>", 16, ("int64", "int64", "bool", "bool"))
    # Whether a result holds so few digits that sums may be kept with fewer.
    precision = "BRIEF" if result.is_float and result.bits <= 32 else "FULL"
    if operator.lift == "exp":
        return Family(f"LogSumExp<{element}, {precision}>", 24, ("float64",) * 3)
    lift = _LIFTS[operator.lift]
    if dtype.name == "float64":
        return Family(f"FloatSum<{lift}, float64, FULL>", 24, ("float64", "float64", "count", "int8"))
    if dtype.is_float:
        return Family(f"FloatSum<{lift}, {element}, {precision}>", 24, ("float64", "float64", "count"))
    bits = dtype.bits * (2 if lift == "Square" else 1) + 48
    return Family(f"IntegerSum<{lift}, {element}>", 24, ("int64",) * max(3, -(-bits // 32)) + ("count",))


def arguments_of(reduction: Reduction, **values: Any) -> Arguments:
    """Return arguments with what follows from the reduction; the others by name, as `Arguments` has them."""
    return Arguments(
        result=RESULTS.index(reduction.result.name), last=FINISHES.index(reduction.operator.finish), **values
    )


@lru_cache(maxsize=1)
def source() -> str:
    """Return the whole source as one text without includes of its own, as NVRTC takes it."""
    return _text("kernels.cuh", set())


def _text(name: str, seen: set[str]) -> str:
    if name in seen:
        return ""
    seen.add(name)
    lines = []
    for line in (files(__package__) / "cuda" / name).read_text(encoding="utf-8").splitlines():
        if line.startswith('#include "'):
            lines.append(_text(line.split('"')[1], seen))
        elif line != "#pragma once":
            lines.append(line)
    return "\n".join(lines)
