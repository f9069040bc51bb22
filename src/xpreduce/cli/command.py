"""The command line: its arguments and options, read by click into a `Request`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import click

import xpreduce
from xpreduce.cli.errors import UsageError
from xpreduce.dtypes import NUMERIC
from xpreduce.operators import OPERATORS, Operator, find


@dataclass(frozen=True)
class Request:
    """What the user asked for.

    Attributes
    ----------
    operator : Operator
        The reduction.
    input : str
        Path of the input, with ``::name`` for one array of a group.
    axes : tuple of int or None
        The dimensions to reduce; None for all.
    keepdims : bool
        Whether they stay, with length 1.
    dtype : str or None
        The result's dtype; None for the input's.
    output : str or None
        Path of the output; None prints the result.
    overwrite : bool
        Whether an existing output is replaced.
    memory_limit : int or None
        Bytes; None for the default.
    threads : int or None
        Most threads to use; None for the machine's number of cores.
    retries : int
        How often a read that failed is tried again.
    missing_chunks : {"error", "fill"}
        What a Zarr chunk that is not there means.
    json : bool
        Whether the result is printed as JSON.
    quiet : bool
        Whether nothing but errors goes to stderr.
    progress : bool or None
        Whether a progress bar is shown; None on a terminal only.
    """

    operator: Operator
    input: str
    axes: tuple[int, ...] | None
    keepdims: bool
    dtype: str | None
    output: str | None
    overwrite: bool
    memory_limit: int | None
    threads: int | None
    retries: int
    missing_chunks: Literal["error", "fill"]
    json: bool
    quiet: bool
    progress: bool | None


def _operator(context: click.Context, parameter: click.Parameter, text: str) -> Operator:
    try:
        return find(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _axes(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...] | None:
    if text.strip().lower() in ("", "none", "all"):
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of integers such as 0,-1") from None


def _memory(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    from dask.utils import parse_bytes

    try:
        size = int(parse_bytes(text))
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise click.BadParameter(f"{text!r} is not a size such as 512MiB, 2GB or 1000000000")
    return size


_EPILOG = "Operators: " + ", ".join(f"{o.short} ({o.name})" for o in OPERATORS.values()) + "."


@click.command("xpreduce", epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("operator", metavar="OP", callback=_operator)
@click.argument("input", metavar="INPUT")
@click.option(
    "--axes",
    default="none",
    metavar="LIST",
    callback=_axes,
    help="Dimensions to reduce, such as 0,-1; 'none', as if not given, is all of them.",
)
@click.option(
    "--keepdims/--no-keepdims", default=True, help="Keep reduced dimensions, with length 1 (default)."
)
@click.option(
    "--dtype", type=click.Choice(NUMERIC), help="The result's dtype, rounded to once; the input's by default."
)
@click.option(
    "-o", "--output", metavar="OUT", help="Write the result to a .npy or .zarr instead of printing it."
)
@click.option("--overwrite", is_flag=True, help="Replace OUT if it exists.")
@click.option(
    "--memory-limit",
    metavar="SIZE",
    callback=_memory,
    help="Most memory to use, such as 512MiB; half of what is available by default.",
)
@click.option(
    "--threads", type=click.IntRange(min=1), help="Most threads to use; the number of cores by default."
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How often a read that fails with an I/O error is tried again.",
)
@click.option(
    "--missing-chunks",
    type=click.Choice(["error", "fill"]),
    default="error",
    show_default=True,
    help="What a chunk that is not in the Zarr store means: an error, or the fill value.",
)
@click.option("--json", is_flag=True, help="Print a JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="Nothing but errors on stderr.")
@click.option("--progress/--no-progress", default=None, help="Show a progress bar; on a terminal by default.")
@click.option("--debug", is_flag=True, help="Show the traceback of an unexpected error.")
@click.version_option(xpreduce.__version__, prog_name="xpreduce")
def command(debug: bool, **options: Any) -> Request:
    """Reduce the array INPUT with OP and print the result, or write it to OUT.

    INPUT is a .npy file or a Zarr store (a directory or a .zip, version 2 or 3), and may be larger than
    memory; store.zarr::path/to/array names one array of a group.
    """
    return Request(**options)


def parse(arguments: Sequence[str]) -> Request | int:
    """Read the arguments; an int is an exit code: help or the version was shown."""
    try:
        parsed = command.main(list(arguments), prog_name="xpreduce", standalone_mode=False)
    except click.UsageError as error:
        raise UsageError(f"{error.format_message()} (see xpreduce --help)") from None
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None
    except click.Abort:
        return 1
    return parsed if isinstance(parsed, Request) else int(parsed or 0)
