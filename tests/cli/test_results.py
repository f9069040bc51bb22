"""What is printed: scalars, small arrays, JSON; and that nothing else reaches stdout."""

from __future__ import annotations

import json

import numpy as np
import pytest


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves an array and returns its path."""

    def save(array):
        np.save(tmp_path / "x.npy", array)
        return tmp_path / "x.npy"

    return save


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([0.1], np.float64), "0.1"),
        (np.array([1 / 3, 2 / 3], np.float64), "0.7453559924999299"),
        (np.array([0.1], np.float32), "0.1"),
        (np.array([[50000, 50000]], np.int32), "70710"),
        (np.array([200] * 4, np.float16), "400.0"),
        (np.array([2**64 - 1], np.uint64), "18446744073709551615"),
        (np.array(-3.5), "3.5"),
        (np.array([np.nan, np.inf]), "nan"),
        (np.array([-np.inf]), "inf"),
        (np.zeros((0, 3), np.float32), "0.0"),
    ],
)
def test_scalars_have_all_digits(command, saved, array, text):
    for keep in "--keepdims", "--no-keepdims":
        ended = command("l2", saved(array), keep)
        assert (ended.code, ended.out, ended.err) == (0, f"{text}\n", "")


def test_arrays_print_as_numpy_text(command, saved):
    path = saved(np.array([[3.0, 4.0], [5.0, 12.0]]))
    assert command("l2", path, "--axes", "1").out == "[[ 5.],\n [13.]]\n"
    assert command("l2", path, "--axes", "-1", "--no-keepdims").out == "[ 5., 13.]\n"
    assert command("sum", path, "--axes=0,1", "--no-keepdims").out == "24.0\n"
    assert command("sum", path, "--axes", "none").out == "24.0\n"
    assert command("sum", saved(np.zeros((0, 3))), "--axes", "1").out == "[]\n"


def test_dtype(command, saved, tmp_path):
    """Bytes have an L2 norm in another dtype, as the error for them says."""
    path = saved(np.array([[200, 200], [0, 255]], np.uint8))
    refused = command("l2", path)
    assert refused.code == 1
    assert 'pass dtype="int32"' in refused.err
    assert command("l2", path, "--axes", "1", "--no-keepdims", "--dtype", "int32").out == "[282, 255]\n"
    assert json.loads(command("mean", path, "--dtype", "float32", "--json").out)["dtype"] == "float32"
    written = tmp_path / "norms.npy"
    assert command("l2", path, "--axes", "1", "--dtype", "float64", "-o", written).code == 0
    np.testing.assert_array_equal(np.load(written), np.array([[80000.0], [65025.0]]) ** 0.5)


def test_json(command, saved):
    path = saved(np.array([[0.1, 0.2], [0.3, 0.4]], np.float32))
    scalar = json.loads(command("sum", path, "--json").out)
    assert scalar == {
        "operator": "ReduceSum",
        "input": str(path),
        "axes": [0, 1],
        "keepdims": True,
        "dtype": "float32",
        "shape": [1, 1],
        "value": 1.0,
    }
    array = json.loads(command("l2", path, "--json", "--axes", "-1", "--no-keepdims").out)
    assert (array["axes"], array["shape"]) == ([1], [2])
    assert array["values"] == [0.2236068, 0.5]
    assert json.loads(command("sum", path, "--json", "--axes", "0").out)["values"] == [[0.4, 0.6]]


def test_json_is_strict_and_loses_no_digit(command, saved):
    def refuse(name):
        raise AssertionError(name)

    path = saved(np.array([[np.nan, 1], [np.inf, 1], [-np.inf, 1]]))
    out = command("sum", path, "--json", "--axes", "1", "--no-keepdims").out
    assert json.loads(out, parse_constant=refuse)["values"] == ["NaN", "Infinity", "-Infinity"]
    big = saved(np.array([2**63, 2**62 + 1], np.uint64))
    assert json.loads(command("sum", big, "--json").out)["value"] == 2**63 + 2**62 + 1


def test_many_values_are_refused_before_computing(command, saved, monkeypatch):
    from xpreduce.cli.npy import NpySource

    monkeypatch.setattr(NpySource, "read", None)
    ended = command("l2", saved(np.zeros((1001, 2))), "--axes", "1")
    assert ended.code == 2
    assert "1001 values, too many to print: write it with -o" in ended.err


def test_a_full_stdout_is_one_line(process, saved, tmp_path):
    before = "import sys; sys.stdout = open('/dev/full', 'w')"
    ended = process("l2", saved(np.ones(3)), before=before)
    assert (ended.code, ended.err) == (1, "xpreduce: error: standard output: No space left on device\n")


def test_progress_goes_to_stderr_if_forced(process, saved):
    path = saved(np.ones(3))
    assert process("sum", path).err == ""
    shown = process("sum", path, "--progress")
    assert "100%" in shown.err
    assert shown.out == "3.0\n"
    assert process("sum", path, "--progress", "-q").err == ""
    assert process("sum", path, "--no-progress").err == ""
