"""What the core and a backend know of each other: a reduction's description, states, some functions.

A backend is a module (or any object) with the functions of `Backend`, and of `EagerBackend` where its
arrays hold their values. It serves the arrays of one library. The core has made every check on
arguments before it calls one, so a backend never sees a bad axis, an unsupported dtype or a no-op.

A *state* is a tuple of arrays that says everything about the values seen so far. `partial` makes one
from an array, with every reduced dimension kept at length 1; `combine` merges two, is associative and
commutative, and has the state of an empty array as identity; `finish` rounds one to the result. What is
in the tuple is the backend's own business, but states of the same operator and dtype made by backends
of the same array library must combine, and operators with the same `Operator.terms` have the same states.

A backend may also have the functions of `SeveralBackend`, to do several reductions in one go; what has
them not is asked for one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from xpreduce.axes import Plan
from xpreduce.dtypes import DType
from xpreduce.operators import Operator

State = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Reduction:
    """All that a backend must know of one reduction, besides the array.

    Attributes
    ----------
    operator : Operator
        What is computed.
    dtype : DType
        The dtype of the input.
    result : DType
        The dtype of the result.
    plan : Plan
        Which dimensions are reduced, and what remains of them.
    """

    operator: Operator
    dtype: DType
    result: DType
    plan: Plan


@dataclass(frozen=True, slots=True)
class Status:
    """Whether a backend can work here, as `xpreduce.backends` tells it.

    Attributes
    ----------
    version : str
        The version of the array library, or an empty string where it is not installed.
    ready : bool
        Whether arrays can be reduced: the library is installed and its device is there.
    note : str
        What is missing and how to get it, or what there is to know.
    """

    version: str
    ready: bool
    note: str


class Backend(Protocol):
    """The functions that every backend must have."""

    def refusal(self, array_type: type) -> str | None:
        """Return why arrays of this type can't be served and what to do instead, or None."""

    def reduce(self, x: Any, reduction: Reduction) -> Any:
        """Return the reduction of the whole of `x`, in the result's dtype, as an array of its library."""

    def kernel(self, x: Any, reduction: Reduction) -> str:
        """Return in words what `reduce` would run on `x`, and why."""

    def status(self) -> Status:
        """Return whether the backend can work here; must not raise."""


class EagerBackend(Backend, Protocol):
    """The functions of a backend whose arrays can be chunks of a larger whole."""

    def partial(self, x: Any, reduction: Reduction) -> State:
        """Return the state of `x`; every reduced dimension has length 1."""

    def combine(self, a: State, b: State, reduction: Reduction) -> State:
        """Return the state of the values of both."""

    def finish(self, state: State, reduction: Reduction) -> Any:
        """Return the result that `state` stands for, with `reduction.plan.keepdims` applied."""


class SeveralBackend(EagerBackend, Protocol):
    """The functions of a backend that reads an array once for several reductions.

    All of them have the same dtype, result and plan. A lazy backend has `reduce_many` alone.
    """

    def reduce_many(self, x: Any, reductions: Sequence[Reduction]) -> Sequence[Any]:
        """Return what `reduce` returns for each reduction."""

    def partial_many(self, x: Any, reductions: Sequence[Reduction]) -> Sequence[State]:
        """Return what `partial` returns for each reduction."""

    def merge(self, states: Sequence[State], reduction: Reduction) -> State:
        """Return the state of the values of all, of one state at least, as `combine` would."""
