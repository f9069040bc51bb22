"""Which accumulation serves which operator and dtypes, and what its totals are as a state."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from xpreduce.algebra import limbs, pairs
from xpreduce.algebra.extremes import Extreme
from xpreduce.algebra.integer_sums import IntegerSum
from xpreduce.algebra.products import normal
from xpreduce.dtypes import DType, in_namespace
from xpreduce.operators import Operator
from xpreduce.protocol import Reduction, State
from xpreduce_numpy.compiled import (
    exponentials,
    extremes,
    integer_products,
    integers,
    memory,
    products,
    rounding,
    sums,
)
from xpreduce_numpy.compiled.accumulation import Accumulation
from xpreduce_numpy.compiled.family import WARMED, Family
from xpreduce_numpy.compiled.kernels import Ending, Terms

FEW = 2**6
"""Terms of both signs up to which sums often lie exactly between two floats: only exact sums can tell."""


class FloatSums(Family):
    """Sums of floats, of their sizes and of their squares; of narrow integers too, if floats come out."""

    def __init__(self, operator: Operator, dtype: DType, result: DType, few: bool) -> None:
        self._lift, self.last = operator.lift, operator.finish
        self._dtype, self._result = dtype.name, result.name
        self._scaled = self._dtype == "float64"
        integers = not dtype.is_float
        self._narrow = integers or "float64" not in (self._dtype, self._result)
        self._exact = self._narrow and (
            integers or (self._dtype == "float16" and self._result != "float64" and self._lift != "square")
        )
        self._signed = self._lift == "identity"
        self._few = self._signed and few and not self._exact
        self.shared = ("FloatSums", self._lift, self._dtype, self._result, self._few)
        if self._exact:
            self.words = "exact float64 sums"
        elif self._narrow and not self._few:
            self.words = "plain float64 sums, compensated where they leave the rounding open"
        else:
            self.words = "compensated float64 sums"

    def _accumulation(self) -> Accumulation:
        if self._exact:
            return sums.plain(self._lift, False, sums.EXACT_DEPTH)
        if self._few:
            return sums.ranged(self._lift) if self._narrow else sums.careful(self._lift)
        return sums.plain(self._lift, self._signed) if self._narrow else sums.wide(self._lift)

    def _of(self, accumulation: Accumulation, by_rows: bool, apart: bool) -> Terms:
        return Terms(accumulation, memory.floats(self._dtype, apart, -0.0), by_rows)

    def terms(self, by_rows: bool, apart: bool) -> Terms:
        """Return what makes results."""
        return self._of(self._accumulation(), by_rows, apart)

    def state_terms(self, by_rows: bool, apart: bool) -> Terms:
        """Return what makes states, which can't be checked any more once they are combined."""
        plain = self._narrow and not self._few
        return self._of(sums.bounded(self._lift) if plain else sums.wide(self._lift), by_rows, apart)

    def ending(self) -> Ending:
        """Return how totals become results."""
        last, result, squares = self.last, self._result, self._lift == "square"
        if self._exact:
            return Ending(result, rounding.sums(last, False, rounding.no_error, result, False))
        if self._scaled and squares:
            decide_again = rounding.zeros(result)
            again = self._of(sums.wide("abs"), True, True)
        else:
            share = rounding.share_unless_exact(self._dtype, squares)
            decide_again = rounding.sums(last, True, share, result, self._scaled)
            again = self._of(sums.careful(self._lift), True, True)
        if self._few and self._narrow:
            return Ending(result, rounding.ranged_sums(last, self._dtype, result), again, decide_again)
        if self._few:
            return Ending(result, decide_again)
        if self._narrow:
            return Ending(result, rounding.plain_sums(last, self._signed, result), again, decide_again)
        decide = rounding.sums(last, self._signed, rounding.share_wide, result, self._scaled)
        return Ending(result, decide, again, decide_again)

    def state(self, parts: list[Any], terms: int) -> tuple[State, Any]:
        """Return flat totals as a state, and where its terms left float64's range."""
        high, low = pairs.normalised(np, (parts[0], parts[1]))
        count = np.asarray(terms)
        if not self._scaled:
            return (high, low, count), None
        sizes = parts[2] if self._signed else high
        wrong = ~(sizes <= 2.0**990) & ~np.isnan(sizes)
        if self._lift == "square":
            wrong |= high < 2.0**-900
        return (high, low, count, np.zeros(high.shape, np.int8)), wrong


