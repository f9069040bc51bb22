"""Dask reductions on real worker processes: some die, some chunks fail, and runs are cancelled."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import xpreduce

distributed = pytest.importorskip("distributed")

PATIENCE = 60  # seconds for what takes less than one on an idle machine
OPS = ("l1", "l2", "sum", "sum_square", "mean", "prod", "max", "min", "log_sum_exp")

Fault = Callable[[tuple[int, ...]], None]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster of two worker processes, which start again when they die."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=None, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def numbers(dtype: str = "int64") -> np.ndarray[Any, Any]:
    return np.arange(64 * 20).reshape(64, 20).astype(dtype)


def with_fault(fault: Fault) -> Any:
    """Return `numbers` in 16 chunks, made by tasks of which each first calls `fault` with its place."""
    values = numbers()

    def block(block_info: Any) -> Any:
        location = block_info[None]["array-location"]
        fault(block_info[None]["chunk-location"])
        return values[tuple(slice(*part) for part in location)]

    return da.map_blocks(block, chunks=((4,) * 16, (20,)), dtype="int64", meta=np.empty((0, 0), "int64"))


def check(got: Any) -> None:
    """Assert that the sums of `numbers` and of their squares are exact."""
    values = numbers().tolist()
    assert got[0] == sum(map(sum, values))
    assert got[1] == sum(v * v for row in values for v in row)


def sums(x: Any) -> list[Any]:
    return [xpreduce.reduce_sum(x, keepdims=False), xpreduce.reduce_sum_square(x, keepdims=False)]


def wait_for(what: Callable[[], bool]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


@pytest.mark.parametrize("axes", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_same_as_threads(client: Any, dtype: str, axes: Any) -> None:
    """Threads and processes give the same bits: the tree is the same."""
    values = np.random.default_rng(0).standard_normal((60, 50))
    x = da.from_array((values * 100).astype(dtype), chunks=(7, 9))
    lazy = [*xpreduce.reduce_many(OPS, x, axes), xpreduce.reduce_l2(x, axes), xpreduce.reduce_mean(x, axes)]
    for got, want in zip(dask.compute(*lazy), dask.compute(*lazy, scheduler="threads"), strict=True):
        assert got.dtype == want.dtype
        assert got.tobytes() == want.tobytes()


def test_worker_killed(client: Any, tmp_path: Path) -> None:
    """A worker that is killed in the middle of a run starts again, and its chunks are computed again."""
    killed = tmp_path / "killed"

    def fault(place: tuple[int, ...]) -> None:
        import os
        import signal

        if place == (7, 0) and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    check(dask.compute(*sums(with_fault(fault))))
    assert killed.exists()


def test_worker_lost(client: Any, tmp_path: Path) -> None:
    """A worker that dies and does not come back leaves its chunks to the others."""
    lost = tmp_path / "lost"
    address = client.scheduler.address
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address]
    options = ["--no-nanny", "--name", "mortal", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
    worker = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: "mortal" in {each["name"] for each in workers(client)})

        def fault(place: tuple[int, ...]) -> None:
            import os
            import signal
            import time

            import distributed

            if distributed.get_worker().name == "mortal":
                lost.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            while not lost.exists():  # the others leave it a chunk
                time.sleep(0.02)

        check(dask.compute(*sums(with_fault(fault))))
        assert worker.wait(PATIENCE) != 0
        wait_for(lambda: "mortal" not in {each["name"] for each in workers(client)})
    finally:
        worker.kill()
        worker.wait()


def workers(client: Any) -> list[Any]:
    return list(client.scheduler_info(n_workers=-1)["workers"].values())


def test_chunk_fails_twice(client: Any, tmp_path: Path) -> None:
    """A chunk that fails twice costs two retries, and the whole reduction where there are none."""

    def fault(place: tuple[int, ...]) -> None:
        if place == (3, 0) and len(list(tmp_path.iterdir())) < 2:
            (tmp_path / str(len(list(tmp_path.iterdir())))).touch()
            raise OSError("chunk (3, 0) can't be read")

    lazy = sums(with_fault(fault))
    check(dask.compute(*lazy, retries=2))
    assert len(list(tmp_path.iterdir())) == 2
    for mark in tmp_path.iterdir():
        mark.unlink()
    with pytest.raises(OSError, match=r"chunk \(3, 0\) can't be read"):
        dask.compute(*lazy)


def test_cancelled(client: Any, tmp_path: Path) -> None:
    """A run that is cancelled stops, and the cluster does what comes next."""
    started, go_on = tmp_path / "started", tmp_path / "go_on"

    def fault(place: tuple[int, ...]) -> None:
        import time

        started.touch()
        end = time.monotonic() + 60
        while not go_on.exists() and time.monotonic() < end:
            time.sleep(0.02)

    future = client.compute(sums(with_fault(fault))[0])
    wait_for(started.exists)
    future.cancel()
    assert future.cancelled()
    go_on.touch()  # what runs already can't be stopped
    with pytest.raises(distributed.client.FutureCancelledError):
        future.result(timeout=PATIENCE)
    check(dask.compute(*sums(with_fault(lambda place: None))))


def test_workers_are_processes(client: Any) -> None:
    pids = set(client.run(os.getpid).values())
    assert len(pids) == 2
    assert os.getpid() not in pids
