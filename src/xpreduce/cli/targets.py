"""Where an output may go, and how a finished one gets there in one step."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress

from xpreduce.cli.errors import CommandError, UsageError, WriteError, reason
from xpreduce.cli.interrupts import undisturbed


class Target:
    """The place of an output, and a temporary place beside it.

    Parameters
    ----------
    text : str
        Where the output goes, as the user gave it.
    input_paths : sequence of str
        The files and directories that are read.
    overwrite : bool
        Whether something that is there may be replaced.

    Raises
    ------
    UsageError
        If it is no .npy or .zarr, or the input lies there.
    CommandError
        If it exists and may not be replaced, or its folder does not.
    """

    def __init__(self, text: str, input_paths: Sequence[str], *, overwrite: bool) -> None:
        self.text = text
        # Through symbolic links, so that the link stays and the temporary lies on the same file system.
        self.path = os.path.realpath(text)
        self.suffix = os.path.splitext(self.path)[1].lower()
        self._overwrite = overwrite
        if self.suffix not in (".npy", ".zarr"):
            raise UsageError(f"{text}: the output must end in .npy or .zarr")
        if any(_overlap(self.path, os.path.realpath(path)) for path in input_paths):
            raise UsageError(f"{text}: the output is the input, or one lies inside the other")
        folder, name = os.path.split(self.path)
        if not os.path.isdir(folder):
            raise CommandError(f"{text}: its folder {folder} does not exist")
        self._refuse_existing()
        self.temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.part")

    def _refuse_existing(self) -> None:
        if not os.path.lexists(self.path):
            return
        if not self._overwrite:
            raise CommandError(f"{self.text}: exists already (--overwrite replaces it)")
        replaceable = os.path.isfile(self.path) if self.suffix == ".npy" else _is_zarr_array(self.path)
        if not replaceable:
            kind = "file" if self.suffix == ".npy" else "Zarr array"
            raise CommandError(f"{self.text}: exists and is not a single {kind}, so it is not overwritten")

    def commit(self) -> None:
        """Sync the temporary to the disk and rename it; from here on the run counts as done."""
        try:
            _sync(self.temporary)
            with undisturbed():
                self._rename()
                _sync_one(os.path.dirname(self.path))
        except OSError as error:
            raise WriteError(f"{self.text}: {reason(error)}") from error

    def discard(self) -> None:
        """Remove the temporary, whatever state it is in."""
        with undisturbed():
            if os.path.isdir(self.temporary):
                shutil.rmtree(self.temporary, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.remove(self.temporary)

    def _rename(self) -> None:
        # What may be replaced can have changed since the start.
        self._refuse_existing()
        if self.suffix == ".npy":
            os.replace(self.temporary, self.path)
            return
        if not os.path.lexists(self.path):
            os.rename(self.temporary, self.path)
            return
        # A directory can't replace another in one step, so the old one steps aside.
        aside = f"{self.temporary}.old"
        os.rename(self.path, aside)
        try:
            os.rename(self.temporary, self.path)
        except OSError:
            os.rename(aside, self.path)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _is_zarr_array(path: str) -> bool:
    """Return whether a directory is one Zarr array, and no group that may hold many."""
    if os.path.exists(os.path.join(path, ".zarray")):
        return True
    try:
        with open(os.path.join(path, "zarr.json"), encoding="utf-8") as file:
            return bool(json.load(file).get("node_type") == "array")
    except (OSError, ValueError, AttributeError):
        return False


def _overlap(a: str, b: str) -> bool:
    """Return whether two real paths are the same thing, or one is inside the other."""
    if os.path.exists(a) and os.path.exists(b) and os.path.samefile(a, b):
        return True
    try:
        return os.path.commonpath([a, b]) in (a, b)
    except ValueError:  # on different drives
        return False


def _sync(path: str) -> None:
    """Make the system write a file, or a directory and all in it, to the disk."""
    if os.path.isdir(path):
        for folder, _, names in os.walk(path):
            for name in names:
                _sync_one(os.path.join(folder, name))
            _sync_one(folder)
    else:
        _sync_one(path)


def _sync_one(path: str) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows opens no directories
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