class IntegerSums(Family):
    """Sums of integers, of their sizes and of their squares."""

    words = "exact integer sums, in digits of 32 bits"

    def __init__(self, operator: Operator, dtype: DType, result: DType) -> None:
        self._algebra = IntegerSum(operator.lift, operator.finish, dtype, result)
        self._lift, self.last = operator.lift, operator.finish
        self._dtype, self._result = dtype.name, result.name
        self.finishes = self.last != "log" and not result.is_float
        self.shared = ("IntegerSums", self._lift, self._dtype, self._result)

    def terms(self, by_rows: bool, apart: bool) -> Terms:
        """Return what makes results."""
        accumulation = integers.accumulation(self._dtype, self._lift)
        return Terms(accumulation, memory.integers(self._dtype, apart, 0), by_rows)

    def ending(self) -> Ending:
        """Return how totals become results."""
        return Ending(self._result, integers.ending(self.last, self._result))

    def state(self, parts: list[Any], terms: int) -> tuple[State, Any]:
        """Return flat totals as a state."""
        zeros = [np.zeros_like(parts[0]) for _ in range(self._algebra.size - len(parts))]
        return (*limbs.carry([*parts, *zeros]), np.asarray(terms)), None


class Extremes(Family):
    """The largest and smallest."""

    words = "the largest of integers in the order of the values"

    def __init__(self, operator: Operator, dtype: DType, result: DType, wide: bool = False) -> None:
        self._algebra = Extreme(operator.combine, dtype, result)
        self._largest = operator.combine == "maximum"
        self._dtype = dtype.name
        self._kind = extremes.vector(self._dtype, wide)
        self._of = operator, dtype, result
        self.finishes = dtype is result
        self.shared = ("Extremes", self._largest, self._dtype, wide)

    @cached_property
    def beside(self) -> Family | None:
        """The same with lanes of 64 bits."""
        return Extremes(*self._of, wide=True)

    def terms(self, by_rows: bool, apart: bool) -> Terms:
        """Return what makes results."""
        elements = extremes.elements(self._dtype, self._largest, apart, self._kind)
        return Terms(extremes.accumulation(self._largest, self._kind), elements, by_rows)

    def ending(self) -> Ending:
        """Return how totals become results."""
        bits = 8 * memory.size_of(self._dtype)
        return Ending(f"uint{bits}", extremes.ending(self._dtype, self._largest, self._kind))

    def state(self, parts: list[Any], terms: int) -> tuple[State, Any]:
        """Return flat totals as a state."""
        found = extremes.value_of(parts[0], self._dtype, self._largest, self._kind)
        bits = 8 * memory.size_of(self._dtype)
        values = found.astype(f"u{bits // 8}").view(in_namespace(np, self._dtype))
        held, count = self._algebra.held(np, values), np.asarray(terms)
        if self._dtype not in memory.FLOATING:
            return (held, count), None
        return (held, (held == 0) & (np.signbit(held) != self._largest), count), None


class Products(Family):
    """Products of floats."""

    words = "products of pairs, exponents apart"

    def __init__(self, dtype: DType, result: DType) -> None:
        self._dtype, self._result = dtype.name, result.name
        self.shared = ("Products", self._dtype, self._result)

    @property
    def beside(self) -> Family | None:
        """None: it computes more than it reads."""
        return None

    def terms(self, by_rows: bool, apart: bool) -> Terms:
        """Return what makes results."""
        return Terms(products.accumulation(self._dtype), memory.floats(self._dtype, apart, 1.0), by_rows)

    def ending(self) -> Ending:
        """Return how totals become results."""
        return Ending(self._result, products.ending(self._result))

    def state(self, parts: list[Any], terms: int) -> tuple[State, Any]:
        """Return flat totals as a state."""
        high, low, exponent = parts
        low = np.where(np.isfinite(high) & (high != 0), low, 0.0)
        return normal(np, pairs.normalised(np, (high, low)), exponent), None


