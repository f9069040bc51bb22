"""The errors that the command tells in one line, and the exit code of each."""

from __future__ import annotations

#: Exit codes; an interrupted run exits with 128 plus the signal's number (130 for Ctrl-C).
DONE, FAILED, USAGE = 0, 1, 2

INSTALL = "pip install 'xpreduce[cli,storage]'"


class CommandError(Exception):
    """The data, the machine or the run is at fault; the text is the whole message."""

    exit_code = FAILED


class UsageError(CommandError):
    """The arguments are at fault."""

    exit_code = USAGE


class ReadError(CommandError):
    """A block of the input could not be read; names the file and the block."""


class WriteError(CommandError):
    """The output could not be written."""


class CancelledError(Exception):
    """A task was still waiting when the run was given up; never seen by the user."""


def missing_package(error: ImportError) -> str:
    """Return the one line for a package that is not there or does not load."""
    package = (error.name or "a package").partition(".")[0]
    if isinstance(error, ModuleNotFoundError):
        return f"{package} is not installed: {INSTALL}"
    return f"{package} does not load ({reason(error)}): {INSTALL}"


def reason(error: BaseException) -> str:
    """Return an exception's own words on one line, or its type's name where it has none."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__
