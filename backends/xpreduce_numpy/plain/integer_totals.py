"""Running totals of integers: int64 arrays while they fit, moved to limbs before they could overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from xpreduce.algebra import limbs

LIMIT = 2**63
"""What no int64 reaches."""


class Total:
    """A running total: int64 arrays at some bits, moved to limbs before they could overflow."""

    def __init__(self, size: int) -> None:
        self.bound = 0
        self._size = size
        self._pending: dict[int, tuple[Any, int]] = {}
        self._limbs: limbs.Limbs | None = None

    def add(self, bit: int, values: Any, bound: int) -> None:
        """Add ``values * 2**bit``, where no value exceeds `bound` in size."""
        self.bound += bound << bit
        before = self._pending.pop(bit, None)
        if before is not None:
            if before[1] + bound < LIMIT:
                values, bound = before[0] + values, before[1] + bound
            else:
                self._place(bit, before[0])
        self._pending[bit] = values, bound

    def add_limbs(self, values: limbs.Limbs, bound: int) -> None:
        """Add values given as limbs, of which none exceeds `bound` in size."""
        self.bound += bound
        self._limbs = values if self._limbs is None else limbs.add(self._limbs, values)

    def _place(self, bit: int, values: Any) -> None:
        if self._limbs is None:
            self._limbs = tuple(np.zeros(values.shape, np.int64) for _ in range(self._size))
        total = list(self._limbs)
        limbs.place(total, values, bit)
        self._limbs = limbs.carry(total)

    def parts(self) -> dict[int, Any] | None:
        """Return the total as int64 arrays by the bit that they stand at, or None where limbs hold more."""
        return (
            None if self._limbs is not None else {bit: values for bit, (values, _) in self._pending.items()}
        )

    def limbs(self) -> limbs.Limbs:
        """Return the total as carried limbs."""
        for bit, (values, _) in self._pending.items():
            self._place(bit, values)
        self._pending.clear()
        assert self._limbs is not None
        return self._limbs
