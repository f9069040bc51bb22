"""A CUDA device whose memory is NumPy arrays and whose kernels are emulated: the backend's engine runs on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from libraries import numpy_dtype

from emulated_cuda.emulator import Emulator
from xpreduce_cupy.kernels import Arguments, Family


class EmulatedDevice:
    """What `xpreduce_cupy.engine.Device` asks for. New memory is full of what nobody wrote there."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self.launched: list[str] = []

    def address(self, array: Any) -> int:
        return int(array.ctypes.data)

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        return np.full(shape, 77).astype(numpy_dtype(dtype))

    def number(self, value: int) -> Any:
        return np.full((), value, np.int64)

    def launch(self, family: Family, kind: str, blocks: int, block: int, arguments: Arguments) -> None:
        self.launched.append(kind)
        self.emulator.launch(family, kind, arguments, blocks, block)
