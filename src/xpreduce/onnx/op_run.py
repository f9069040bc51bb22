"""Our operators as classes of ONNX's reference evaluator, and the evaluator that has them everywhere."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from onnx import FunctionProto, NodeProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from xpreduce.onnx.checks import Reading, check_node, check_reading
from xpreduce.onnx.nodes import evaluate
from xpreduce.onnx.versions import version_of
from xpreduce.operators import OPERATORS, Operator


class ReduceRun(OpRun):
    """One of the ten operators, all versions: the opset of the model that a node is in says which."""

    operator: ClassVar[Operator]
    noop: ClassVar[Reading]

    def __init__(self, onnx_node: NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        self.version = version_of(self.operator, run_params["opsets"].get(onnx_node.domain))
        check_node(self.version, onnx_node)
        super().__init__(onnx_node, run_params, schema or self.version.schema)

    def run(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the node; our own errors come out as they are, not as ``Issues with types``."""
        try:
            result: tuple[Any, ...] = super().run(*args, **kwargs)  # type: ignore[no-untyped-call]  # it isn't
        except TypeError as error:
            if isinstance(error.__cause__, TypeError):
                raise error.__cause__ from None
            raise
        return result

    def _run(self, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        return (evaluate(self.version, inputs, attributes, self.noop),)

    def _check_and_fix_outputs(self, res: tuple[Any, ...]) -> tuple[Any, ...]:
        return res  # ONNX's own would let nothing but NumPy arrays through


def make_operators(noop: Reading = "elementwise") -> list[type[OpRun]]:
    """Return the ten operators as classes for `onnx.reference.ReferenceEvaluator`.

    Parameters
    ----------
    noop : {"elementwise", "identity"}, optional
        What the attribute ``noop_with_empty_axes=1`` means, as in `run_node`.

    Returns
    -------
    list of type
        Subclasses of `onnx.reference.op_run.OpRun`, one for each operator; each takes nodes of all
        versions of the operator's schema.

    See Also
    --------
    Backend

    Notes
    -----
    The evaluator hands new operators on to the subgraphs of a model, but not to the functions in it, nor
    to operators that it evaluates by the functions in their schemas; `Backend` does.

    Examples
    --------
    >>> import numpy as np, onnx, xpreduce.onnx
    >>> from onnx.reference import ReferenceEvaluator
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 8, opset_import: ["" : 18]>
    ...     norm (float16[n] x) => (float16[m] y) { y = ReduceL2 (x) }
    ... ''')
    >>> evaluator = ReferenceEvaluator(model, new_ops=xpreduce.onnx.make_operators())
    >>> evaluator.run(None, {"x": np.asarray([300, 400], dtype="float16")})
    [array([500.], dtype=float16)]
    """
    check_reading(noop)
    return [_class(operator, noop) for operator in OPERATORS.values()]


@lru_cache(maxsize=64)
def _class(operator: Operator, noop: Reading) -> type[OpRun]:
    # The evaluator finds a class by its name.
    body = {"__module__": __name__, "__doc__": f"{operator.name} by xpreduce.", "operator": operator}
    return type(operator.name, (ReduceRun,), {**body, "noop": noop})


operators: list[type[OpRun]] = make_operators()


class Evaluator(ReferenceEvaluator):
    """ONNX's reference evaluator with our operators, also in functions and in the schemas' functions.

    For those it makes evaluators of its own class, without handing on what new operators there are.
    """

    noop: ClassVar[Reading] = "elementwise"

    def __init__(
        self,
        proto: Any,
        opsets: dict[str, int] | None = None,
        functions: list[ReferenceEvaluator | FunctionProto] | None = None,
        verbose: int = 0,
        new_ops: list[type[OpRun]] | None = None,
        **kwargs: Any,
    ) -> None:
        # The first class of a name holds.
        ops = [*(new_ops or ()), *make_operators(self.noop)]
        super().__init__(proto, opsets, functions, verbose, ops, **kwargs)

    def outputs(self, feed: dict[str, Any]) -> list[Any]:
        """Return all outputs in order."""
        outputs = self.run(None, feed)
        assert isinstance(outputs, list)  # a dict is returned where intermediate results are asked for
        return outputs


class IdentityEvaluator(Evaluator):
    """The same with the older reading of the no-op."""

    noop = "identity"


EVALUATORS: dict[Reading, type[Evaluator]] = {"elementwise": Evaluator, "identity": IdentityEvaluator}
