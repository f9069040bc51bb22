"""Signals: Ctrl-C, SIGTERM and SIGHUP end a run in the same orderly way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# SIGTERM and SIGHUP kill a process at once unless handled, and its temporary output would stay.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupted(BaseException):
    """The run was ended by a signal; no error, so not an Exception, like KeyboardInterrupt."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


class _State:
    """Whether signals are ignored for the moment, and whether the run has ended."""

    ignored = 0
    ended = False


def _handle(number: int, frame: FrameType | None) -> None:
    # An impatient second one must not stop the cleaning up.
    if not _State.ended and not _State.ignored:
        _State.ended = True
        raise Interrupted(number)


@contextmanager
def interruptible(*, restore: bool) -> Iterator[None]:
    """Within it, the first of the signals raises `Interrupted` in the main thread, and others do nothing.

    A signal that the caller of the process chose to ignore (``nohup``, a background job) stays ignored.

    Parameters
    ----------
    restore : bool
        Whether the signals do afterwards what they did before. Where the process is about to end they
        are ignored instead: a second one would change its exit code.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = {number: signal.getsignal(number) for number in _SIGNALS}
    taken = [number for number in _SIGNALS if old[number] != signal.SIG_IGN]
    _State.ignored, _State.ended = 0, False
    for number in taken:
        signal.signal(number, _handle)
    try:
        yield
    finally:
        _State.ended = True
        for number in taken:
            # Python's own end would otherwise make the signals deadly again.
            signal.signal(number, old[number] if restore else signal.SIG_IGN)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore the signals: for the final rename, after which the run is done, and for cleaning up."""
    _State.ignored += 1
    try:
        yield
    finally:
        _State.ignored -= 1
