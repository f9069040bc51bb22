"""Damaged data and full disks: an error that names the chunk, exit code 1, and no output."""

from __future__ import annotations

import numpy as np
import pytest
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

from xpreduce.cli import plan

SETTINGS = {
    "zstd": {"compressors": ZstdCodec(checksum=True)},
    "crc32c": {"compressors": Crc32cCodec()},
    "shards": {"compressors": ZstdCodec(checksum=True), "shards": (4, 100)},
}


@pytest.fixture(params=SETTINGS)
def store(request, tmp_path):
    """A store of 10 chunks (5 shards) with checksums."""
    path = tmp_path / "x.zarr"
    array = zarr.create_array(
        store=path, shape=(20, 100), chunks=(2, 100), dtype="f4", **SETTINGS[request.param]
    )
    array[...] = np.arange(2000).reshape(20, 100) * 7919 % 1009
    return path


def damage(path):
    data = bytearray(path.read_bytes())
    data[43] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("target", [1, 10**6])
def test_a_flipped_bit_names_the_chunk(command, store, tmp_path, leftovers, monkeypatch, target):
    monkeypatch.setattr(plan, "TARGETS", [target])
    damage(store / "c/3/0")
    before = leftovers()
    ended = command("l2", store, "--axes", "1", "-o", tmp_path / "y.npy")
    assert ended.code == 1
    assert f"{store}: block (" in ended.err
    assert ", stored chunk c/3/0: " in ended.err
    assert ended.err.count("\n") == 1
    assert leftovers() == before


def test_a_flipped_bit_without_checksum_is_warned_of(command, tmp_path):
    array = zarr.create_array(
        store=tmp_path / "x.zarr", shape=(100,), chunks=(50,), dtype="f4", compressors=None
    )
    array[...] = 1
    damage(tmp_path / "x.zarr/c/1")
    ended = command("sum", tmp_path / "x.zarr")
    assert ended.code == 0
    assert "no checksum" in ended.err
    assert ended.out != "100.0\n"


def test_a_truncated_chunk(command, store):
    chunk = store / "c/3/0"
    size = chunk.stat().st_size
    for keep in size - 1, size // 2, 30, 8, 1:
        chunk.write_bytes(chunk.read_bytes()[:keep])
        ended = command("l2", store)
        assert ended.code == 1
        assert "stored chunk c/3/0" in ended.err


@pytest.mark.parametrize("what", ["file", "directory"])
def test_what_holds_nothing_is_a_missing_chunk(command, store, what):
    chunk = store / "c/3/0"
    chunk.unlink()
    chunk.mkdir() if what == "directory" else chunk.touch()
    ended = command("l2", store)
    assert ended.code == 1
    assert "missing, the first is c/3/0" in ended.err


def test_a_chunk_that_disappears(command, store, monkeypatch):
    from xpreduce.cli.zarr_input import ZarrSource

    missing = ZarrSource.missing

    def then_gone(self):
        told = missing(self)
        (store / "c/3/0").unlink()
        return told

    monkeypatch.setattr(ZarrSource, "missing", then_gone)
    ended = command("l2", store)
    assert ended.code == 1
    assert f"{store}: block (0, 0), region [0:20, 0:100]: stored chunk c/3/0 is gone" in ended.err


def test_an_unreadable_chunk(command, store):
    (store / "c/3/0").unlink()
    (store / "c/3/0").symlink_to("0")
    ended = command("l2", store, "--retries", "1")
    assert ended.code == 1
    assert "stored chunk c/3/0: Too many levels of symbolic links" in ended.err


FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"


@pytest.mark.parametrize("kind", ["npy", "zarr"])
def test_a_full_disk_leaves_nothing(process, tmp_path, leftovers, kind):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((2, 300_000)))
    out = tmp_path / f"y.{kind}"
    ended = process("l2", tmp_path / "x.npy", "--axes", "0", "-o", out, before=FULL)
    assert ended.code == 1
    assert ended.err == f"xpreduce: error: {out}: File too large\n"
    assert leftovers() == ["x.npy"]


@pytest.mark.parametrize("kind", ["npy", "zarr"])
def test_a_full_disk_keeps_what_was_to_be_replaced(command, process, tmp_path, leftovers, kind):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((2, 300_000)))
    out = tmp_path / f"y.{kind}"
    assert command("sum", tmp_path / "x.npy", "-o", out).code == 0
    content = {path: path.read_bytes() for path in [out, *out.rglob("*")] if path.is_file()}
    assert content
    ended = process("l2", tmp_path / "x.npy", "--axes", "0", "-o", out, "--overwrite", before=FULL)
    assert ended.code == 1
    assert all(path.read_bytes() == data for path, data in content.items())
    assert leftovers() == ["x.npy", out.name]
