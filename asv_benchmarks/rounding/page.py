"""The page of the report, written from its figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .formats import FLOATS
from .inputs import ALL, FLOAT_INPUTS, INTEGER_INPUTS, LENGTHS, LONG, Inputs
from .libraries import LIBRARIES, OURS

NOTHING = "\N{EN DASH}"

HEAD = """\
# How exact the results are

<!-- Written by asv_benchmarks/accuracy.py from accuracy.json: change those. -->

xpreduce (with NumPy arrays), NumPy, PyTorch, ONNX Runtime and the reference evaluator of ONNX reduce the
same random and adversarial inputs, at least {reductions} rows for each operator and dtype. Every result is
compared with exact arithmetic. {verdict}

A cell has the largest error, and the share of results that are exactly right.

- For floating point the error is in **ulp**, the distance between neighbouring numbers of the dtype around
  the exact value, and it is the distance from the exact value itself. So the best possible is 0.5, and a
  result is right if it is correctly rounded. Errors are rounded up, shares down.
- For integers the error is the distance from the right integer.
- **inf**: some results are NaN or infinite where the right one is a finite number, or the other way round;
  mostly something overflowed on the way. They count as wrong.
- {nothing}: the library has no such reduction for this dtype; in the third column, no error is allowed.
- **of bound** is xpreduce's largest error relative to [what it allows itself](semantics.md) for the same
  input. Where terms cancel, a result may be smaller than the rounding errors of its terms; many ulp are
  common there. xpreduce's bounds are relative to the terms, too, but as from about twice the digits of the
  dtype. For LogSumExp in float64 it is 2 ulp of the result or of 1, whichever is larger: near 0 that is many
  ulp of the result. A sum whose bound contains 0 has any logarithm.

To measure again takes ten minutes or more; with `--render` the command writes only this page from
`accuracy.json`:

<!-- needs: ten minutes or more -->
```bash
python3 -m venv .venv
.venv/bin/python -m pip install -e '.[accuracy]' torch
.venv/bin/python asv_benchmarks/accuracy.py
```

"""

METHOD = """\
## What is compared with what

What is right follows from [the one rule](semantics.md): the exact value, rounded once. It is computed
without xpreduce. Inputs are whole numbers times powers of two, and their sums, products, quotients and
roots are taken in Python's integers. Logarithms and exponentials come from mpmath, with 320 binary digits,
or as many as it takes to be sure how they round. Integer results are rounded toward zero and saturate; for
LogSum and LogSumExp it is the correctly rounded float64 result that is rounded toward zero.

The other libraries compute what their users write:

| operator | NumPy | PyTorch |
| --- | --- | --- |
| ReduceL1 | `np.sum(np.abs(x))` | `torch.linalg.vector_norm(x, ord=1)` |
| ReduceL2 | `np.sqrt(np.sum(np.square(x)))` | `torch.linalg.vector_norm(x)` |
| ReduceSum | `np.sum(x)` | `torch.sum(x)` |
| ReduceSumSquare | `np.sum(np.square(x))` | `torch.sum(torch.square(x))` |
| ReduceMean | `np.mean(x)` | `torch.mean(x)` |
| ReduceProd | `np.prod(x)` | `torch.prod(x)` |
| ReduceMax, ReduceMin | `np.max(x)`, `np.min(x)` | `torch.amax(x)`, `torch.amin(x)` |
| ReduceLogSum | `np.log(np.sum(x))` | `torch.log(torch.sum(x))` |
| ReduceLogSumExp | `np.log(np.sum(np.exp(x)))` | `torch.logsumexp(x)` |

Sums and products are asked for in the input's dtype (`dtype=x.dtype`), and other results are converted to
it, because the output of an ONNX operator has the dtype of its input. bfloat16 is that of ml_dtypes in
NumPy. ONNX Runtime runs a model of the one operator on the CPU, without graph optimizations. PyTorch and
ONNX Runtime use one thread.

"""

INPUTS = """\
## The inputs

Rows have {lengths} terms, a few have {long}. Every other batch is reduced along columns instead. All inputs
are finite: [NaN, infinities and the signs of zeros](semantics.md) have tests of their own.

*Adversarial* inputs are made to be hard: the exact result lies in the middle between two numbers, or next
to it; almost all of what is summed cancels; or the plain formula leaves the range of the dtype on its way.
Every kind has the same share of the rows. So the tables tell the libraries apart, but their shares are not
those to expect on ordinary data.

