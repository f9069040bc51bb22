"""The command ``xpreduce``: reduce a file that may be larger than memory.

Needs click and dask, tqdm for a progress bar, zarr for Zarr stores: ``pip install 'xpreduce[cli,storage]'``.
None of them is imported before `main` runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from xpreduce.cli.errors import FAILED, CommandError, missing_package, reason
from xpreduce.cli.interrupts import Interrupted, interruptible

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the command's name; ``sys.argv[1:]`` if not given.

    Returns
    -------
    int
        0 done, 1 an error in the data or while running, 2 wrong usage, 128 + n ended by signal n.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.stderr is None:  # closed; print would write to stdout instead
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # open until the process ends
    try:
        with interruptible(restore=argv is not None):
            return _run(arguments)
    except Interrupted as interrupt:
        _say("interrupted")
        return 128 + interrupt.signal
    except CommandError as error:
        _say(f"error: {error}")
        return error.exit_code
    except ImportError as error:
        if "--debug" in arguments:
            raise
        _say(f"error: {missing_package(error)}")
        return FAILED
    except MemoryError:
        _say("error: out of memory; give a lower --memory-limit or fewer --threads")
        return FAILED
    except Exception as error:
        if "--debug" in arguments:
            raise
        _say(f"error: {type(error).__name__}: {reason(error)} (--debug shows where)")
        return FAILED


def _run(arguments: list[str]) -> int:
    from xpreduce.cli.command import parse

    request = parse(arguments)
    if isinstance(request, int):
        return request

    from xpreduce.cli.run import run

    run(request)
    return 0


def _say(message: str) -> None:
    with suppress(OSError):  # a message that nobody can read must not end the run
        print(f"xpreduce: {message}", file=sys.stderr, flush=True)
