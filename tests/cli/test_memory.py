"""The memory limit: what is planned for it, and that a real run stays under it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import zarr
from zarr.codecs import ZstdCodec

from xpreduce.cli import memory, plan
from xpreduce.cli.errors import CommandError

MIB = 2**20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's own accounts of memory")


def peak_of(command):
    """Run a command that begins with `TELL`; return its exit code, its stderr and its peak of memory."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    err, _, mark = done.stderr.rpartition("VmHWM:")
    return done.returncode, err, int(mark.split()[0]) * 1024


TELL = """
import atexit, sys
def tell():
    lines = open("/proc/self/status").read().splitlines()
    print(*(line for line in lines if line.startswith("VmHWM")), file=sys.stderr)
atexit.register(tell)
"""


def layout(shape=(1024, 512, 512), *, unit=(1, 1, 1), extra=0, order=(2, 1, 0), axes=(0,)):
    return plan.Layout(shape, 4, unit, lambda block: extra, order, axes, 4)


@pytest.mark.parametrize("limit", [128, 192, 256, 512, 4096])
@pytest.mark.parametrize("axes", [(0,), (1, 2), (0, 1, 2), (2,)])
def test_plans_fit(limit, axes):
    chosen = plan.choose(layout(axes=axes), 8, limit * MIB, 80 * MIB)
    assert chosen.bytes <= limit * MIB
    assert np.prod(chosen.block) * 4 * chosen.threads <= limit * MIB


def test_more_memory_never_means_fewer_threads():
    threads = [plan.choose(layout(), 8, limit * MIB, 80 * MIB).threads for limit in (110, 128, 192, 256, 512)]
    assert threads == sorted(threads)
    assert threads[-1] == 8


def test_blocks_are_multiples_of_stored_chunks():
    chosen = plan.choose(layout(unit=(10, 100, 100), order=()), 2, None, 0)
    assert chosen.block == (410, 100, 100)
    wide = plan.choose(layout(unit=(10, 100, 100), order=(), axes=(2,)), 2, None, 0)
    assert wide.block == (10, 512, 512) or wide.block[2] == 512


def test_too_low_a_limit_says_what_is_needed():
    with pytest.raises(CommandError, match="with one thread and the smallest blocks this takes") as caught:
        plan.choose(layout(unit=(1024, 512, 512), order=(), extra=2**31), 4, 512 * MIB, 80 * MIB)
    needed = int(str(caught.value).split("takes ")[1].split(" MiB")[0])
    assert plan.choose(layout(unit=(1024, 512, 512), order=(), extra=2**31), 4, needed * MIB, 80 * MIB)


def test_available_memory_is_known():
    assert 2**20 < memory.available() < 2**50
    assert 0 < memory.default_limit() <= memory.available()
    assert 2**20 < memory.resident() < 2**40


def test_too_low_a_limit_is_told_before_reading(command, tmp_path, monkeypatch):
    from xpreduce.cli.npy import NpySource

    monkeypatch.setattr(NpySource, "read", None)
    np.save(tmp_path / "x.npy", np.ones(1000))
    ended = command("l2", tmp_path / "x.npy", "--memory-limit", "1MiB")
    assert ended.code == 1
    assert "a memory limit of 1 MiB is too low" in ended.err


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """256 MiB, of which 16 MiB are incompressible, as .npy and as Zarr of both versions."""
    folder = tmp_path_factory.mktemp("data")
    part = np.random.default_rng(0).integers(-(2**20), 2**20, (16, 512, 512)).astype(np.float32)
    with open(folder / "x.npy", "wb") as file:
        fields = {"descr": "<f4", "fortran_order": False, "shape": (256, 512, 512)}
        np.lib.format.write_array_header_1_0(file, fields)
        for _ in range(16):
            part.tofile(file)
    settings = {
        "v3.zarr": {"compressors": ZstdCodec(level=0, checksum=True)},
        "v3raw.zarr": {"compressors": None},
        "v2.zarr": {"zarr_format": 2},
    }
    for name, more in settings.items():
        array = zarr.create_array(
            store=folder / name, shape=(256, 512, 512), chunks=(16, 512, 512), dtype="f4", **more
        )
        for start in range(0, 256, 16):
            array[start : start + 16] = part
    return folder


@pytest.mark.parametrize(
    ("name", "axes", "limit"),
    [
        ("x.npy", "0", 160),
        ("x.npy", "none", 256),
        ("v3.zarr", "0", 384),
        ("v3.zarr", "1,2", 256),
        ("v3raw.zarr", "none", 256),
        ("v2.zarr", "0", 512),
    ],
)
def test_a_real_run_stays_under_the_limit(launcher, data, tmp_path, name, axes, limit):
    out = str(tmp_path / "y.npy")
    arguments = ["l2", str(data / name), "--axes", axes, "--memory-limit", f"{limit}MiB", "-q", "-o", out]
    code, err, peak = peak_of([*launcher(TELL), *arguments])
    assert (code, err) == (0, "")
    assert peak <= limit * MIB


def test_a_gibibyte_under_256_mib(launcher, tmp_path):
    path, out = tmp_path / "x.npy", str(tmp_path / "y.npy")
    with open(path, "wb") as file:
        fields = {"descr": "<f4", "fortran_order": False, "shape": (1024, 512, 512)}
        np.lib.format.write_array_header_1_0(file, fields)
        file.truncate(file.tell() + 2**30)  # zeros that take no room on the disk
    arguments = ["sum", str(path), "--axes", "0", "--memory-limit", "256MiB", "-o", out]
    code, err, peak = peak_of([*launcher(TELL), *arguments])
    assert (code, err) == (0, "")
    assert peak <= 256 * MIB
    assert not np.load(out).any()
