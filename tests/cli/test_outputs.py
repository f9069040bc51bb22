"""Where outputs go: formats, refusals, replacing, and nothing but whole outputs."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import zarr

from xpreduce.cli import plan


@pytest.fixture
def saved(tmp_path, values):
    """A .npy file of float32."""
    path = tmp_path / "x.npy"
    np.save(path, values.astype(np.float32))
    return path


@pytest.mark.parametrize("axes", ["none", "0", "1", "2", "0,2", "0,1,2"])
@pytest.mark.parametrize("keep", ["--keepdims", "--no-keepdims"])
def test_both_formats(command, tmp_path, saved, values, exact_sum, monkeypatch, axes, keep):
    monkeypatch.setattr(plan, "TARGETS", [80])
    dropped = None if axes == "none" else tuple(map(int, axes.split(",")))
    exact = exact_sum(values, dropped)
    if keep == "--no-keepdims":
        exact = exact.squeeze(dropped)
    for kind in "npy", "zarr":
        out = tmp_path / f"y.{kind}"
        ended = command("sum", saved, "--axes", axes, keep, "-o", out)
        assert (ended.code, ended.out, ended.err) == (0, "", "")
        result = np.load(out) if kind == "npy" else zarr.open_array(out, mode="r")[...]
        assert (result.dtype, result.shape) == (np.dtype("f4"), exact.shape)
        assert np.array_equal(result, exact)
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.npy", "y.zarr"]


def test_zarr_outputs_are_complete_and_have_checksums(command, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((4, 100_000), np.float32))
    assert command("l2", tmp_path / "x.npy", "--axes", "0", "-o", tmp_path / "y.zarr").code == 0
    ended = command("l2", tmp_path / "y.zarr")
    assert (ended.code, ended.out, ended.err) == (0, "0.0\n", "")


def test_tiny_blocks_are_joined_in_zarr_outputs(command, tmp_path, saved, monkeypatch):
    monkeypatch.setattr(plan, "TARGETS", [8])
    assert command("sum", saved, "--axes", "2", "-o", tmp_path / "y.zarr").code == 0
    assert zarr.open_array(tmp_path / "y.zarr").nchunks == 1


def test_fortran_order_stays(command, tmp_path, values, exact_sum):
    np.save(tmp_path / "x.npy", np.asfortranarray(values, np.float32))
    assert command("sum", tmp_path / "x.npy", "--axes", "1", "-o", tmp_path / "y.npy").code == 0
    result = np.load(tmp_path / "y.npy")
    assert result.flags.f_contiguous
    assert np.array_equal(result, exact_sum(values, (1,)))


def test_empty_results(command, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 0, 2)))
    for kind in "npy", "zarr":
        assert command("sum", tmp_path / "x.npy", "--axes", "0", "-o", tmp_path / f"y.{kind}").code == 0
    assert np.load(tmp_path / "y.npy").shape == (1, 0, 2)
    assert zarr.open_array(tmp_path / "y.zarr").shape == (1, 0, 2)


def test_json_tells_of_the_output(command, tmp_path, saved):
    import json

    told = json.loads(command("l2", saved, "--axes", "0", "-o", tmp_path / "y.npy", "--json").out)
    assert told["output"] == str(tmp_path / "y.npy")
    assert told["shape"] == [1, 6, 5]
    assert "values" not in told


@pytest.mark.parametrize("kind", ["npy", "zarr"])
def test_an_existing_output_is_refused(command, tmp_path, saved, kind):
    out = tmp_path / f"y.{kind}"
    assert command("sum", saved, "-o", out).code == 0
    first = np.load(out) if kind == "npy" else zarr.open_array(out)[...]
    ended = command("l2", saved, "-o", out)
    assert ended.code == 1
    assert ended.err == f"xpreduce: error: {out}: exists already (--overwrite replaces it)\n"
    assert command("l2", saved, "-o", out, "--overwrite").code == 0
    second = np.load(out) if kind == "npy" else zarr.open_array(out)[...]
    assert first != second
    assert sorted(os.listdir(tmp_path)) == ["x.npy", out.name]


def test_only_outputs_are_overwritten(command, tmp_path, saved):
    folder = tmp_path / "precious.zarr"
    folder.mkdir()
    (folder / "notes.txt").write_text("keep")
    (tmp_path / "y.npy").mkdir()
    for out in folder, tmp_path / "y.npy":
        ended = command("l2", saved, "-o", out, "--overwrite")
        assert ended.code == 1
        assert "it is not overwritten" in ended.err
    assert (folder / "notes.txt").read_text() == "keep"


def test_the_input_is_never_the_output(command, tmp_path, saved, values):
    link, hard = tmp_path / "link.npy", tmp_path / "hard.npy"
    link.symlink_to(saved)
    os.link(saved, hard)
    before = saved.read_bytes()
    for out in saved, link, hard, tmp_path / "sub" / ".." / "x.npy":
        ended = command("l2", saved, "-o", out, "--overwrite")
        assert ended.code == 2
        assert "the output is the input" in ended.err
    assert saved.read_bytes() == before

    store = tmp_path / "s.zarr"
    zarr.create_group(store)
    array = zarr.create_array(store=store, name="a.zarr", shape=(2,), dtype="f4")
    array[:] = 1
    for text in str(store), f"{store}::a.zarr":
        for out in store, store / "b.zarr", store / "a.zarr" / "c.npy":
            assert command("l2", text, "-o", out, "--overwrite").code == 2
    # The other way round: the array's own folder is the input, and the output would replace the group.
    assert command("l2", store / "a.zarr", "-o", store, "--overwrite").code == 2
    assert np.array_equal(zarr.open_array(store, path="a.zarr")[:], [1, 1])


def test_a_link_to_the_output_stays(command, tmp_path, saved):
    assert command("sum", saved, "-o", tmp_path / "y.npy").code == 0
    (tmp_path / "link.npy").symlink_to("y.npy")
    assert command("l2", saved, "-o", tmp_path / "link.npy", "--overwrite").code == 0
    assert (tmp_path / "link.npy").is_symlink()
    assert np.load(tmp_path / "y.npy") > 0


def test_the_folder_must_exist(command, tmp_path, saved):
    ended = command("l2", saved, "-o", tmp_path / "no" / "y.npy")
    assert ended.code == 1
    assert "does not exist" in ended.err


def test_one_that_appears_meanwhile_is_not_replaced(command, tmp_path, saved, monkeypatch):
    from xpreduce.cli import targets

    def sync(path):
        (tmp_path / "y.npy").write_text("another's")

    monkeypatch.setattr(targets, "_sync", sync)
    ended = command("l2", saved, "-o", tmp_path / "y.npy")
    assert ended.code == 1
    assert "exists already" in ended.err
    assert (tmp_path / "y.npy").read_text() == "another's"
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.npy"]


def test_permissions_follow_the_umask(command, tmp_path, saved):
    old = os.umask(0o022)
    try:
        assert command("l2", saved, "-o", tmp_path / "y.npy").code == 0
        assert command("l2", saved, "-o", tmp_path / "y.zarr").code == 0
    finally:
        os.umask(old)
    assert (tmp_path / "y.npy").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "y.zarr").stat().st_mode & 0o777 == 0o755


def test_input_reached_through_a_link_in_its_group(command, tmp_path):
    """An array may lie elsewhere than the group that it is read from, and is still the input."""
    array = zarr.create_array(tmp_path / "real.zarr", shape=(4,), chunks=(2,), dtype="f8")
    array[:] = 7
    zarr.create_group(tmp_path / "group.zarr")
    (tmp_path / "group.zarr" / "arr").symlink_to("../real.zarr")
    ended = command("sum", f"{tmp_path}/group.zarr::arr", "-o", tmp_path / "real.zarr", "--overwrite")
    assert ended.code == 2
    assert "the output is the input" in ended.err
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "real.zarr")[:], [7, 7, 7, 7])


def test_groups_are_not_overwritten(command, tmp_path):
    """A group may hold many arrays: only a single array is replaced."""
    np.save(tmp_path / "x.npy", np.ones(3))
    group = zarr.create_group(tmp_path / "group.zarr")
    group.create_array("a", shape=(2,), dtype="f8")
    ended = command("sum", tmp_path / "x.npy", "-o", tmp_path / "group.zarr", "--overwrite")
    assert ended.code == 1
    assert "is not a single Zarr array, so it is not overwritten" in ended.err
    assert "a" in zarr.open_group(tmp_path / "group.zarr")


def test_closed_streams(tmp_path, saved):
    """With stderr closed a run goes on; with stdout closed a result that can't be printed is an error."""
    line = f'"{sys.executable}" -m xpreduce.cli sum "{saved}"'
    closed = subprocess.run(["sh", "-c", f"{line} 2>&-"], capture_output=True, text=True, timeout=60)
    assert (closed.returncode, len(closed.stdout.split())) == (0, 1)
    closed = subprocess.run(["sh", "-c", f"{line} >&-"], capture_output=True, text=True, timeout=60)
    assert closed.returncode == 1
    assert "standard output is closed" in closed.stderr
