"""Whether a Zarr array's codecs would notice a damaged chunk."""

from __future__ import annotations

import lzma
from collections.abc import Iterable
from typing import Any

# gzip and bzip2 carry a CRC-32 of their contents and zlib an Adler-32, which their decoders verify; the
# rest are checksums by name.
_CHECKED = frozenset({"gzip", "zlib", "bz2", "crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3"})


def has_checksum(metadata: Any) -> bool:
    """Return whether one of the codecs in the metadata of an array verifies a checksum of the data."""
    if hasattr(metadata, "codecs"):
        return _any(codec.to_dict() for codec in metadata.codecs)
    codecs = [metadata.compressor, *(metadata.filters or ())]
    return _any({"name": c.codec_id, "configuration": c.get_config()} for c in codecs if c is not None)


def _any(codecs: Iterable[dict[str, Any]]) -> bool:
    for codec in codecs:
        name = codec["name"].removeprefix("numcodecs.")
        settings = codec.get("configuration") or {}
        if name in _CHECKED or (name == "zstd" and settings.get("checksum")):
            return True
        if name == "lzma" and settings.get("format") == lzma.FORMAT_XZ:
            return True  # a CRC-64, unless turned off
        # The checksum of a shard's index says nothing about the data.
        if name == "sharding_indexed" and _any(settings["codecs"]):
            return True
    return False
