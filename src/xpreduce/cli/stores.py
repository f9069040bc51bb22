"""Opening inputs: what kind of store a path is, and which array in it is meant."""

from __future__ import annotations

import os
import zipfile

from xpreduce.cli.errors import CommandError
from xpreduce.cli.sources import Source


def split(text: str) -> tuple[str, str]:
    """Return the path and the array's name in it, from ``path`` or ``path::name``."""
    if os.path.lexists(text):
        return text, ""
    path, _, name = text.partition("::")
    return path, name.strip("/")


def open_input(text: str, *, fill_missing: bool) -> Source:
    """Open an input without reading its data.

    Parameters
    ----------
    text : str
        Path of a .npy file or a Zarr store, with ``::name`` for one array of a group.
    fill_missing : bool
        Whether chunks that are not in a Zarr store hold its fill value.

    Raises
    ------
    CommandError
        If there is no such input or it is none of these.
    """
    path, name = split(text)
    if not os.path.exists(path):
        remedy = "; only local files are read: da.from_zarr(url) opens others" if "://" in path else ""
        raise CommandError(f"{path}: no such file or directory{remedy}")
    if os.path.isdir(path):
        return _zarr(path, name, fill_missing)
    if not os.path.isfile(path):
        raise CommandError(f"{path}: neither a file nor a directory")
    if zipfile.is_zipfile(path) and not path.lower().endswith((".npy", ".npz")):
        return _zarr(path, name, fill_missing)
    if name:
        raise CommandError(f"{path}: not a Zarr store, so it has no array {name!r}")
    if path.lower().endswith(".npz"):
        raise CommandError(f"{path}: .npz files can't be read; save the array as .npy")
    from xpreduce.cli.npy import NpySource

    return NpySource(path)


def _zarr(path: str, name: str, fill_missing: bool) -> Source:
    from xpreduce.cli.zarr_input import ZarrSource

    return ZarrSource(path, name, fill_missing=fill_missing)
