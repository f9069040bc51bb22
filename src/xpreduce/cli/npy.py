"""Inputs of NumPy's .npy format, read by contiguous runs instead of being mapped into memory."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from math import prod
from typing import Any, BinaryIO

import numpy as np

from xpreduce.cli.errors import CommandError, reason
from xpreduce.cli.sources import Slices, Source

MAGIC = b"\x93NUMPY"

# A header holds a dtype and a shape; this is far more than any needs.
_LONGEST_HEADER = 2**16


class NpySource(Source):
    """The array in a .npy file."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        try:
            with open(path, "rb") as file:
                self.shape, self.fortran, self.dtype, self.offset = _header(file)
                state = os.fstat(file.fileno())
        except OSError as error:
            raise CommandError(f"{path}: {reason(error)}") from None
        except ValueError as error:
            raise CommandError(f"{path}: not a readable .npy file: {reason(error)}") from None
        if self.dtype.hasobject:
            raise CommandError(f"{path}: holds Python objects, which are never loaded from a file")
        if self.dtype.kind == "V" and self.dtype.fields is None:
            raise CommandError(
                f"{path}: holds raw values of {self.dtype.itemsize} bytes (dtype {self.dtype.str}); the .npy "
                "format can't record dtypes such as bfloat16, so save the array as float32"
            )
        needed = self.offset + prod(self.shape) * self.dtype.itemsize
        if state.st_size < needed:
            raise CommandError(f"{path}: truncated: {state.st_size} bytes, where its header says {needed}")
        self._identity = (os.path.abspath(path), state.st_size, state.st_mtime_ns)
        every = tuple(range(self.ndim))
        self.order = every if self.fortran else every[::-1]
        self.unit = (1,) * self.ndim

    def identity(self) -> tuple[object, ...]:
        """Return the path, size and time of last change."""
        return self._identity

    def read(self, slices: Slices) -> np.ndarray[Any, Any]:
        """Read one region: a single read where it is contiguous, one for each run otherwise."""
        # In the file's own order the last dimension is the densest.
        shape = self.shape[::-1] if self.fortran else self.shape
        ranges = [
            range(*s.indices(n)) for s, n in zip(slices[:: -1 if self.fortran else 1], shape, strict=True)
        ]
        values = np.empty([len(r) for r in ranges], self.dtype)
        if values.size:
            target = values.reshape(-1).view(np.uint8).data
            with open(self.path, "rb", buffering=0) as file:
                at = 0
                for start, length in runs(ranges, shape):
                    file.seek(self.offset + start * self.dtype.itemsize)
                    stop = at + length * self.dtype.itemsize
                    while at < stop:
                        count = file.readinto(target[at:stop])
                        if not count:
                            raise EOFError("the file ends here; it was truncated while being read")
                        at += count
        return values.T if self.fortran else values


def runs(ranges: list[range], shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield (start, length) of the contiguous runs of a non-empty region of a row-major array, in order."""
    # Dimensions at the end that are taken whole join the run of the one before.
    inner = len(shape)
    length = 1
    while inner:
        inner -= 1
        length *= len(ranges[inner])
        if len(ranges[inner]) < shape[inner]:
            break
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    base = sum(r.start * stride for r, stride in zip(ranges, strides, strict=True))
    for index in np.ndindex(*(len(r) for r in ranges[:inner])):
        yield base + sum(i * stride for i, stride in zip(index, strides, strict=False)), length


def _header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Read the header of any format version: shape, whether Fortran order, dtype, where the data starts."""
    start = file.read(len(MAGIC) + 2)
    if not start.startswith(MAGIC) or len(start) < len(MAGIC) + 2:
        raise ValueError("it does not begin as one")
    version = start[len(MAGIC)]
    if version not in (1, 2, 3):
        raise ValueError(f"unknown format version {version}")
    size = 2 if version == 1 else 4
    length = int.from_bytes(file.read(size), "little")
    text = file.read(min(length, _LONGEST_HEADER))
    if len(text) < length:
        raise ValueError("its header is cut off or too long")
    try:
        fields = ast.literal_eval(text.decode("utf-8" if version == 3 else "latin1").strip())
        shape, fortran = tuple(fields["shape"]), bool(fields["fortran_order"])
        dtype = np.lib.format.descr_to_dtype(fields["descr"])
    except (SyntaxError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"its header can't be understood ({reason(error)})") from None
    if not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ValueError(f"its header says shape {shape}")
    return shape, fortran, dtype, file.tell()
