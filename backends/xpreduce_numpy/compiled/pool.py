"""The threads that kernels run in: the caller's, and others that are kept."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_workers = 0


def run(tasks: Sequence[Callable[[], Any]], threads: int) -> list[Any]:
    """Run tasks in up to `threads` threads, the caller's among them; return what they return, in order.

    Tasks see the caller's context variables, such as NumPy's treatment of floating-point errors. What the
    first failing task raises is raised once all threads have stopped.
    """
    helpers = min(threads, len(tasks)) - 1
    if helpers < 1:
        return [task() for task in tasks]
    results: list[Any] = [None] * len(tasks)
    left = deque(range(len(tasks)))
    failed = threading.Event()

    def work() -> None:
        while not failed.is_set():
            try:
                index = left.popleft()
            except IndexError:
                return
            try:
                results[index] = tasks[index]()
            except BaseException:
                failed.set()
                raise

    futures: list[Future[None]] = []
    # Where no thread can be had any more, as while the interpreter ends, the caller does it all.
    with suppress(RuntimeError):
        while len(futures) < helpers:
            futures.append(_executor(helpers).submit(copy_context().run, work))
    try:
        work()
    except BaseException:
        failed.set()
        raise
    finally:
        errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None:
            raise error
    return results


def _executor(workers: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # impossible once the main thread has ended

    global _pool, _workers
    with _lock:
        if _pool is None or _workers < workers:
            # Threads of a pool that is let go end once nobody submits to it any more.
            _pool, _workers = ThreadPoolExecutor(workers, "xpreduce"), workers
        return _pool


def _after_fork() -> None:
    """Forget the parent's threads, which a forked process does not have."""
    global _lock, _pool, _workers
    _lock, _pool, _workers = threading.Lock(), None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
