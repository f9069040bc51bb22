"""Products of integers through plain float64, exact up to 2**53, and int64 where more digits are needed.

No product of integers but zero is smaller than its factors: so a float64 product up to 2**53 never was
above it and is exact, and one far beyond the result's range, or infinite, saturates. In between, 64-bit
multiplication, which wraps, gives the digits of products that fit; next to the end of the range the
algebra decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import limbs
from xpreduce.dtypes import in_namespace
from xpreduce.protocol import Reduction, State
from xpreduce.tiles import Box
from xpreduce_numpy import careful
from xpreduce_numpy.plain.blocks import SHORT, Scratch, turned
from xpreduce_numpy.walk import Walk

BLOCK = 2**17
"""Elements in a block: 1 MiB of float64."""

_EXACT = 2.0**53


class IntegerProducts:
    """Products of the values of one array, box by box."""

    kernel = "plain float64 products, and int64 products where those are not exact"

    def __init__(self, x: Any, reduction: Reduction) -> None:
        self.walk = Walk(x, reduction.plan, BLOCK)
        self._reduction = reduction
        self._scratch = Scratch()
        result = reduction.result
        # Every factor may be rounded to float64, and every multiplication.
        share = (self.walk.terms + 8) * 2.0**-51
        self._lowest, self._highest = float(result.minimum), float(result.maximum)
        self._most_known = min(self._highest, 2.0**63)  # of uint64, larger factors are cut off
        self._inside, self._outside = 1 - share, 1 + share
        self._dtype = np.dtype(in_namespace(np, result.name))

    def results(self, box: Box) -> Any:
        """Return the results of a box, flat."""
        product = self._multiplied(box, np.float64)
        # NaN is the product of a zero and what became infinite.
        np.copyto(product, 0.0, where=np.isnan(product))
        if self._highest < _EXACT and self._lowest > -_EXACT:
            np.clip(product, self._lowest, self._highest, out=product)
            return product.astype(self._dtype)
        return self._of_64_bits(box, product)

    def _of_64_bits(self, box: Box, product: Any) -> Any:
        exact = np.clip(product, max(self._lowest, -_EXACT), _EXACT).astype(np.int64)
        results = exact.view(self._dtype)
        large = np.abs(product) >= _EXACT
        if not large.any():
            return results
        above, below = product > self._highest * self._outside, product < self._lowest * self._outside
        np.copyto(results, self._reduction.result.maximum, where=above)
        np.copyto(results, self._reduction.result.minimum, where=below)
        large &= ~(above | below)
        if not large.any():
            return results
        np.copyto(exact, self._multiplied(box, np.int64), where=large)
        large &= (product > self._most_known * self._inside) | (product < self._lowest * self._inside)
        return careful.mended(results, self.walk, self._reduction, box, large)

    def state(self, box: Box) -> State:
        """Return the state of a box, flat."""
        product = self._multiplied(box, np.float64)
        np.copyto(product, 0.0, where=np.isnan(product))
        size = np.abs(product)
        exact = np.minimum(size, _EXACT).astype(np.int64)
        state: State = exact & limbs.MASK, exact >> limbs.BITS, product < 0, size >= 2.0**65
        open_ = (size >= _EXACT) & ~state[3]
        if open_.any():
            chosen = np.flatnonzero(open_)
            right = careful.state(self.walk, self._reduction, box, chosen)
            for part, found in zip(state, right, strict=True):
                part[chosen] = found
        return state

    def _multiplied(self, box: Box, dtype: Any) -> Any:
        """Return the products of a box, flat, in float64 or int64."""
        total: Any = None
        for block in self.walk.blocks(box):
            x = self._lanes(block, np.dtype(dtype))
            while x.ndim > 2:
                a, r, b = x.shape
                # Few results are found in many lanes: in a chain, multiplications wait for one another.
                count = max(1, min(SHORT // b, r // 8))
                length = r // count
                products = np.multiply.reduce(
                    x[:, : count * length].reshape(a, length, count * b), axis=1, dtype=dtype
                )
                if count == 1:
                    x = products
                else:
                    x = np.concatenate((products.reshape(a, count, b), x[:, count * length :]), axis=1)
            product = x.reshape(-1)
            total = product if total is None else np.multiply(total, product, out=total)
        return total

    def _lanes(self, block: Any, dtype: Any) -> Any:
        """Return (outer, reduced, inner) with long inner loops; multiplications convert as fast as copies."""
        x, shape = turned(block)
        if dtype == np.float64 and block.dtype.kind == "u" and block.dtype.itemsize == 8:
            # The processor converts signed integers alone: what does not fit is cut off.
            values = self._scratch.array("signed", x.shape, np.int64)
            np.minimum(x, np.uint64(2**63 - 1), out=values.view(np.uint64))
            return values.reshape(shape)
        if x is block:
            return block
        values = self._scratch.array(f"values {dtype}", x.shape, dtype)
        values[...] = x
        return values.reshape(shape)
