"""What every kind of input shares: block-wise reading, with retries and errors that name the block."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from xpreduce.cli.errors import CancelledError, ReadError, reason

if TYPE_CHECKING:
    import numpy as np

Slices = tuple[slice, ...]


class Source(ABC):
    """An array in a file, of which Dask reads one block per task.

    It holds the path, not the data, so Dask can hash it without reading.

    Attributes
    ----------
    path : str
        Where the array is, for messages.
    shape, dtype, ndim
        As of any array.
    unit, order : tuple of int
        See `xpreduce.cli.plan.Layout`.
    block : tuple of int
        Shape of the blocks that will be asked for; set once planned.
    retries : int
        How often a read that fails with an I/O error is tried again.
    cancelled : threading.Event
        Set to make the tasks that still wait end at once.
    on_read : callable
        Called with the number of bytes after each block.
    """

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    unit: tuple[int, ...]
    order: tuple[int, ...] = ()

    def __init__(self) -> None:
        self.block: tuple[int, ...] = ()
        self.retries = 0
        self.cancelled = threading.Event()
        self.on_read: Callable[[int], object] = lambda count: None

    @property
    def ndim(self) -> int:
        """Rank of the array."""
        return len(self.shape)

    @abstractmethod
    def read(self, slices: Slices) -> np.ndarray[Any, Any]:
        """Read one region."""

    @abstractmethod
    def identity(self) -> tuple[object, ...]:
        """Return what tells this array from others, and from itself after a change."""

    def extra(self, block: tuple[int, ...]) -> int:
        """Return the bytes that reading a block of this shape takes besides the block itself."""
        return 0

    def warnings(self) -> list[str]:
        """Return what the user should know before the run."""
        return []

    def missing(self) -> str:
        """Return, without reading the data, what of it is missing; an empty string where all is there."""
        return ""

    def settings(self, threads: int) -> AbstractContextManager[object]:
        """Return a context in which blocks are read by this many threads at a time."""
        return nullcontext()

    def explain(self, slices: Slices) -> str:
        """Return, after a failed read, which stored parts are at fault (may read again); or nothing."""
        return ""

    def __dask_tokenize__(self) -> tuple[object, ...]:
        return (type(self).__name__, *self.identity())

    def __getitem__(self, slices: Slices) -> np.ndarray[Any, Any]:
        for attempt in range(self.retries + 1):
            if self.cancelled.is_set():
                raise CancelledError
            try:
                values = self.read(slices)
            except OSError as error:
                if attempt == self.retries:
                    raise self._error(slices, error) from error
                # A file system that is briefly away (a network mount) needs a moment.
                self.cancelled.wait(min(0.1 * 2**attempt, 5.0))
            except Exception as error:
                raise self._error(slices, error) from error
            else:
                self.on_read(values.nbytes)
                return values
        raise AssertionError

    def _error(self, slices: Slices, error: Exception) -> ReadError:
        index = tuple(
            s.start // length if length else 0 for s, length in zip(slices, self.block, strict=False)
        )
        where = ", ".join(f"{s.start}:{s.stop}" for s in slices)
        part = "" if self.cancelled.is_set() else self.explain(slices)
        return ReadError(f"{self.path}: block {index}, region [{where}]{part}: {reason(error)}")
