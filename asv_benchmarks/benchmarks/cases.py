"""The cases that are timed: a table of shapes, axes and views, the dtypes, and how a case is scaled."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: The element count that the shapes below are written for.
WRITTEN_FOR = 2**24

DTYPES = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint32", "uint64")


@dataclass(frozen=True)
class Case:
    """One reduction: the shape of the array in memory, the view of it that is reduced, and over what."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    #: The dimension that grows when the case is scaled up.
    grows: int = 0
    #: "" for the array itself, else "transposed" or "every other" (`[::2]` along the first dimension).
    view: str = ""

    def scaled(self, elements: int) -> tuple[int, ...]:
        """Return the shape with about `elements` elements; shrinking halves the longest dimension."""
        shape = list(self.shape)
        count = math.prod(shape)
        if elements > count:
            shape[self.grows] *= elements // count
        while math.prod(shape) > elements and max(shape) > 1:
            longest = shape.index(max(shape))
            shape[longest] //= 2
        return tuple(shape)

    def look(self, buffer: np.ndarray, elements: int) -> np.ndarray:
        """Return this case's view of the first elements of a flat, filled buffer."""
        shape = self.scaled(elements)
        array = buffer[: math.prod(shape)].reshape(shape)
        if self.view == "transposed":
            return array.T
        if self.view == "every other":
            return array[::2]
        return array


#: Every layout that a kernel must be fast on. The bytes of a case are those of the cache lines it touches,
#: so "every other" counts twice its own.
CASES = {
    "full": Case((2**24,), (0,)),
    "last long": Case((2048, 8192), (1,)),
    "last 64": Case((2**18, 64), (1,)),
    "last 8": Case((2**21, 8), (1,)),
    "first wide": Case((2048, 8192), (0,)),
    "first few": Case((8, 2**21), (0,), grows=1),
    "first tall": Case((2**17, 128), (0,)),
    "middle": Case((64, 512, 512), (1,)),
    "middle small": Case((2**18, 8, 8), (1,)),
    "both ends": Case((64, 512, 512), (0, 2)),
    "last two small": Case((2**20, 4, 4), (1, 2)),
    "first two": Case((256, 512, 128), (0, 1)),
    "transposed": Case((2048, 8192), (1,), view="transposed"),
    "every other": Case((2**24,), (0,), view="every other"),
}

#: What asv runs: small enough to find errors quickly. Figures need 2**26 and more: see `enough_elements`.
ELEMENTS = int(os.environ.get("XPREDUCE_BENCH_ELEMENTS", 2**20))


def last_level_cache() -> int:
    """Return the size in bytes of the largest processor cache, or 32 MiB where the system doesn't say."""
    sizes = [0]
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        unit = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1:], 1)
        sizes.append(int(text.rstrip("KMG")) * unit)
    return max(sizes) or 32 * 2**20


def enough_elements(itemsize: int) -> int:
    """Return the element count, a power of two, from which memory is measured and not a cache."""
    size = max(256 * 2**20, 8 * last_level_cache())
    return 1 << math.ceil(math.log2(size / itemsize))
