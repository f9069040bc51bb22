"""Reading .npy files: every layout and header, in blocks of every shape, and what is wrong with a file."""

from __future__ import annotations

import numpy as np
import pytest

from xpreduce.cli import plan
from xpreduce.cli.npy import NpySource


def region(source, starts, lengths):
    return source[tuple(slice(a, a + n) for a, n in zip(starts, lengths, strict=True))]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">i8", "<u2", "?"])
def test_every_region(tmp_path, values, order, dtype):
    array = np.asarray(values, dtype, order=order)
    np.save(tmp_path / "x.npy", array)
    source = NpySource(str(tmp_path / "x.npy"))
    assert (source.shape, source.dtype) == (array.shape, array.dtype)
    for starts, lengths in [
        ((0, 0, 0), (8, 6, 5)),
        ((3, 0, 0), (2, 6, 5)),
        ((1, 2, 0), (1, 3, 5)),
        ((2, 1, 1), (5, 4, 3)),
        ((0, 0, 4), (8, 6, 1)),
        ((0, 5, 2), (8, 1, 2)),
        ((8, 0, 0), (0, 6, 5)),
    ]:
        expected = array[tuple(slice(a, a + n) for a, n in zip(starts, lengths, strict=True))]
        got = region(source, starts, lengths)
        assert got.dtype == array.dtype
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_header_versions(command, tmp_path, version):
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, np.array([3.0, 4.0]), version=version)
    assert command("l2", tmp_path / "x.npy").out == "5.0\n"


@pytest.mark.parametrize("array", [np.array(-2.0), np.zeros((0, 3)), np.zeros((3, 0)), np.ones((1, 1))])
def test_small_shapes(command, tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    assert command("sum", tmp_path / "x.npy").out == f"{array.sum()}\n"


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axes", [None, (0,), (1,), (2,), (0, 2), (1, 2)])
def test_many_blocks(command, tmp_path, monkeypatch, values, exact_sum, exact_l2, order, axes):
    monkeypatch.setattr(plan, "TARGETS", [120])
    path, out = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(path, np.asarray(values, "f4", order=order))
    text = "none" if axes is None else ",".join(map(str, axes))
    for name, exact in ("sum", exact_sum), ("l2", exact_l2):
        assert command(name, path, "--axes", text, "-o", out, "--overwrite").code == 0
        assert np.array_equal(np.load(out), exact(values, axes).astype("f4"))


def test_a_block_is_contiguous_where_it_can_be():
    mib = 2**20
    source = plan.Layout((1000, 1000, 1000), 4, (1, 1, 1), lambda block: 0, (2, 1, 0), (1, 2), 4)
    block = next(plan.candidates(source))
    assert block == (4, 1000, 1000)
    # Wide sums down the columns: pieces long enough to read, and many values for each output.
    tall = plan.Layout((4096, 2**20), 4, (1, 1), lambda block: 0, (1, 0), (0,), 4)
    assert next(plan.candidates(tall)) == (64, mib // 16)


def broken(path, change):
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.__delitem__(slice(-1, None)), "truncated: 167 bytes, where its header says 168"),
        (lambda data: data.__delitem__(slice(100, None)), "its header is cut off"),
        (lambda data: data.__delitem__(slice(3, None)), "it does not begin as one"),
        (lambda data: data.__setitem__(0, 0), "it does not begin as one"),
        (lambda data: data.__setitem__(6, 9), "unknown format version 9"),
        (lambda data: data.__setitem__(10, 0), "its header can't be understood"),
        (lambda data: data.clear(), "it does not begin as one"),
    ],
)
def test_broken_files(command, tmp_path, change, says):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(5.0))
    broken(path, change)
    ended = command("l2", path)
    assert ended.code == 1
    assert ended.err.startswith(f"xpreduce: error: {path}: ")
    assert says in ended.err


def test_a_file_truncated_while_it_is_read(command, tmp_path, monkeypatch):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((100, 100), np.float32))
    monkeypatch.setattr(plan, "TARGETS", [4000])
    original = NpySource.read

    def read(self, slices):
        if slices[0].start == 0:
            with open(path, "r+b") as file:
                file.truncate(1000)
        return original(self, slices)

    monkeypatch.setattr(NpySource, "read", read)
    ended = command("l2", path, "--threads", "1")
    assert ended.code == 1
    assert f"{path}: block (" in ended.err
    assert "truncated while being read" in ended.err


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.array([{}, None]), "Python objects"),
        (np.array([1j]), "complex128"),
        (np.array(["a"]), "str32"),
        (np.array([1], "i2"), "int16"),
        (np.zeros(2, "V2"), "bfloat16"),
        (np.zeros(2, [("a", "f4")]), "ReduceL2"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
    ],
)
def test_unsupported_dtypes(command, tmp_path, array, says):
    np.save(tmp_path / "x.npy", array)
    ended = command("l2", tmp_path / "x.npy")
    assert ended.code == 1
    assert says in ended.err
    assert ended.err.count("\n") == 1


def test_other_inputs(command, tmp_path):
    np.savez(tmp_path / "x.npz", a=np.ones(3))
    assert ".npz files can't be read" in command("l2", tmp_path / "x.npz").err
    np.save(tmp_path / "x.npy", np.ones(3))
    assert "has no array 'a'" in command("l2", f"{tmp_path}/x.npy::a").err
    ended = command("l2", "/dev/null")
    assert ended.code == 1
    assert "neither a file nor a directory" in ended.err


def test_blocks_are_told_apart_by_path_and_change(tmp_path):
    from dask.base import tokenize

    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.ones(3))
    a, again, b = (tokenize(NpySource(str(tmp_path / f"{name}.npy"))) for name in "aab")
    assert a == again != b
    np.save(tmp_path / "a.npy", np.ones(4))
    assert tokenize(NpySource(str(tmp_path / "a.npy"))) != a


def test_retries(command, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.array([3.0, 4.0]))
    original, failed = NpySource.read, []

    def read(self, slices):
        if len(failed) < 2:
            failed.append(slices)
            raise OSError(5, "Input/output error")
        return original(self, slices)

    monkeypatch.setattr(NpySource, "read", read)
    ended = command("l2", tmp_path / "x.npy", "--retries", "1")
    assert ended.code == 1
    assert "block (0,), region [0:2]: Input/output error" in ended.err
    failed.clear()
    assert command("l2", tmp_path / "x.npy", "--retries", "2").out == "5.0\n"
