"""Signals: exit code 128 + n, nothing of the output left, and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import numpy as np
import pytest
import zarr

# Signals may be ignored where the tests themselves run in the background. Slow reads leave time to send one.
SLOW = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from xpreduce.cli import npy, plan
plan.TARGETS = [4000]
read = npy.NpySource.read
def slow(self, slices):
    time.sleep(0.05)
    return read(self, slices)
npy.NpySource.read = slow
"""


def start(launcher, tmp_path, out, *more, before=SLOW):
    np.save(tmp_path / "x.npy", np.ones((1000, 1000), np.float32))
    return subprocess.Popen(
        [*launcher(before), "l2", str(tmp_path / "x.npy"), "--axes", "1", "-o", str(out), *more],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_part(tmp_path):
    deadline = time.monotonic() + 60
    while not any(name.endswith(".part") for name in os.listdir(tmp_path)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.3)


@pytest.mark.parametrize("kind", ["npy", "zarr"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_in_the_middle(launcher, tmp_path, leftovers, kind, name):
    number = getattr(signal, name)
    with start(launcher, tmp_path, tmp_path / f"y.{kind}") as running:
        wait_for_part(tmp_path)
        running.send_signal(number)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (128 + number, "", "xpreduce: interrupted\n")
    assert leftovers() == ["x.npy"]


def test_impatience(launcher, tmp_path, leftovers):
    with start(launcher, tmp_path, tmp_path / "y.zarr", "--progress") as running:
        wait_for_part(tmp_path)
        for _ in range(5):
            running.send_signal(signal.SIGINT)
            time.sleep(0.01)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in err
    assert leftovers() == ["x.npy"]


def test_an_interrupt_keeps_what_was_to_be_replaced(launcher, tmp_path, leftovers):
    zarr.create_array(store=tmp_path / "y.zarr", shape=(3,), dtype="f4")[:] = 5
    with start(launcher, tmp_path, tmp_path / "y.zarr", "--overwrite") as running:
        wait_for_part(tmp_path)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert leftovers() == ["x.npy", "y.zarr"]
    assert np.array_equal(zarr.open_array(tmp_path / "y.zarr")[:], [5, 5, 5])


def test_signals_wait_for_the_rename(launcher, tmp_path, leftovers):
    before = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from xpreduce.cli import targets
rename = targets.Target._rename
def interrupted(self):
    os.kill(os.getpid(), signal.SIGINT)
    rename(self)
targets.Target._rename = interrupted
"""
    with start(launcher, tmp_path, tmp_path / "y.npy", before=before) as running:
        _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (0, "")
    assert leftovers() == ["x.npy", "y.npy"]


def test_an_ignored_signal_stays_ignored(launcher, tmp_path, leftovers):
    before = SLOW.replace("signal.default_int_handler", "signal.SIG_IGN").replace("[4000]", "[400_000]")
    with start(launcher, tmp_path, tmp_path / "y.npy", before=before) as running:
        wait_for_part(tmp_path)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == 0
    assert leftovers() == ["x.npy", "y.npy"]