class IntegerProducts(Family):
    """Products of integers."""

    words = "products in 64 bits, watched by doubles"

    def __init__(self, dtype: DType, result: DType) -> None:
        self._dtype, self._result = dtype.name, result.name
        self.shared = ("IntegerProducts", self._dtype, self._result)

    @property
    def beside(self) -> Family | None:
        """None: it computes more than it reads."""
        return None

    def terms(self, by_rows: bool, apart: bool) -> Terms:
        """Return what makes results."""
        accumulation = integer_products.accumulation(self._dtype)
        return Terms(accumulation, memory.integers(self._dtype, apart, 1), by_rows)

    def ending(self) -> Ending:
        """Return how totals become results."""
        return Ending(self._result, integer_products.ending(self._result))

    def state(self, parts: list[Any], terms: int) -> tuple[State, Any]:
        """Return flat totals as a state."""
        zero = integer_products.is_zero(parts)
        low, high, _ = limbs.from_int64(np, np.where(zero, 0, parts[0]), False)
        return (low, high, parts[2] < 0, integer_products.is_over(parts) & ~zero), None


class Exponentials(Family):
    """Logarithms of sums of exponentials of floats."""

    words = "compensated sums of exponentials"

    def __init__(self, dtype: DType, result: DType) -> None:
        self._dtype, self._result = dtype.name, result.name
        self._exactly = "float64" in (self._dtype, self._result)
        self.shared = ("Exponentials", self._dtype, self._result)

    @property
    def beside(self) -> Family | None:
        """None: it computes more than it reads."""
        return None

    def terms(self, by_rows: bool, apart: bool) -> Terms:
        """Return what makes results."""
        elements = memory.floats(self._dtype, apart, float("-inf"))
        return Terms(exponentials.accumulation(self._exactly), elements, by_rows)

    def ending(self) -> Ending:
        """Return how totals become results."""
        return Ending(self._result, exponentials.ending(self._result))

    def state(self, parts: list[Any], terms: int) -> tuple[State, Any]:
        """Return flat totals as a state."""
        shift, high, low = parts
        high, low = pairs.normalised(np, (high, low))
        # There the algebra's largest value is what the shift, always finite, can't be.
        low = np.where(high < 0.5, 0.0, low)
        high = np.where(high < 0.5, 0.0, high)
        largest = np.where(high == 0, -np.inf, np.where(np.isfinite(high), shift, high))
        infinite = high == np.inf
        return (largest, np.where(infinite, 1.0, high), np.where(infinite, 0.0, low)), None


def family(reduction: Reduction, terms: int, states: bool = False) -> Family | None:
    """Return what serves a reduction of so many terms, or makes states for its algebra, or None."""
    operator, dtype, result = reduction.operator, reduction.dtype, reduction.result
    if terms > integers.MOST and not dtype.is_float:
        return None
    return _family(operator, dtype, result, terms <= FEW, states)


@lru_cache(maxsize=1024)
def _family(operator: Operator, dtype: DType, result: DType, few: bool, states: bool) -> Family | None:
    if dtype.is_float and not result.is_float:
        return None
    if operator.combine in ("maximum", "minimum"):
        return Extremes(operator, dtype, result)
    exact = 16 if operator.lift == "square" else 32
    floats = dtype.is_float or (result.is_float and dtype.bits <= exact)
    if operator.combine == "product":
        if result.is_float:
            return Products(dtype, result) if floats else None
        return IntegerProducts(dtype, result)
    if operator.lift == "exp":
        return Exponentials(dtype, result) if floats else None
    # The states of integers are limbs, whatever comes out.
    if dtype.is_float or (floats and operator.finish != "log" and not states):
        return FloatSums(operator, dtype, result, few)
    return IntegerSums(operator, dtype, result)


def warm_up(reduction: Reduction) -> int:
    """Make all modules of an operator and its dtypes ready; return how many there are."""
    variants = {found.key: found for found in (family(reduction, terms) for terms in (FEW, FEW + 1)) if found}
    for found in variants.values():
        for module in WARMED:
            for by_rows in (True, False):
                found.functions(module, by_rows, False)
    return len(variants) * len(WARMED) * 2
