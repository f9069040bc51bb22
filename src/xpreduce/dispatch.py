"""Which backend serves which array: one look-up per array type, cached; a backend loads when needed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from xpreduce.protocol import Backend

BUILT_IN: dict[str, str] = {
    "numpy": "xpreduce_numpy",
    "cupy": "xpreduce_cupy",
    "dask.array": "xpreduce_dask",
}
"""The module prefixes that the backends of this distribution serve, and their packages."""

INSTALL: dict[str, str] = {"xpreduce_numpy": "xpreduce[numpy]", "xpreduce_dask": "xpreduce[dask]"}
"""What to install where one of them is broken."""

GROUP = "xpreduce.backends"

_by_type: dict[type, Backend] = {}
_third_party: dict[str, str] | None = None
_forced: ContextVar[Backend | None] = ContextVar("xpreduce_backend", default=None)


def backend_for(x: Any) -> Backend:
    """Return the backend that serves `x`.

    Raises
    ------
    TypeError
        If no backend does; the message says what to do.
    ImportError
        If the backend that does can't be imported; the message says what to install.
    """
    forced = _forced.get()
    return own_backend(x) if forced is None else checked(forced, x)


def own_backend(x: Any) -> Backend:
    """Return the backend of the library of `x`, whatever `use_backend` says; raises as `backend_for`."""
    found = _by_type.get(type(x))
    return found if found is not None else _look_up(x)


def named(name: str) -> Backend:
    """Return the backend called `name`: "portable", a module prefix, or its last part ("dask").

    Raises
    ------
    ValueError
        If there is none of that name; the message lists those there are.
    """
    if name == "portable":
        return _portable()
    known = registered()
    for prefix, package in known.items():
        if name in (prefix, prefix.partition(".")[0]):
            return load(package)
    names = ", ".join(repr(prefix.partition(".")[0]) for prefix in known)
    raise ValueError(f"there is no backend {name!r}; there are {names} and 'portable'")


def checked(backend: Backend, x: Any) -> Backend:
    """Return `backend` if it serves arrays of the type of `x`, else raise TypeError with its reason."""
    reason = backend.refusal(type(x))
    if reason is None and backend is _portable():
        reason = None if _has_namespace(x) else _advice(x)
    if reason is not None:
        raise TypeError(reason)
    return backend


@contextmanager
def use_backend(name: str) -> Iterator[None]:
    """Force one backend for all calls in a ``with`` block, in this thread or task only.

    Parameters
    ----------
    name : str
        ``"numpy"``, ``"cupy"``, ``"dask"``, ``"portable"`` or the name of an installed third-party backend.

    Raises
    ------
    ValueError
        If there is no such backend. A call with an array that it can't serve raises a TypeError.

    Examples
    --------
    >>> import numpy as np, xpreduce
    >>> with xpreduce.use_backend("portable"):
    ...     xpreduce.reduce_sum(np.asarray([2.0**53, 1.0, -(2.0**53)]))
    array([1.])
    """
    token = _forced.set(named(name))
    try:
        yield
    finally:
        _forced.reset(token)


def registered() -> dict[str, str]:
    """Return the package of every installed backend by module prefix, the built-in ones first."""
    return BUILT_IN | _scan()


def load(package: str) -> Backend:
    """Import a backend's package.

    Raises
    ------
    ImportError
        If that fails; the message names the backend and what to install.
    """
    try:
        return cast(Backend, importlib.import_module(package))
    except ImportError as error:
        what = INSTALL.get(package, package)
        raise ImportError(
            f"the backend {package} can't be imported ({error}); try: pip install '{what}'"
        ) from error


def _look_up(x: Any) -> Backend:
    array_type = type(x)
    package = _package_for(array_type)
    if package is not None:
        backend = checked(load(package), x)
    elif _has_namespace(x):
        backend = _portable()
    else:
        raise TypeError(_advice(x))
    _by_type[array_type] = backend
    return backend


def _package_for(array_type: type) -> str | None:
    for base in array_type.__mro__[:-1]:
        package = _longest_prefix(base.__module__, BUILT_IN)
        # numpy.ma and its like hold subclasses of ndarray, which a third party may claim.
        if package is None or (base.__module__ != "numpy" and package == BUILT_IN["numpy"]):
            package = _longest_prefix(base.__module__, registered())
        if package is not None:
            return package
    return None


def _longest_prefix(module: str, table: dict[str, str]) -> str | None:
    while module:
        if module in table:
            return table[module]
        module = module.rpartition(".")[0]
    return None


def _scan() -> dict[str, str]:
    """Return the third-party backends by prefix, from the entry points; scanned once a process."""
    global _third_party
    if _third_party is None:
        from importlib.metadata import entry_points  # costs 30 ms

        found: dict[str, str] = {}
        for entry in entry_points(group=GROUP):
            if BUILT_IN.get(entry.name) == entry.value:
                continue
            other = BUILT_IN.get(entry.name) or found.get(entry.name)
            if other is not None and other != entry.value:
                raise RuntimeError(
                    f"two backends claim the arrays of {entry.name}: {other} and {entry.value}; "
                    "uninstall one of them"
                )
            found[entry.name] = entry.value
        _third_party = found
    return _third_party


def _portable() -> Backend:
    return load("xpreduce.portable")


def _has_namespace(x: Any) -> bool:
    import array_api_compat

    return bool(array_api_compat.is_array_api_obj(x))


def _advice(x: Any) -> str:
    kind = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
    if isinstance(x, (bool, int, float, complex, list, tuple, range)):
        return (
            f'a {kind} is not an array; make one first, for example with numpy.asarray(data, dtype="float32")'
        )
    known = ", ".join(registered())
    return (
        f"{kind} is not an array that xpreduce knows: backends are installed for {known}, and "
        "other libraries are served if they follow the Python array API standard"
    )


def forced() -> bool:
    """Whether `use_backend` is in force here."""
    return _forced.get() is not None


def name_of(backend: Backend) -> str:
    """Return a backend's package, or its class where it is no module."""
    return getattr(backend, "__name__", None) or type(backend).__qualname__
