"""Reading Zarr stores: versions 2 and 3, shards, groups, .zip files; what is missing or unprotected."""

from __future__ import annotations

import json
import shutil

import numcodecs
import numpy as np
import pytest
import zarr
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

from xpreduce.cli import plan

CHUNKS = (3, 4, 2)

LAYOUTS = {
    "v3": {"compressors": ZstdCodec(checksum=True)},
    "v3 raw": {"compressors": None},
    "v3 blosc": {"compressors": BloscCodec()},
    "v3 gzip": {"compressors": GzipCodec()},
    "v3 crc32c": {"compressors": zarr.codecs.Crc32cCodec()},
    "v3 shards": {"shards": (6, 4, 4), "compressors": ZstdCodec(checksum=True)},
    "v3 shards raw": {"shards": (6, 4, 4), "compressors": None},
    "v2": {"zarr_format": 2},
    "v2 raw": {"zarr_format": 2, "compressors": None},
    "v2 zstd": {"zarr_format": 2, "compressors": numcodecs.Zstd(checksum=True)},
    "v2 fletcher32": {"zarr_format": 2, "filters": [numcodecs.Fletcher32()], "compressors": None},
    "v2 nested": {
        "zarr_format": 2,
        "order": "F",
        "chunk_key_encoding": {"name": "v2", "separator": "/"},
        "compressors": numcodecs.GZip(),
    },
}

CHECKED = {"v3", "v3 gzip", "v3 crc32c", "v3 shards", "v2 zstd", "v2 fletcher32", "v2 nested"}


def make(path, values, layout="v3", name=None, dtype="float32"):
    """Write a store and return its path."""
    settings = {"chunks": CHUNKS, "config": {"write_empty_chunks": True}, **LAYOUTS[layout]}
    array = zarr.create_array(
        store=path, name=name, shape=values.shape, dtype=dtype, fill_value=7, **settings
    )
    array[...] = values.astype(dtype)
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axes", [None, (0,), (1, 2)])
def test_every_layout(command, tmp_path, monkeypatch, values, exact_sum, layout, axes):
    path = make(tmp_path / "x.zarr", values, layout)
    text = "none" if axes is None else ",".join(map(str, axes))
    for target in 16, 200, 10**6:
        monkeypatch.setattr(plan, "TARGETS", [target])
        ended = command("sum", path, "--axes", text, "-o", tmp_path / "y.npy", "--overwrite")
        assert ended.code == 0
        assert ("no checksum" in ended.err) == (layout not in CHECKED)
        assert np.array_equal(np.load(tmp_path / "y.npy"), exact_sum(values, axes))


def test_the_checksum_warning_is_one_line_and_not_for_the_quiet(command, tmp_path, values):
    path = make(tmp_path / "x.zarr", values, "v3 raw")
    err = command("sum", path).err
    assert err.startswith(f"xpreduce: warning: {path}: its chunks have no checksum")
    assert err.count("\n") == 1
    assert not command("sum", path, "-q").err


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "uint64", ">f4", ">i8"])
@pytest.mark.parametrize("layout", ["v3", "v2"])
def test_dtypes(command, tmp_path, values, exact_l2, dtype, layout):
    ints = np.abs(values)
    path = make(tmp_path / "x.zarr", ints, layout, dtype=dtype)
    assert command("l2", path, "--axes", "0", "-o", tmp_path / "y.npy").code == 0
    got = np.load(tmp_path / "y.npy")
    exact = exact_l2(ints, (0,))
    if np.dtype(dtype).kind in "iu":
        exact = np.floor(exact)  # toward zero
    assert got.dtype == np.dtype(dtype).newbyteorder("=")
    assert np.array_equal(got, exact.astype(got.dtype))


@pytest.mark.parametrize("layout", ["v3", "v2"])
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (3, 0)])
def test_small_shapes(command, tmp_path, layout, shape):
    array = zarr.create_array(
        store=tmp_path / "x.zarr",
        shape=shape,
        dtype="f8",
        config={"write_empty_chunks": True},
        **LAYOUTS[layout],
    )
    array[...] = 2
    expected = 2.0 * np.prod(shape)
    assert command("sum", tmp_path / "x.zarr").out == f"{expected}\n"


