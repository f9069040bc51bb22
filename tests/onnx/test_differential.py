"""`run_node` beside ONNX Runtime and ONNX's evaluator: every version, dtype, form of axes, and attribute.

What is right comes from exact arithmetic. Ours must be that; where another runtime is not, `FAULTS` says why.
"""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("onnx.defs", reason="the package onnx is not installed")

import numpy as np
from onnx_faults import FAULTS, FOUND_WITH, PEERS, Fault, versions
from onnx_peers import Spec
from onnx_sweep import arrays, difference, dtypes, right, specs
from onnx_values import LINES, Line

from xpreduce.onnx import run_node
from xpreduce.onnx.versions import newest, version_of
from xpreduce.operators import OPERATORS

PAIRS = [(op.name, version) for op in OPERATORS.values() for version in op.versions]
#: Rounding errors that are no disagreement: ours, where the semantics allow some, and theirs.
OURS, THEIRS = 2.0, 8.0


def ours(spec: Spec, x: Any) -> Any:
    """Return the result of the node, after checks that it is one array of the input's kind."""
    (y,) = run_node(spec.node(), spec.inputs(x), opset_version=spec.opset)
    assert type(y) is np.ndarray
    return y


def older(found: str, than: str) -> bool:
    """Whether a version is lower than another."""
    return [int(part) for part in found.split(".")[:2]] < [int(part) for part in than.split(".")[:2]]


def peers() -> list[str]:
    """Return the runtimes that are installed, in the versions of `FAULTS` or newer ones."""
    found = versions()
    packages = {"ONNX Runtime": "onnxruntime", "reference evaluator": "onnx"}
    return [
        peer
        for peer, package in packages.items()
        if package in found and not older(found[package], FOUND_WITH[package])
    ]


def unknown(version: int) -> bool:
    """Whether the installed onnx is too old for a version of a schema."""
    return version > newest()


@pytest.mark.parametrize(("op", "version"), PAIRS)
def test_right(op: str, version: int) -> None:
    """Values, dtype and shape are right in every form that the version allows."""
    if unknown(version):
        pytest.skip(f"the installed onnx knows no opset {version}")
    count = 0
    for spec in specs(op, version):
        correct = spec.dtype != "float64" and op not in ("ReduceLogSum", "ReduceLogSumExp")
        for x in arrays(spec):
            wanted = right(spec, x)
            assert difference(wanted, ours(spec, x), 0 if correct else OURS) is None, (spec, x)
            count += 1
    assert count > 100


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize(("op", "version"), PAIRS)
def test_disagreements(op: str, version: int, peer: str) -> None:
    """Where another runtime is not right, it is known why."""
    if peer not in peers() or unknown(version):
        pytest.skip(f"needs {FOUND_WITH} or newer, there is {versions()}")
    for spec in specs(op, version):
        run = PEERS[peer](spec)
        for x in arrays(spec):
            got = run(x) if callable(run) else run
            kind = difference(right(spec, x), got, THEIRS)
            if kind is not None:
                reasons = [fault for fault in FAULTS if fault.explains(peer, kind, spec, x)]
                assert len(reasons) == 1, (peer, kind, spec, x, got)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.op}-{line.dtype}-{line.written()}")
def test_values(line: Line) -> None:
    """Values that tell runtimes apart are right to the last bit, the sign of zero too."""
    spec, x = line.spec(), line.data()
    wanted, got = right(spec, x), ours(spec, x)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    assert [str(value) for value in got.reshape(-1)] == [str(value) for value in wanted.reshape(-1)]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.peer}-{fault.kind}-{fault.operators[0]}")
def test_faults(fault: Fault) -> None:
    """A fault that is mended leaves the table."""
    if versions() != FOUND_WITH:
        pytest.skip(f"needs {FOUND_WITH}, there is {versions()}")
    x, run = fault.data(), PEERS[fault.peer](fault.example)
    got = run(x) if callable(run) else run
    assert difference(right(fault.example, x), got, THEIRS) == fault.kind
    assert fault.explains(fault.peer, fault.kind, fault.example, x)
    assert difference(right(fault.example, x), ours(fault.example, x), OURS) is None


@pytest.mark.parametrize(("op", "version"), PAIRS)
def test_dtypes(op: str, version: int) -> None:
    """The sweep has all dtypes of the version, as the schema has them."""
    if unknown(version):
        pytest.skip(f"the installed onnx knows no opset {version}")
    assert sorted(version_of(OPERATORS[op], version).dtypes) == sorted(dtypes(op, version))
