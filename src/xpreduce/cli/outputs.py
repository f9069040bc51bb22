"""Outputs, written region by region while blocks finish, in any order and from any thread."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any

from xpreduce.cli.errors import CancelledError, UsageError, WriteError, reason
from xpreduce.cli.targets import Target

if TYPE_CHECKING:
    import numpy as np


class Output(ABC):
    """An array on disk of which each region is written once.

    Parameters
    ----------
    target : Target
        Where it goes.
    shape, dtype
        Of the result.
    chunks : tuple of int
        Shape of the regions; those at the end may be shorter.
    cancelled : threading.Event
        Once set, nothing more is written.
    """

    def __init__(
        self,
        target: Target,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        chunks: tuple[int, ...],
        cancelled: threading.Event,
    ) -> None:
        self.target = target
        self.shape = shape
        self.dtype = dtype
        self.chunks = chunks
        self._cancelled = cancelled
        self._lock = threading.Lock()
        self._missing = prod(shape)

    @abstractmethod
    def create(self) -> None:
        """Make the temporary, with room for the whole where the format allows it."""

    @abstractmethod
    def write(self, slices: tuple[slice, ...], values: np.ndarray[Any, Any]) -> None:
        """Write one region that is not empty."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the temporary; may be called twice."""

    def __setitem__(self, slices: tuple[slice, ...], values: np.ndarray[Any, Any]) -> None:
        if self._cancelled.is_set():
            raise CancelledError
        if not values.size:
            return
        try:
            self.write(slices, values)
        except Exception as error:
            raise WriteError(f"{self.target.text}: {reason(error)}") from error
        with self._lock:
            self._missing -= values.size

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep the output if the block ends well, and nothing of it otherwise."""
        try:
            try:
                self.create()
            except Exception as error:
                raise WriteError(f"{self.target.text}: {reason(error)}") from error
            yield
            self.close()
            if self._missing:
                raise WriteError(f"{self.target.text}: {self._missing} values were never written")
            self.target.commit()
        except BaseException:
            self.close()
            self.target.discard()
            raise


class NpyOutput(Output):
    """A .npy file; `fortran` says that its values lie in column-major order."""

    def __init__(self, *arguments: Any, fortran: bool = False) -> None:
        super().__init__(*arguments)
        self.fortran = fortran
        self._file: Any = None

    def create(self) -> None:
        """Write the header and reserve the space, so that a full disk shows before the work is done."""
        from numpy.lib import format as npy

        if self.dtype.kind == "V":
            raise UsageError(
                f"{self.target.text}: a .npy file can't record the dtype {self.dtype}; write a .zarr"
            )
        self._file = open(self.target.temporary, "xb", buffering=0)  # noqa: SIM115 - closed by close()
        fields = {
            "descr": npy.dtype_to_descr(self.dtype),
            "fortran_order": self.fortran,
            "shape": self.shape,
        }
        npy.write_array_header_1_0(self._file, fields)
        self._offset = self._file.tell()
        size = prod(self.shape) * self.dtype.itemsize
        if size and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._file.fileno(), self._offset, size)
        else:
            self._file.truncate(self._offset + size)

    def write(self, slices: tuple[slice, ...], values: np.ndarray[Any, Any]) -> None:
        """Write one region run by run."""
        import numpy as np

        from xpreduce.cli.npy import runs

        values = np.asarray(values, self.dtype)
        shape = self.shape
        if self.fortran:
            shape, slices, values = shape[::-1], slices[::-1], values.T
        ranges = [range(*s.indices(n)) for s, n in zip(slices, shape, strict=True)]
        data = np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
        at = 0
        with self._lock:
            for start, length in runs(ranges, shape):
                self._file.seek(self._offset + start * self.dtype.itemsize)
                stop = at + length * self.dtype.itemsize
                while at < stop:
                    at += self._file.write(data[at:stop])

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


class ZarrOutput(Output):
    """A Zarr array, version 3, zstd with a checksum; each region is one chunk, so none is written twice."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._array: Any = None

    def create(self) -> None:
        """Write the metadata."""
        import zarr
        from zarr.codecs import ZstdCodec

        self._array = zarr.create_array(
            store=self.target.temporary,
            shape=self.shape,
            chunks=tuple(max(1, length) for length in self.chunks),
            dtype=self.dtype,
            compressors=ZstdCodec(level=1, checksum=True),
            fill_value=0,
            # A chunk of zeros is written like any other, so that a missing one is an error for readers.
            config={"write_empty_chunks": True},
            zarr_format=3,
        )

    def write(self, slices: tuple[slice, ...], values: np.ndarray[Any, Any]) -> None:
        """Write one chunk."""
        self._array[slices] = values

    def close(self) -> None:
        """Do nothing: every chunk is closed once written."""
