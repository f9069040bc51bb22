"""Products of float16, bfloat16 and float32 through plain float64, with the rounding checked.

Chains of factors are multiplied as they are, as long as the processor reports that nothing left float64's
range, else in shorter chains. Between chains, products are cut into fractions from 1/2 to 1 and exponents,
which are added up apart. What the plain products leave open is computed again as pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy import careful
from xpreduce_numpy.plain import rounding
from xpreduce_numpy.plain.blocks import SHORT, Scratch, as_float64, turned
from xpreduce_numpy.plain.exceptions import in_range
from xpreduce_numpy.plain.wide_products import WideProducts, within_int32
from xpreduce_numpy.walk import Walk

BLOCK = 2**17
"""Elements in a block: 1 MiB of float64."""

_CHAIN = 2**6
"""Factors multiplied one after another at first."""

_SAFE_CHAIN = 2**2
"""Factors whose product can't leave float64's range: none is beyond 2**128 or below 2**-149."""

_SAFE_FRACTIONS = 2**9
"""Fractions from 1/2 to 1 whose product can't underflow."""

_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24}


class NarrowProducts:
    """Products of the values of one array, box by box."""

    kernel = (
        "plain float64 products in chains that stay in range, compensated where they leave roundings open"
    )

    def __init__(self, x: Any, reduction: Reduction) -> None:
        self.walk = Walk(x, reduction.plan, BLOCK)
        self._reduction = reduction
        self._pairs = WideProducts(x, reduction, self.walk)
        self._half = reduction.dtype.name if reduction.dtype.bits == 16 else None
        self._scratch = Scratch()
        self._chain = _CHAIN
        terms = self.walk.terms
        # Products of few digits are exact; else every multiplication adds a rounding error.
        exact = terms * _DIGITS[reduction.dtype.name] <= 53
        self._error = 0.0 if exact else (terms + 8) * (2.0**-53 + 2.0**-63)

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        product = self._plain(box)
        results, open_ = rounding.products(product, self._error, self._reduction.result, self._scratch)
        return careful.mended(results, self.walk, self._reduction, box, open_)

    def state(self, box: Box) -> State:
        """Return the state of a box, flat: as pairs, since it can't be checked any more."""
        return self._pairs.state(box)

    def _plain(self, box: Box) -> Any:
        """Return the products of a box in plain float64, where what leaves its range is 0 or infinite."""
        total: Any = None
        exponents: Any = None
        for block in self.walk.blocks(box):
            product, by = self._product(self._lanes(block))
            if by is not None:
                exponents = by if exponents is None else exponents + by
            if total is None:
                total = product
                continue
            longer = in_range(np.multiply, total, product)
            if longer is None:
                # Two fractions at a time can't underflow.
                total, first = np.frexp(total)
                product, second = np.frexp(product)
                longer = total * product
                exponents = first.astype(np.int64) + second + (0 if exponents is None else exponents)
            total = longer
        if exponents is None:
            return total
        # What leaves float64's range here is far beyond the range of the result.
        return np.ldexp(total, within_int32(exponents))

    def _lanes(self, block: Any) -> Any:
        """Return (outer, reduced, inner) with long inner loops; multiplications convert as fast as copies."""
        x, shape = turned(block)
        if x is block and not self._half:
            return block
        return as_float64(x, self._half, self._scratch).reshape(shape)

    def _product(self, x: Any) -> tuple[Any, Any]:
        """Multiply over the middle of (outer, reduced, inner): product, and exponent or None for zeros."""
        exponent: Any = None
        chain = self._chain
        while True:
            a, r, b = x.shape
            # Few results are found in many lanes: in a chain, multiplications wait for one another.
            count = max(-(-r // chain), min(SHORT // b, r // 8))
            length = r // count
            parts = x[:, : count * length].reshape(a, length, count * b)
            if exponent is None and length > _SAFE_CHAIN:
                products = in_range(np.multiply.reduce, parts, axis=1, dtype=np.float64)
                if products is None:
                    chain = self._chain = chain // 2
                    continue
            else:
                products = np.multiply.reduce(parts, axis=1, dtype=np.float64)
            if count == 1:
                return products.reshape(-1), exponent
            products = products.reshape(a, count, b)
            if count * length < r:
                products = np.concatenate((products, x[:, count * length :]), axis=1)
            x, by = np.frexp(products)
            by = np.add.reduce(by, axis=1, dtype=np.int64).reshape(-1)
            exponent, chain = (by if exponent is None else exponent + by), _SAFE_FRACTIONS