@pytest.mark.parametrize("layout", ["v3", "v2"])
def test_groups(command, tmp_path, values, layout):
    store = tmp_path / "s.zarr"
    zarr.create_group(store, zarr_format=LAYOUTS[layout].get("zarr_format", 3))
    make(store, values, layout, name="a")
    make(store, values * 2, layout, name="deep/er/b")
    total = int(values.sum())
    assert command("sum", f"{store}::a").out == f"{total}.0\n"
    assert command("sum", f"{store}::/deep/er/b").out == f"{2 * total}.0\n"
    assert command("sum", store / "deep" / "er" / "b").out == f"{2 * total}.0\n"
    for text in str(store), f"{store}::nothing":
        ended = command("sum", text)
        assert ended.code == 1
        assert f"its arrays are {store}::a, {store}::deep/er/b" in ended.err
    ended = command("sum", f"{store}::deep")
    assert f"its arrays are {store}::deep/er/b" in ended.err


@pytest.mark.parametrize("layout", ["v3", "v3 raw", "v3 shards", "v2"])
def test_zip(command, tmp_path, values, exact_sum, layout):
    make(tmp_path / "x.zarr", values, layout)
    shutil.make_archive(str(tmp_path / "x"), "zip", tmp_path / "x.zarr")
    ended = command("sum", tmp_path / "x.zip", "--axes", "0", "-o", tmp_path / "y.npy")
    assert (ended.code, ended.err) == (0, "")  # a .zip has checksums of its own
    assert np.array_equal(np.load(tmp_path / "y.npy"), exact_sum(values, (0,)))
    damaged = bytearray((tmp_path / "x.zip").read_bytes())
    at = damaged.rindex(b"PK\x03\x04") + 60
    damaged[at] ^= 1
    (tmp_path / "x.zip").write_bytes(damaged)
    if layout != "v3 shards":
        assert command("sum", tmp_path / "x.zip").code == 1


def test_group_in_a_zip(command, tmp_path, values):
    make(tmp_path / "x.zarr", values, name="g/a")
    shutil.make_archive(str(tmp_path / "x"), "zip", tmp_path / "x.zarr")
    assert command("sum", f"{tmp_path}/x.zip::g/a").out == f"{int(values.sum())}.0\n"
    assert f"its arrays are {tmp_path}/x.zip::g/a" in command("sum", tmp_path / "x.zip").err


@pytest.mark.parametrize(("layout", "key"), [("v3", "c/1/0/2"), ("v3 shards", "c/1/0/1"), ("v2", "1.0.2")])
def test_missing_chunks(command, tmp_path, values, exact_sum, layout, key):
    path = make(tmp_path / "x.zarr", values, layout)
    (path / key).unlink()
    ended = command("sum", path)
    total = 18 if layout != "v3 shards" else 8
    assert ended.code == 1
    assert f"{path}: 1 of {total} stored chunks are missing, the first is {key}" in ended.err
    filled = values.copy()
    where = (slice(3, 6), slice(0, 4), slice(4, 6)) if layout != "v3 shards" else np.s_[6:, :4, 4:]
    filled[where] = 7
    out = tmp_path / "y.npy"
    assert command("sum", path, "--missing-chunks", "fill", "--axes", "1", "-o", out).code == 0
    assert np.array_equal(np.load(out), exact_sum(filled, (1,)))


def test_missing_chunks_of_an_array_in_a_group(command, tmp_path, values):
    path = make(tmp_path / "x.zarr", values, name="g/a")
    (path / "g/a/c/0/1/1").unlink()
    assert "missing, the first is g/a/c/0/1/1" in command("sum", f"{path}::g/a").err


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("zarr.json", "{", "not a readable Zarr array"),
        ("zarr.json", json.dumps({"zarr_format": 3, "node_type": "array"}), "not a readable Zarr array"),
        (".zarray", json.dumps({"zarr_format": 2}), "not a readable Zarr array"),
        ("other.txt", "", "there is no Zarr array"),
    ],
)
def test_unreadable_stores(command, tmp_path, name, content, says):
    path = tmp_path / "x.zarr"
    path.mkdir()
    (path / name).write_text(content)
    ended = command("l2", path)
    assert ended.code == 1
    assert says in ended.err
    assert ended.err.count("\n") == 1


def test_unsupported_dtypes(command, tmp_path):
    zarr.create_array(store=tmp_path / "x.zarr", shape=(3,), dtype="complex64")
    ended = command("l2", tmp_path / "x.zarr")
    assert ended.code == 1
    assert "ReduceL2" in ended.err
    assert "complex64" in ended.err
