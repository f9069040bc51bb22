"""The arguments: help, version, and what is wrong with them; exit codes 0, 1 and 2."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import xpreduce
from xpreduce.operators import OPERATORS


def test_version(command):
    ended = command("--version")
    assert (ended.code, ended.out) == (0, f"xpreduce, version {xpreduce.__version__}\n")


def test_help_names_every_operator(command):
    ended = command("--help")
    assert ended.code == 0
    for operator in OPERATORS.values():
        assert operator.short in ended.out
        assert operator.name in ended.out


@pytest.mark.parametrize("name", ["l2", "L2", "ReduceL2", "reducel2"])
def test_operators_in_any_case(command, tmp_path, name):
    np.save(tmp_path / "x.npy", np.array([3.0, 4.0]))
    assert command(name, tmp_path / "x.npy").out == "5.0\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing argument 'OP'"),
        (["l3", "x.npy"], "ReduceL2 (l2)"),
        (["l2"], "Missing argument 'INPUT'"),
        (["l2", "x.npy", "--axes", "a"], "'a' is not a list of integers"),
        (["l2", "x.npy", "--axes", "2"], "axis 2"),
        (["l2", "x.npy", "--axes", "0,-2"], "twice"),
        (["l2", "x.npy", "--memory-limit", "lots"], "'lots' is not a size"),
        (["l2", "x.npy", "--memory-limit", "0"], "'0' is not a size"),
        (["l2", "x.npy", "--memory-limit", "-5MB"], "'-5MB' is not a size"),
        (["l2", "x.npy", "--threads", "0"], "--threads"),
        (["l2", "x.npy", "--retries", "-1"], "--retries"),
        (["l2", "x.npy", "--missing-chunks", "guess"], "--missing-chunks"),
        (["l2", "x.npy", "--dtype", "int8"], "--dtype"),
        (["l2", "x.npy", "--nonsense"], "--nonsense"),
        (["l2", "x.npy", "-o", "y.txt"], ".npy or .zarr"),
    ],
)
def test_wrong_usage(command, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.ones((2, 3), np.float32))
    ended = command(*arguments)
    assert ended.code == 2
    assert says in ended.err
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("xpreduce: error: ")
    assert not ended.out


def test_exit_codes_of_the_process(process, tmp_path):
    np.save(tmp_path / "x.npy", np.array([3.0, 4.0]))
    done = process("l2", tmp_path / "x.npy")
    assert (done.code, done.out, done.err) == (0, "5.0\n", "")
    missing = process("l2", tmp_path / "y.npy")
    assert (missing.code, missing.out) == (1, "")
    assert missing.err == f"xpreduce: error: {tmp_path / 'y.npy'}: no such file or directory\n"
    assert process("l2").code == 2


def test_addresses_are_no_files(command):
    ended = command("l2", "s3://bucket/x.zarr")
    assert ended.code == 1
    assert "only local files are read: da.from_zarr(url) opens others" in ended.err


def test_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "xpreduce.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("xpreduce, version")


def test_the_library_imports_nothing_of_it():
    code = "import sys, xpreduce; print(*{'click', 'dask', 'zarr', 'tqdm', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


@pytest.mark.parametrize(
    ("package", "kind"), [("click", "npy"), ("dask", "npy"), ("zarr", "zarr"), ("tqdm", "npy")]
)
def test_missing_packages_are_one_line(process, tmp_path, package, kind):
    np.save(tmp_path / "x.npy", np.ones(3))
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / "zarr.json").write_text("{}")
    block = f"import sys; sys.modules[{package!r}] = None"
    ended = process("l2", tmp_path / f"x.{kind}", "--progress", before=block)
    assert ended.code == 1
    assert f"{package} is not installed: pip install 'xpreduce[cli,storage]'" in ended.err
    assert "Traceback" not in ended.err
    assert ended.err.startswith("xpreduce: error: ")


def test_unexpected_errors_show_no_traceback(process, tmp_path):
    np.save(tmp_path / "x.npy", np.ones(3))
    broken = "from xpreduce.cli import lazy\ndef fail(*_): raise KeyError('oops')\nlazy.rehearse = fail"
    ended = process("l2", tmp_path / "x.npy", before=broken)
    assert ended.code == 1
    assert ended.err == "xpreduce: error: KeyError: 'oops' (--debug shows where)\n"
    assert "Traceback" in process("l2", tmp_path / "x.npy", "--debug", before=broken).err
