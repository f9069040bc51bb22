"""The progress bar: how much of the input was read, on stderr."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from xpreduce.cli.sources import Source


@contextmanager
def progress(source: Source, total: int, *, shown: bool | None) -> Iterator[None]:
    """Show a bar of the bytes read while in it.

    Parameters
    ----------
    source : Source
        Tells of each block that was read.
    total : int
        Bytes of the whole input.
    shown : bool or None
        Whether to show it; None: only if stderr is a terminal.
    """
    if shown is None:
        shown = sys.stderr.isatty()
    if not shown:
        yield
        return
    from tqdm import tqdm

    lock = threading.Lock()
    with tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr) as bar:

        def on_read(count: int) -> None:
            with lock:
                bar.update(count)

        source.on_read = on_read
        yield
