"""The domain of the standard operators, which has two names, where ONNX's checker and evaluator know one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import ModelProto, NodeProto, OperatorSetIdProto

DOMAINS = ("", "ai.onnx")
"""The two names."""


def with_one_name(model: ModelProto) -> ModelProto:
    """Return the model with the domain's short name everywhere: itself, where it has no other."""
    if not any(part.domain == "ai.onnx" for part in _parts(model)):
        return model
    model = ModelProto.FromString(model.SerializeToString())
    for part in _parts(model):
        if part.domain == "ai.onnx":
            part.domain = ""
    return model


def _parts(model: ModelProto) -> Iterator[NodeProto | OperatorSetIdProto]:
    """Yield all that names a domain: nodes, and what says which opset of it is meant."""
    yield from model.opset_import
    yield from _nodes(model.graph.node)
    for function in model.functions:
        yield from function.opset_import
        yield from _nodes(function.node)


def _nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _nodes(graph.node)
