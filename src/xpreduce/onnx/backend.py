"""`Backend`: whole models and single nodes, as `onnx.backend.base` asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx.backend.base
from onnx import ModelProto, NodeProto, checker, helper

from xpreduce.onnx.checks import Reading, check_reading
from xpreduce.onnx.domains import DOMAINS, with_one_name
from xpreduce.onnx.nodes import run_node
from xpreduce.onnx.op_run import EVALUATORS, Evaluator
from xpreduce.onnx.values import in_order, named
from xpreduce.onnx.versions import is_ours, newest


class PreparedModel(onnx.backend.base.BackendRep):
    """A model that was checked and loaded; `run` runs it as often as wanted."""

    def __init__(self, model: ModelProto, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._what = model.graph.name or "the model"
        self._outputs = tuple(output.name for output in model.graph.output)
        self._names = [value.name for value in model.graph.input]
        initialised = {value.name for value in model.graph.initializer}
        self._required = [name for name in self._names if name not in initialised]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model on its inputs: a list in order, or a dict by name.

        Inputs that have an initializer may be left out, all of them together in a list.
        """
        if kwargs:
            raise TypeError(f"run takes no {', '.join(kwargs)}")
        if isinstance(inputs, Mapping):
            names = [name for name in self._names if name in self._required or name in inputs]
        else:
            everything = isinstance(inputs, (list, tuple)) and len(inputs) == len(self._names)
            names = self._names if everything else self._required
        feed = dict(zip(names, in_order(self._what, names, inputs), strict=True))
        return named(self._outputs, self._evaluator.outputs(feed))


class Backend(onnx.backend.base.Backend):
    """An ONNX backend whose Reduce operators are those of xpreduce.

    All other operators are evaluated by ONNX's reference evaluator. Reduce operators in subgraphs, in
    a model's functions, and in the functions by which the evaluator runs some operators are xpreduce's
    too.

    Methods
    -------
    prepare(model, device="CPU", *, noop="elementwise")
        Check and load a model; the result has a method ``run(inputs)``.
    run_model(model, inputs, device="CPU", *, noop="elementwise")
        Prepare a model and run it once.
    run_node(node, inputs, device="CPU", outputs_info=None, *, opset_version=None, noop="elementwise")
        Run one node of any operator. A Reduce node's inputs may be arrays of any library, as in
        `xpreduce.onnx.run_node`; others take NumPy arrays.
    supports_device(device)
        Whether models run there: on ``"CPU"`` alone.
    is_compatible(model, device="CPU", *, noop="elementwise")
        Whether a model is valid and every operator in it can be evaluated.

    See Also
    --------
    run_node, make_operators

    Notes
    -----
    ``inputs`` is a list in order, or a dict by name; outputs are a tuple, whose values are also found by
    name. ``noop`` is explained in `xpreduce.onnx.run_node`.

    Examples
    --------
    >>> import numpy as np, onnx, xpreduce.onnx
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 8, opset_import: ["" : 18]>
    ...     normalise (double[n] x) => (double[n] y) { norm = ReduceL2 (x) y = Div (x, norm) }
    ... ''')
    >>> prepared = xpreduce.onnx.Backend.prepare(model)
    >>> prepared.run([np.asarray([3e200, 4e200])])["y"]
    array([0.6, 0.8])
    """

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether a model is valid and every operator in it can be evaluated here."""
        if not cls.supports_device(device):
            return False
        try:
            cls.prepare(model, device, **kwargs)
        # What checker and evaluator raise on a model that they can't take.
        except (checker.ValidationError, NotImplementedError, RuntimeError, TypeError, ValueError):
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """Check and load a model."""
        noop = cls._noop(device, kwargs)
        model = with_one_name(model)
        super().prepare(model, device)  # asks ONNX's checker
        return PreparedModel(model, EVALUATORS[noop](model))

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one node of any operator."""
        opset = kwargs.pop("opset_version", None)
        noop = cls._noop(device, kwargs)
        if is_ours(node):
            return run_node(node, inputs, opset_version=opset, noop=noop)
        if node.domain in DOMAINS:
            opset = newest() if opset is None else opset
            if node.domain:
                node = NodeProto.FromString(node.SerializeToString())
                node.domain = ""
            # Checks the node. Its annotation is meant for the options as a whole.
            super().run_node(node, inputs, device, opset_version=opset)  # type: ignore[arg-type]
        elif opset is None:
            raise ValueError(f"a node of domain {node.domain!r} needs opset_version")
        arrays = in_order(node.op_type, list(node.input), inputs)
        feed = {name: x for name, x in zip(node.input, arrays, strict=True) if name}
        names = tuple(name for name in node.output if name)
        graph = helper.make_graph(
            [node],
            node.op_type,
            [_described(name, x) for name, x in feed.items()],
            [onnx.ValueInfoProto(name=name) for name in names],
        )
        return named(names, EVALUATORS[noop](graph, opsets={"": newest(), node.domain: opset}).outputs(feed))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on a device: on the CPU alone, where the reference evaluator does."""
        return device.partition(":")[0] == "CPU"

    @classmethod
    def _noop(cls, device: str, options: dict[str, Any]) -> Reading:
        """Check a call's device and options, and return the reading of the no-op."""
        if not cls.supports_device(device):
            raise ValueError(f"models run on the CPU, not on {device!r}; run_node takes arrays of any device")
        noop: Reading = options.pop("noop", "elementwise")
        check_reading(noop)
        if options:
            raise TypeError(f"Backend knows no option {', '.join(options)}; it knows noop")
        return noop


def _described(name: str, x: Any) -> onnx.ValueInfoProto:
    if not hasattr(x, "dtype"):  # a sequence, or an optional value that is not there
        return onnx.ValueInfoProto(name=name)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
