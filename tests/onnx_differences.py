"""Run xpreduce, ONNX Runtime and ONNX's reference evaluator, and write the page that says how they differ.

    python tests/onnx_differences.py                 writes docs/onnx_differences.md
    python tests/onnx_differences.py --output FILE   writes another file

Nothing in the tables is typed: what is right comes from exact arithmetic, all else from running the three.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from libraries import numpy_dtype
from onnx_faults import FAULTS, FOUND_WITH, PEERS, versions
from onnx_peers import ELEMENTS, Spec
from onnx_sweep import NEWEST, arrays, dtypes, right, specs
from onnx_values import LINES, OPSET

import xpreduce
from xpreduce.operators import OPERATORS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "onnx_differences.md"

HEAD = """\
# How the runtimes differ

<!-- Written by tests/onnx_differences.py: change that. -->

xpreduce (with NumPy arrays), ONNX Runtime and the reference evaluator of ONNX run the same nodes.
**Bold** is what is not right. What is right is the value of [the rules](semantics.md), computed by exact
arithmetic without xpreduce: the formula's exact value, rounded once; integers saturate. ONNX itself asks for
no particular accuracy and says nothing of integers out of range, so not all that is bold breaks its text.
What is not right may be another number on another processor.

Versions: xpreduce {xpreduce}, onnxruntime {onnxruntime} on the CPU, onnx {onnx}.
"""
VALUES_HEAD = """\
## Value by value

Each line is one node of opset {opset} that reduces all of the input, or with "no-op" one whose attribute
`noop_with_empty_axes` is 1. "refused": the runtime has no result.
"""
TYPES_HEAD = """\
## Type by type

Which operators a runtime gives, and gives in the input's type, by running each with each type that its newest
version has; for integers in LogSum and LogSumExp that is the version of opset {opset}.
"""
FAULTS_HEAD = """\
## Form by form

All versions, types, forms of axes, attributes, and shapes with zeros were tried on small numbers, {calls}
nodes with arrays, and xpreduce is right in all of them. Besides roundings the other runtimes differ from that
in these ways only; each has an example, which was run to write its line.
"""


def ours(spec: Spec) -> Callable[[Any], Any]:
    """Return what runs a node in xpreduce."""
    return lambda x: xpreduce.onnx.run_node(spec.node(), spec.inputs(x), opset_version=spec.opset)[0]


RUNTIMES: dict[str, Callable[[Spec], Any]] = {"xpreduce": ours, **PEERS}


def outcome(name: str, spec: Spec, x: Any) -> Any:
    """Return what a runtime makes of a node: an array, or an error in words."""
    run = RUNTIMES[name](spec)
    return run(x) if callable(run) else run


def cell(got: Any, wanted: np.ndarray[Any, Any]) -> str:
    """Return an outcome in words, bold where it is not what is wanted."""
    text = written(got, wanted.dtype)
    return text if text == written(wanted, wanted.dtype) else f"**{text}**"


def written(got: Any, dtype: np.dtype[Any]) -> str:
    """Return an outcome in words."""
    if isinstance(got, str):
        return "refused"
    # The short form of a 16-bit number hides digits: 424.2 is 424.25.
    short = got.dtype.itemsize == 2
    numbers = [str(float(value) if short else value) for value in got.reshape(-1)]
    text = f"[{', '.join(numbers)}]" if got.ndim else numbers[0]
    return text if got.dtype == dtype else f"{text} as {got.dtype.name}"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table."""
    titles = list(header)
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def values() -> Iterator[list[str]]:
    """Yield the rows of the table of values."""
    for line in LINES:
        spec, x = line.spec(), line.data()
        wanted = right(spec, x)
        cells = [cell(outcome(name, spec, x), wanted) for name in RUNTIMES]
        yield [line.op, line.dtype, line.written(), written(wanted, wanted.dtype), *cells]


def lacking(name: str, dtype: str) -> str:
    """Return the operators that a runtime does not give for a type."""
    found: dict[str, list[str]] = {}
    having = [op for op in OPERATORS if dtype in dtypes(op, OPSET) + dtypes(op, NEWEST)]
    for op in having:
        spec = Spec(op, NEWEST if dtype in dtypes(op, NEWEST) else OPSET, dtype)
        got = outcome(name, spec, np.array([1, 1], dtype=numpy_dtype(dtype)))
        if isinstance(got, str):
            found.setdefault("refuses {}", []).append(op)
        elif got.dtype != numpy_dtype(dtype):
            found.setdefault(f"gives {{}} as {got.dtype.name}", []).append(op)
    if not found:
        return "all"
    parts = [how.format(which(ops, having)) for how, ops in found.items()]
    return f"**{'; '.join(parts)}**"


def which(ops: list[str], among: list[str]) -> str:
    """Return operators as a list in words, the few that are not in it where it is long."""
    rest = [short(op) for op in among if op not in ops]
    if not rest:
        return "all"
    if len(rest) < len(ops):
        return f"all but {', '.join(rest)}"
    return ", ".join(short(op) for op in ops)


def short(op: str) -> str:
    """Return an operator's name without what all names begin with."""
    return op.removeprefix("Reduce")


def faults() -> Iterator[list[str]]:
    """Yield the rows of the table of faults."""
    for fault in FAULTS:
        spec, x = fault.example, fault.data()
        wanted = right(spec, x)
        yield [
            fault.peer,
            which(list(fault.operators), list(OPERATORS)),
            ", ".join(fault.dtypes),
            fault.where,
            f"{short(spec.op)} of {spec.dtype} `{fault.values}`",
            written(wanted, wanted.dtype),
            cell(outcome(fault.peer, spec, x), wanted),
            fault.why,
        ]


def page() -> str:
    """Return the page."""
    types = [[dtype, *(lacking(name, dtype) for name in RUNTIMES)] for dtype in ELEMENTS]
    forms = ["runtime", "operators", "types", "when", "example", "right", "it gives", "why"]
    return "\n".join(
        [
            HEAD.format(xpreduce=xpreduce.__version__, **versions()),
            VALUES_HEAD.format(opset=OPSET),
            table(["operator", "type", "input", "right", *RUNTIMES], values()),
            TYPES_HEAD.format(opset=OPSET),
            table(["type", *RUNTIMES], types),
            FAULTS_HEAD.format(calls=f"{calls():,}"),
            table(forms, faults()),
        ]
    )


def calls() -> int:
    """Return the number of nodes with arrays that the tests try."""
    pairs = [(op, version) for op in OPERATORS for version in OPERATORS[op].versions]
    return sum(1 for pair in pairs for spec in specs(*pair) for _ in arrays(spec))


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    if versions() != FOUND_WITH:
        print(f"tests/onnx_faults.py speaks of {FOUND_WITH}, installed are {versions()}", file=sys.stderr)
    options.output.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
