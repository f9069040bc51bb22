"""What a way to make totals is, and one to serve reductions by them; `families` has those that there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

from xpreduce.protocol import State
from xpreduce_numpy.compiled import kernels, machine
from xpreduce_numpy.compiled.accumulation import Accumulation
from xpreduce_numpy.compiled.kernels import Ending, Terms

MODULES = {
    "results": ("results",),
    "pieces": ("totals", "finish", "join"),
    "states": ("totals", "join"),
    "totals": ("totals", "join"),
    "finish": ("finish",),
}
"""Kernels that are compiled together: for results, for results piece by piece, for states, for totals that
others make results of, and for these."""

WARMED = ("results", "pieces", "states")
"""Those that one reduction alone may need."""


class Summation(ABC):
    """One way to make totals, by kernels of its own."""

    shared: tuple[Any, ...]
    """What tells its totals from all others."""

    last: Any = None
    """What tells it from other families of the same totals."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells its kernels from all others."""
        return (*self.shared, self.last)

    @cached_property
    def accumulation(self) -> Accumulation:
        """What makes results."""
        return self.terms(True, False).accumulation

    @cached_property
    def state_accumulation(self) -> Accumulation:
        """What makes states."""
        return self.state_terms(True, False).accumulation

    @abstractmethod
    def terms(self, by_rows: bool, apart: bool) -> Terms:
        """Return what makes results."""

    def state_terms(self, by_rows: bool, apart: bool) -> Terms:
        """Return what makes states."""
        return self.terms(by_rows, apart)

    def ending(self) -> Ending | None:
        """Return how totals become results, where that is its business."""
        return None

    def functions(self, module: str, by_rows: bool, apart: bool) -> dict[str, Any]:
        """Return the kernels of a module, compiled if they are not yet."""
        found = self._functions.get((module, by_rows, apart))
        if found is None:
            names = MODULES[module]

            def source() -> str:
                of = self.state_terms if module == "states" else self.terms
                ending = self.ending() if "finish" in names or "results" in names else None
                return kernels.module(names, of(by_rows, apart), ending)

            found = machine.functions(names, (module, by_rows, apart, *self.key), source)
            self._functions[module, by_rows, apart] = found
        return found

    @cached_property
    def _functions(self) -> dict[tuple[str, bool, bool], dict[str, Any]]:
        return {}


class Family(Summation):
    """One way to serve reductions."""

    words: str
    """What runs, in words."""

    finishes = True
    """Whether it makes results; otherwise they are made of states."""

    @property
    def beside(self) -> Family | None:
        """What serves the same beside others in a kernel, in lanes of 64 bits; None if it is better alone."""
        return self

    @abstractmethod
    def ending(self) -> Ending:
        """Return how totals become results."""

    @abstractmethod
    def state(self, parts: list[Any], terms: int) -> tuple[State, Any]:
        """Return flat totals of `state_terms` as a state, and where it is wrong, or None."""
