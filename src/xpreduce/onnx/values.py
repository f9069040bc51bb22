"""What goes into nodes and models, and what comes out: in order or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from onnx.backend.base import namedtupledict


def in_order(what: str, names: Sequence[str], inputs: Any) -> list[Any]:
    """Return inputs, given in order or by name, in the order of `names`; None where there is none.

    Raises
    ------
    TypeError, ValueError
        If they don't fit; `what` is said to take them.
    """
    if isinstance(inputs, Mapping):
        wanted = {name for name in names if name}
        if set(inputs) != wanted:
            raise ValueError(f"{what}: the inputs are {listed(sorted(wanted))}, not {listed(list(inputs))}")
        return [inputs[name] if name else None for name in names]
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"{what}: inputs must be a list, or a dict by name, not {type(inputs).__name__}")
    present = [name for name in names if name]
    if len(inputs) == len(names):
        if any(x is not None for name, x in zip(names, inputs, strict=True) if not name):
            raise ValueError(f"{what}: the inputs are {listed(present)}; one without a name must be None")
        return list(inputs)
    if len(inputs) != len(present):
        raise ValueError(f"{what}: the inputs are {listed(present)}; {len(inputs)} were given")
    given = iter(inputs)
    return [next(given) if name else None for name in names]


def named(names: tuple[str, ...], values: Sequence[Any]) -> tuple[Any, ...]:
    """Return outputs as backends of ONNX do: a tuple whose values are also found by name."""
    outputs: tuple[Any, ...] = _outputs(names)(*values)
    return outputs


@lru_cache(maxsize=256)
def _outputs(names: tuple[str, ...]) -> Any:
    return namedtupledict("Outputs", names)


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words, their number first."""
    return f"{len(names)} ({', '.join(repr(name) for name in names)})" if len(names) else "none"
