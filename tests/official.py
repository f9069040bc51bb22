"""The official models of the installed onnx package that contain a Reduce node, with their data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import DATA_DIR, load_model_tests

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
#: The prefixes of the tests that are about single Reduce operators.
SINGLE = ("test_reduce_", "test_operator_reduced_")


@dataclass(frozen=True, eq=False)
class Official:
    """One official test: a model, and what goes in and comes out."""

    name: str
    model: onnx.ModelProto
    folder: Path | None
    data: Any
    rtol: float
    atol: float

    def data_sets(self) -> Iterator[tuple[list[Any], list[Any]]]:
        """Yield inputs and expected outputs."""
        if self.data is not None:
            for inputs, outputs in self.data:
                yield [_array(x) for x in inputs], [_array(x) for x in outputs]
            return
        assert self.folder is not None
        for folder in sorted(self.folder.glob("test_data_set*")):
            yield (
                _files(folder, "input", self.model.graph.input),
                _files(folder, "output", self.model.graph.output),
            )


def _array(x: Any) -> Any:
    return numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x


def _files(folder: Path, stem: str, infos: Any) -> list[Any]:
    found = []
    for number in range(len(list(folder.glob(f"{stem}_*.pb")))):
        assert infos[number].type.HasField("tensor_type")
        tensor = onnx.TensorProto()
        tensor.ParseFromString((folder / f"{stem}_{number}.pb").read_bytes())
        found.append(numpy_helper.to_array(tensor))
    return found


def nodes(graph: Any) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of a graph or a function, those of subgraphs among them."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                yield from nodes(inner)


def reduces(model: onnx.ModelProto) -> bool:
    """Whether there is a Reduce node anywhere in a model."""
    return any(
        node.op_type.startswith("Reduce") and node.domain in ("", "ai.onnx")
        for graph in (model.graph, *model.functions)
        for node in nodes(graph)
    )


def _model(case: Any) -> tuple[onnx.ModelProto | None, Path | None]:
    if case.model is not None:
        return case.model, None
    if case.model_dir is not None:
        folder = Path(case.model_dir)
        return onnx.load(folder / "model.onnx"), folder
    # Those called "real" once were downloaded; what the package has is a model without weights or data.
    light = Path(DATA_DIR) / "light" / Path(case.url).name
    return (onnx.load(light) if light.exists() else None), None


@cache
def officials() -> list[Official]:
    """Return all of them, by name."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loading computes the expected values, some of which overflow
        for kind in KINDS:
            for case in load_model_tests(kind=kind):
                model, folder = _model(case)
                if model is not None and reduces(model):
                    found.append(Official(case.name, model, folder, case.data_sets, case.rtol, case.atol))
    return sorted(found, key=lambda official: official.name)