"""


def page(found: dict[str, Any]) -> str:
    """Return the page for the figures of a run."""
    results, about = found["results"], found["about"]
    measured = [figures for dtypes in results.values() for figures in dtypes.values()]
    fewest = min(figures["reductions"] for figures in measured)
    total = sum(figures["reductions"] for figures in measured)
    beyond = sum(figures["beyond"] for figures in measured)
    if beyond:
        verdict = (
            f"{beyond:,} of xpreduce's {total:,} results are beyond the bounds of [its rules](semantics.md)."
        )
    else:
        verdict = f"All {total:,} results of xpreduce are within the bounds of [its rules](semantics.md)."
    parts = [HEAD.format(reductions=f"{fewest:,}", verdict=verdict, nothing=NOTHING)]
    for op, dtypes in results.items():
        parts.append(f"## {op}\n\n" + lines(table(dtypes)))
    parts += [METHOD, INPUTS.format(lengths=spoken(list(LENGTHS)), long=spoken(list(LONG)))]
    parts += [
        "Floating point:\n\n",
        lines(kinds(FLOAT_INPUTS)),
        "Integers:\n\n",
        lines(kinds(INTEGER_INPUTS)),
    ]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    parts.append(
        "## Where it was measured\n\n"
        f"On {about['date']}, on a CPU that calls itself {about['processor']}. Versions:\n"
        f"Python {about['python']}, {versions}.\n"
    )
    return "".join(parts)


def lines(table: Iterator[str]) -> str:
    """Return the lines of a table, and an empty one."""
    return "\n".join(table) + "\n\n"


def table(dtypes: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of one operator's table; bounds that allow no error have no share."""
    peers = [name for name in LIBRARIES if name != OURS]
    yield f"| dtype | {OURS} | of bound | {' | '.join(peers)} |"
    yield f"| --- |{' --- |' * (2 + len(peers))}"
    for dtype, figures in dtypes.items():
        cells = {
            name: cell(figures["libraries"].get(name), figures["reductions"], dtype) for name in LIBRARIES
        }
        bound = f"{math.ceil(100 * round(figures['of_bound'], 6))} %" if figures["of_bound"] else NOTHING
        yield f"| {dtype} | **{cells[OURS]}** | {bound} | {' | '.join(cells[name] for name in peers)} |"


def cell(tally: dict[str, Any] | None, reductions: int, dtype: str) -> str:
    """Return largest error and share of exact results."""
    if tally is None:
        return NOTHING
    largest = "inf" if tally["not_finite"] else size(tally["largest"], dtype)
    return f"{largest}; {share(tally['right'], reductions)}"


def size(error: float, dtype: str) -> str:
    """Return an error in three or two digits, rounded up: what is more than 0.5 is 0.501 at least."""
    if error == 0:
        return "0"
    if error < 1000:
        digits = max(0, 2 - math.floor(math.log10(error))) if dtype in FLOATS else 0
        # Rounded before that, so that what float64 adds to 0.5 on the way does not show.
        return f"{math.ceil(round(error * 10**digits, 6)) / 10**digits:.{digits}f}"
    exponent = math.floor(math.log10(error))
    leading = math.ceil(round(error / 10.0**exponent * 10, 6)) / 10
    if leading >= 10:
        leading, exponent = leading / 10, exponent + 1
    return f"{leading:.1f} × 10{superscript(exponent)}"


def superscript(number: int) -> str:
    """Return a number in raised digits."""
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def share(part: int, whole: int) -> str:
    """Return a share in per cent, rounded down: 100 % means all of them."""
    if part == whole:
        return "100 %"
    for digits in range(1, 6):
        steps = part * 10 ** (digits + 2) // whole
        if steps < 99 * 10**digits or steps < 10 ** (digits + 2) - 1:
            break
    return f"{steps // 10**digits}.{steps % 10**digits:0{digits}d} %"


def spoken(numbers: list[int]) -> str:
    """Return numbers as a list in words."""
    return ", ".join(f"{number:,}" for number in numbers[:-1]) + f" or {numbers[-1]:,}"


def kinds(table: tuple[Inputs, ...]) -> Iterator[str]:
    """Yield the lines of a table of inputs; a kind has one line, its operators together."""
    merged: dict[str, tuple[str, set[str]]] = {}
    for inputs in table:
        _, operators = merged.setdefault(inputs.name, (inputs.about, set()))
        operators.update(inputs.operators)
    yield "| kind | what it is | operators |"
    yield "| --- | --- | --- |"
    for name, (about, operators) in merged.items():
        which = "all" if operators == set(ALL) else ", ".join(op for op in ALL if op in operators)
        yield f"| {name} | {about} | {which} |"
