"""Builds the kernels with g++ and launches them: the same source that NVRTC compiles, threads as fibers.

Each family is built into a library of its own when it is first asked for, and kept in a folder by a
hash of everything that went into it.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from xpreduce_cupy import kernels

KINDS = ("rows", "strided", "merge", "combine", "finish")
FLAGS = (
    "-std=c++17",
    "-O1",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-Wall",
    "-Wno-unknown-pragmas",
    "-U_FORTIFY_SOURCE",
)
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")

_HERE = Path(__file__).parent
_ENTRIES = """
typedef {family} Family;
template <void (*kernel)(Arguments)> void run(const void* arguments) {{
    kernel(*(const Arguments*)arguments);
}}
static void (*const kernels[])(const void*) = {{{kernels}}};
extern "C" long long accumulator_bytes() {{ return sizeof(Family::State); }}
extern "C" long long arguments_bytes() {{ return sizeof(Arguments); }}
extern "C" int launch(int kind, const void* arguments, unsigned grid, unsigned block, int backward) {{
    return emulator::launch(kernels[kind], arguments, grid, block, backward);
}}
"""


def missing() -> str | None:
    """Return why nothing can be built here, or None."""
    return None if shutil.which("g++") else "the CUDA kernels' emulator needs g++"


@dataclass(frozen=True)
class Emulator:
    """Runs kernels of one source, built with certain flags.

    Attributes
    ----------
    source : str
        The kernels' source, or a changed one.
    flags : tuple of str
        More flags for g++.
    backward : bool
        Whether blocks and their threads take turns from the last one to the first.
    """

    source: str = field(default_factory=kernels.source, repr=False)
    flags: tuple[str, ...] = ()
    backward: bool = False

    def launch(
        self, family: kernels.Family, kind: str, arguments: kernels.Arguments, grid: int, block: int
    ) -> None:
        """Run a kernel to its end."""
        library = build(self.source, family.name, self.flags)
        assert library.accumulator_bytes() == family.accumulator_bytes
        assert library.arguments_bytes() == ctypes.sizeof(arguments)
        good = library.launch(KINDS.index(kind), ctypes.byref(arguments), grid, block, self.backward)
        assert good, f"some threads of {family.kernel(kind)} wait for others that have ended"


@cache
def build(source: str, family: str, flags: tuple[str, ...] = ()) -> ctypes.CDLL:
    """Return the library of a family, built if it has not been before."""
    header = (_HERE / "cuda_on_cpu.h").read_text(encoding="utf-8").replace("#pragma once\n", "")
    entries = _ENTRIES.format(family=family, kernels=", ".join(f"run<{kind}<Family>>" for kind in KINDS))
    text = "\n".join((header, source, entries))
    command = ["g++", *FLAGS, *flags, "-fno-gnu-unique", "-shared", "-fPIC", "-x", "c++", "-"]
    digest = hashlib.sha256("\0".join([text, *command]).encode()).hexdigest()[:32]
    folder = Path(os.environ.get("XPREDUCE_CACHE_DIR") or tempfile.gettempdir()) / "xpreduce-emulated-cuda"
    library = folder / f"{digest}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        built = folder / f"{digest}.{os.getpid()}"
        done = subprocess.run([*command, "-o", str(built)], input=text, text=True, capture_output=True)
        if done.returncode or done.stderr:
            raise RuntimeError(f"{family} can't be built:\n{done.stderr[:4000]}")
        built.replace(library)
    return ctypes.CDLL(str(library))
