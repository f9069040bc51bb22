"""Reduce a 1 GiB Zarr array with the command ``xpreduce`` in 512 MiB of memory, and check every value.

The data set x[t, y, x] = c[y, x] * (1, 2, 4, 10)[t % 4] is made once, chunk by chunk, in the folder data/.
Four steps in a row add (1 + 4 + 16 + 100) c² = 121 c² to a sum of squares, so the norm along t is exactly
11 * |c| * sqrt(steps / 4), which is 176 * |c| for 1024 steps: a whole number for each of 262,144 cells.

Run it with ``python docs/examples/first_reduction.py``; ``--mib 16`` takes a smaller data set.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import zarr

SIDE = 512  # one step is SIDE * SIDE float32 values: exactly 1 MiB
STEPS_PER_CHUNK = 16
FACTORS = np.array([1, 2, 4, 10], np.float32)
LIMIT = 512 * 2**20


def cells() -> np.ndarray:
    """Return c: whole numbers of both signs, no two of the same size, in no visible order."""
    index = np.arange(SIDE * SIDE)
    # An odd factor modulo a power of two visits every number once.
    size = index * 48271 % (SIDE * SIDE) + 1
    return np.where(index % 2, -size, size).reshape(SIDE, SIDE).astype(np.float32)


def chunk() -> np.ndarray:
    """Return the values of one chunk; as its length is a multiple of 4 steps, all chunks are the same."""
    return cells() * FACTORS[np.arange(STEPS_PER_CHUNK) % 4, None, None]


def make(path: Path, steps: int) -> None:
    """Write the data set to a temporary name and rename it once complete."""
    part = path.with_name(f".{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    array = zarr.create_array(
        store=part,
        shape=(steps, SIDE, SIDE),
        chunks=(STEPS_PER_CHUNK, SIDE, SIDE),
        dtype="float32",
        compressors=zarr.codecs.ZstdCodec(level=1, checksum=True),
    )
    values = chunk()
    for start in range(0, steps, STEPS_PER_CHUNK):
        array[start : start + STEPS_PER_CHUNK] = values
    part.rename(path)


def verify(path: Path, steps: int) -> None:
    """Stop if what lies there is another data set; damage inside it is for the checksums to find."""
    array = zarr.open_array(path, mode="r")
    complete = array.shape == (steps, SIDE, SIDE) and array.nchunks_initialized == array.nchunks
    if not complete or not np.array_equal(array[-STEPS_PER_CHUNK:], chunk()):
        sys.exit(f"{path} is not the data set of this example; remove it to have it made again")


def measured(command: list[str]) -> tuple[float, int, str]:
    """Run a command; return its seconds, its peak memory in bytes, and how that was measured."""
    try:
        import psutil
    except ImportError:
        psutil = None
    peak = 0
    start = time.perf_counter()
    with subprocess.Popen(command) as process:
        while psutil and process.poll() is None:
            # The command and all that it started, together.
            try:
                root = psutil.Process(process.pid)
                tree = [root, *root.children(recursive=True)]
                peak = max(peak, sum(member.memory_info().rss for member in tree))
            except psutil.Error:  # it has just ended
                break
            time.sleep(0.02)
    seconds = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"the command failed with exit code {process.returncode}")
    how = "sampled by psutil over the process tree"
    if os.name == "posix":
        # The system's own high-water mark misses no moment, but knows only the largest single process.
        import resource

        mark = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        mark *= 1 if sys.platform == "darwin" else 1024
        if mark >= peak:
            peak, how = mark, "the largest process's high-water mark, from getrusage"
    return seconds, peak, how


def xpreduce() -> list[str]:
    """Return the command: the one installed beside this Python, or else the one on the path."""
    beside = shutil.which("xpreduce", path=str(Path(sys.executable).parent))
    script = beside or shutil.which("xpreduce")
    return [script] if script else [sys.executable, "-m", "xpreduce.cli"]


def main() -> None:
    """Make or verify the data, reduce it, check the result, and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mib", type=int, choices=(16, 64, 256, 1024), default=1024, help="size of the data set"
    )
    parser.add_argument("--folder", type=Path, default=Path("data"), help="where the data set is kept")
    options = parser.parse_args()
    steps = options.mib

    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / f"first_reduction_{options.mib}.zarr"
    if path.exists():
        verify(path, steps)
    else:
        make(path, steps)

    output = options.folder / f"first_reduction_{options.mib}_l2.npy"
    command = [*xpreduce(), "l2", str(path), "--axes", "0", "--memory-limit", f"{LIMIT // 2**20}MiB"]
    seconds, peak, how = measured([*command, "-o", str(output), "--overwrite"])

    result = np.load(output)
    expected = 11 * math.isqrt(steps // 4) * np.abs(cells().astype(np.int64))
    same_kind = result.shape == (1, SIDE, SIDE) and result.dtype == np.float32
    wrong = np.count_nonzero(result[0].astype(np.float64) != expected) if same_kind else expected.size

    gib = steps * SIDE * SIDE * 4 / 2**30
    print(f"input        {path}: {gib:g} GiB of float32, zstd with checksums")
    print(f"wrong values {wrong} of {expected.size}")
    print(f"read rate    {gib / seconds:.2f} GiB/s ({seconds:.2f} s, Python's start included)")
    print(f"peak memory  {peak / 2**20:.0f} MiB of {LIMIT // 2**20} MiB allowed ({how})")
    if wrong or peak > LIMIT:
        sys.exit("failed: " + ("wrong values" if wrong else "more memory than allowed"))


if __name__ == "__main__":
    main()
