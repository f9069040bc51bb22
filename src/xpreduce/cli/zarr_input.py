"""Inputs in Zarr stores, version 2 or 3: directories and .zip files, sharded or not."""

from __future__ import annotations

import errno
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np
import zarr
from zarr.storage import LocalStore, ZipStore

from xpreduce.cli.checksums import has_checksum
from xpreduce.cli.errors import CommandError, reason
from xpreduce.cli.sources import Slices, Source


class ZarrSource(Source):
    """One array of a Zarr store.

    Parameters
    ----------
    path : str
        The store: a directory or a .zip file.
    name : str
        Where the array is within the store's groups; empty if the store is the array.
    fill_missing : bool
        Whether chunks that are not there hold the fill value, rather than being an error.
    """

    def __init__(self, path: str, name: str, *, fill_missing: bool) -> None:
        super().__init__()
        self.path = f"{path}::{name}" if name else path
        self._zipped = os.path.isfile(path)
        self._root = path
        self._fill_missing = fill_missing
        self._array = self._open(path, name)
        self.shape = self._array.shape
        self.dtype = self._array.dtype
        # What is one file of the store; a shard can be read by the chunks in it.
        self._stored = self._array.shards or self._array.chunks
        state = os.stat(path)
        self._identity = (os.path.abspath(path), name, state.st_mtime_ns, str(self._array.metadata.to_dict()))
        self.unit = self._array.chunks

    def _open(self, path: str, name: str) -> zarr.Array[Any]:
        try:
            with warnings.catch_warnings():
                # About codecs and metadata that not every Zarr library reads: this one does.
                warnings.simplefilter("ignore")
                store = ZipStore(path, mode="r") if self._zipped else LocalStore(path, read_only=True)
                found = zarr.open(store=store, path=name, mode="r")
        except FileNotFoundError:
            raise CommandError(f"{self.path}: there is no Zarr array{self._instead(path)}") from None
        except Exception as error:
            raise CommandError(f"{self.path}: not a readable Zarr array: {reason(error)}") from None
        if isinstance(found, zarr.Array):
            return found
        listing = _listing(found, path, name) or " that holds no array"
        raise CommandError(f"{self.path}: is a group{listing}")

    def _instead(self, path: str) -> str:
        """Return what there is in place of an array that was not found."""
        try:
            store = ZipStore(path, mode="r") if self._zipped else LocalStore(path, read_only=True)
            group = zarr.open_group(store=store, mode="r")
        except Exception:
            return ""
        return _listing(group, path, "")

    def extra(self, block: tuple[int, ...]) -> int:
        """Return the bytes of a stored chunk, encoded and decoded; chunks at the edge are stored whole."""
        values = prod(self.unit)
        if self._array.shards:
            # Zarr first collects all that it needs of a shard.
            values += min(prod(self._array.shards), prod(block))
        return 2 * values * self.dtype.itemsize

    def identity(self) -> tuple[object, ...]:
        """Return the path, the name, and the array's metadata."""
        return self._identity

    def read(self, slices: Slices) -> np.ndarray[Any, Any]:
        """Read one region."""
        values = np.asarray(self._array[slices])
        if not self._fill_missing and values.size and not self._zipped:
            # It was there at the start; had it gone before it was read, the fill value would be here.
            there = self._present()
            for key in self._all_keys(slices):
                if not there(key):
                    raise FileNotFoundError(errno.ENOENT, f"stored chunk {key} is gone", key)
        return values

    def settings(self, threads: int) -> AbstractContextManager[object]:
        """Make Zarr read the chunks of a block one by one: the blocks are read side by side already."""
        context: AbstractContextManager[object] = zarr.config.set(
            {"async.concurrency": 1, "threading.max_workers": threads}
        )
        return context

    def warnings(self) -> list[str]:
        """Say whether errors on the disk would go unnoticed."""
        if self._zipped or has_checksum(self._array.metadata):
            return []
        return [
            f"{self.path}: its chunks have no checksum (the crc32c codec, or zstd with a checksum), "
            "so a damaged one may give a wrong result instead of an error"
        ]

    def missing(self) -> str:
        """Return how many chunks are missing, unless they are to be filled."""
        if self._fill_missing or not prod(self.shape):
            return ""
        total, missing, first = 0, 0, ""
        there = self._present()
        for key in self._all_keys():
            total += 1
            if not there(key):
                first = first or key
                missing += 1
        if not missing:
            return ""
        return (
            f"{missing} of {total} stored chunks are missing, the first is {first} "
            "(--missing-chunks fill takes the fill value for them)"
        )

    def _present(self) -> Callable[[str], bool]:
        """Return what tells whether a key's chunk is there.

        What Zarr takes for a missing chunk without a word is none: an empty shard, a directory.
        """
        if self._zipped:
            import zipfile

            with zipfile.ZipFile(self._root) as file:
                return frozenset(i.filename for i in file.infolist() if i.file_size).__contains__

        def there(key: str) -> bool:
            try:
                state = os.stat(os.path.join(self._root, key))
            except FileNotFoundError:
                return False
            except OSError:
                return True  # reading it will tell what is wrong
            return stat.S_ISREG(state.st_mode) and state.st_size > 0

        return there

    def _all_keys(self, slices: Slices | None = None) -> Iterator[str]:
        """Yield the key of every stored chunk, or of those that a region touches."""
        for index in product(*self._grid(slices)):
            yield self._key(index)

    def _grid(self, slices: Slices | None) -> list[range]:
        if slices is None:
            slices = tuple(slice(0, n) for n in self.shape)
        return [
            range(s.start // length, ceil(s.stop / length))
            for s, length in zip(slices, self._stored, strict=True)
        ]

    def _key(self, index: tuple[int, ...]) -> str:
        key = self._array.metadata.encode_chunk_key(index)
        base = self._array.store_path.path
        return f"{base}/{key}" if base else key

    def explain(self, slices: Slices) -> str:
        """Read the stored chunks of a failed block one by one, to name the one at fault."""
        for index in product(*self._grid(slices)):
            # Only what belongs to the block: a whole shard might not fit into memory.
            region = tuple(
                slice(max(i * length, s.start), min((i + 1) * length, s.stop))
                for i, length, s in zip(index, self._stored, slices, strict=True)
            )
            try:
                self._array[region]
            except Exception:
                return f", stored chunk {self._key(index)}"
        return ""


def _listing(group: zarr.Group, path: str, name: str) -> str:
    """Return the arrays in a group, in the form in which they can be given, or nothing if there are none."""
    base = f"{name}/" if name else ""
    arrays = sorted(
        f"{path}::{base}{member}"
        for member, node in group.members(max_depth=None)
        if isinstance(node, zarr.Array)
    )
    return f"; its arrays are {', '.join(arrays)}" if arrays else ""
