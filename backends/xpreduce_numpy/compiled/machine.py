"""From LLVM's language to functions in memory, and object code on disk for the next process.

Every kernel has a file of its own in the user's cache directory, named after all that its code depends
on. It is written under another name and then renamed, so that processes that start together see a whole
file or none; what can't be read or written is compiled again.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
from llvmlite import binding
from platformdirs import user_cache_path

from xpreduce.algebra import pairs

_lock = threading.RLock()
_modules: dict[tuple[Any, ...], dict[str, Callable[[int], int]]] = {}
_engines: list[Any] = []
_DIGEST = 32

HELD = " held"
"""What ends the names under which functions keep Python's lock, for what takes less time than getting it."""


def functions(names: tuple[str, ...], key: tuple[Any, ...], source: Callable[[], str]) -> dict[str, Any]:
    """Return functions of one address, by name, of the module that `source` writes.

    Parameters
    ----------
    names : tuple of str
        The functions' names.
    key : tuple
        What tells the module from all others.
    source : function of ()
        Returns the module; called only if it is not compiled yet.
    """
    found = _modules.get(key)
    if found is None:
        with _lock:
            found = _modules.get(key)
            if found is None:
                found = _modules[key] = _loaded(_code(key, source), names)
    return found


def _code(key: tuple[Any, ...], source: Callable[[], str]) -> bytes:
    digest = hashlib.sha256(repr((key, _surroundings())).encode()).hexdigest()
    path = directory() / f"{digest}.o"
    try:
        content = path.read_bytes()
    except OSError:
        content = b""
    code = content[_DIGEST:]
    if len(content) > _DIGEST and hashlib.sha256(code).digest() == content[:_DIGEST]:
        return code
    code = _compiled(source())
    _keep(path, hashlib.sha256(code).digest() + code)
    return code


def directory() -> Path:
    """Return the directory of the object code: ``XPREDUCE_CACHE_DIR``, or one in the user's cache."""
    given = os.environ.get("XPREDUCE_CACHE_DIR")
    return Path(given) if given else user_cache_path("xpreduce", appauthor=False) / "kernels"


def _keep(path: Path, content: bytes) -> None:
    """Write a file at once, or not at all where that is not possible."""
    temporary = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            temporary = file.name
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


@lru_cache(maxsize=1)
def _surroundings() -> tuple[str, ...]:
    """Return all that a kernel's code depends on besides its key: what writes it, and for what processor."""
    sources = hashlib.sha256()
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(pairs.__file__)):
        sources.update(path.read_bytes())
    return (
        sources.hexdigest(),
        llvmlite.__version__,
        repr(binding.llvm_version_info),
        binding.get_process_triple(),
        binding.get_host_cpu_name(),
        _features(),
    )


def _features() -> str:
    features = binding.get_host_cpu_features()
    # Its one instruction from float16 to double is slower than two by way of float32.
    features["avx512fp16"] = False
    return str(features.flatten())


@lru_cache(maxsize=1)
def _target() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=_features(),
        opt=3,
        codemodel="jitdefault",
        jit=True,
    )


def _compiled(source: str) -> bytes:
    """Return the object code of a module."""
    target = _target()
    module = binding.parse_assembly(source)
    module.triple = binding.get_process_triple()
    module.data_layout = str(target.target_data)
    module.verify()
    builder = binding.create_pass_builder(target, binding.create_pipeline_tuning_options(speed_level=1))
    builder.getModulePassManager().run(module, builder)
    return bytes(target.emit_object(module))


def _loaded(code: bytes, names: tuple[str, ...]) -> dict[str, Callable[[int], int]]:
    """Return the functions of one address that this object code holds under these names."""
    kinds = {
        "": ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64),
        HELD: ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64),
    }
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _target())
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)  # which owns the functions
    addresses = {name: engine.get_function_address(name) for name in names}
    return {name + held: kind(addresses[name]) for name in names for held, kind in kinds.items()}


if hasattr(os, "register_at_fork"):
    # Nobody may be inside LLVM, which has a lock of its own, when a process is forked.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
