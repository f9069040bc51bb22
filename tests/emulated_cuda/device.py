"""A CUDA device whose memory is NumPy arrays and whose kernels are emulated, for the backend's engine."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
from libraries import numpy_dtype

from emulated_cuda.emulator import Emulator
from xpreduce_cupy.kernels import Arguments, Family

_GUARD, _FILL = 2**13, 77
"""Bytes before and after each new array that nobody may change, and what is in them."""


class EmulatedDevice:
    """What `xpreduce_cupy.engine.Device` asks for. New memory is full of what nobody wrote there."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self._held: list[weakref.ref[np.ndarray[Any, Any]]] = []
        self.launched: list[str] = []

    def address(self, array: Any) -> int:
        return int(array.ctypes.data)

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        kind = numpy_dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        held = np.full(size + 2 * _GUARD, _FILL, np.uint8)
        self._held.append(weakref.ref(held))
        return held[_GUARD : _GUARD + size].view(kind).reshape(shape)

    def number(self, value: int) -> Any:
        return np.full((), value, np.int64)

    def launch(self, family: Family, kind: str, blocks: int, block: int, arguments: Arguments) -> None:
        self.launched.append(kind)
        self.emulator.launch(family, kind, arguments, blocks, block)
        alive = [held for held in (ref() for ref in self._held) if held is not None]
        self._held = [weakref.ref(held) for held in alive]
        for held in alive:
            around = np.concatenate((held[:_GUARD], held[-_GUARD:]))
            assert (around == _FILL).all(), f"{family.kernel(kind)} writes beside an array"
