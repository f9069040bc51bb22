"""Compiles kernels for real GPUs, without one, by NVRTC; and reads what ptxas says of their registers."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from emulated_cuda.emulator import KINDS
from xpreduce_cupy import kernels

ARCHITECTURES = ("sm_80", "sm_90")


@dataclass(frozen=True)
class Usage:
    """What a compiled kernel uses.

    Attributes
    ----------
    kernel : str
        Its name in the object code.
    registers : int
        Registers of a thread.
    stack, spilled : int
        Bytes of a thread's local memory, and how many of those hold what did not fit into registers.
    """

    kernel: str
    registers: int
    stack: int
    spilled: int


def missing() -> str | None:
    """Return why nothing can be compiled here, or None."""
    return None if _library() else "NVRTC is not installed: pip install 'xpreduce[nvrtc]'"


@cache
def _library() -> Any:
    found = importlib.util.find_spec("nvidia")
    for root in found.submodule_search_locations or () if found else ():
        for path in sorted(Path(root).glob("*/lib/libnvrtc.so.*"), reverse=True):
            for builtins in path.parent.glob("libnvrtc-builtins.so.*"):
                ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(str(path))
    return None


def compile_family(family: kernels.Family, architecture: str, source: str | None = None) -> list[Usage]:
    """Compile the five kernels of a family; raises RuntimeError with the compiler's log if it can't.

    Parameters
    ----------
    family : Family
        What the kernels are instantiated for.
    architecture : str
        Such as "sm_90".
    source : str, optional
        A source to compile in place of the kernels' own.
    """
    nvrtc, program = _library(), ctypes.c_void_p()
    text = (source or kernels.source()).encode()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"kernels.cu", 0, None, None)
    try:
        for kind in KINDS:
            nvrtc.nvrtcAddNameExpression(program, family.kernel(kind).encode())
        options = [*kernels.OPTIONS, f"-arch={architecture}", "--ptxas-options=-v"]
        array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        failed = nvrtc.nvrtcCompileProgram(program, len(options), array)
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        if failed:
            raise RuntimeError(f"{family.name} can't be compiled for {architecture}:\n{log.value.decode()}")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return usages(log.value.decode())


def usages(log: str) -> list[Usage]:
    """Return what a log of ptxas says of each kernel."""
    found = []
    for part in log.split("Compiling entry function '")[1:]:
        frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
        registers = re.search(r"Used (\d+) registers", part)
        assert frame is not None, part
        assert registers is not None, part
        stack, stores, loads = map(int, frame.groups())
        found.append(Usage(part.split("'")[0], int(registers[1]), stack, stores + loads))
    return found
