"""What would run, and what is installed: `explain` and `backends`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xpreduce import dispatch
from xpreduce.operators import find
from xpreduce.preparation import prepare
from xpreduce.protocol import Status


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a call would do.

    Attributes
    ----------
    operator : str
        The operator's ONNX name.
    array : str
        The array's type, dtype and shape.
    backend : str
        The backend's package.
    reason : str
        Why it is this backend.
    kernel : str
        What would run, on which layout, and why.
    """

    operator: str
    array: str
    backend: str
    reason: str
    kernel: str

    def __str__(self) -> str:
        return (
            f"{self.operator} of {self.array}\nbackend: {self.backend} ({self.reason})\nkernel: {self.kernel}"
        )


def explain(
    op: str,
    data: Any,
    axes: Any = None,
    *,
    noop_with_empty_axes: Any = False,
    dtype: Any = None,
    backend: str | None = None,
) -> Explanation:
    """Tell which backend and which kernel would run, and why; nothing is computed.

    Parameters
    ----------
    op : str
        The operator's name, as in `reduce`.
    data, axes, noop_with_empty_axes, dtype, backend
        As in the reduction itself.

    Returns
    -------
    Explanation
        Prints as three lines; its fields are ``operator``, ``array``, ``backend``, ``reason`` and
        ``kernel``.

    Raises
    ------
    AxisError, TypeError, ValueError
        As the reduction itself would.

    Examples
    --------
    >>> import numpy as np, xpreduce
    >>> print(xpreduce.explain("l2", np.ones((1024, 1024), dtype="float32"), axes=0))
    ReduceL2 of numpy.ndarray, float32, shape (1024, 1024)
    backend: xpreduce_numpy (serves numpy.ndarray)
    kernel: ...
    """
    operator = find(op)
    served, reduction = prepare(operator, data, axes, True, noop_with_empty_axes, dtype, backend)
    kind = f"{type(data).__module__}.{type(data).__qualname__}"
    if backend is not None:
        reason = "asked for by backend="
    elif dispatch.forced():
        reason = "forced by use_backend"
    else:
        reason = f"serves {kind}"
    kernel = (
        "none: the input is returned unchanged"
        if reduction.plan.unchanged
        else served.kernel(data, reduction)
    )
    array = f"{kind}, {reduction.dtype.name}, shape {tuple(data.shape)}"
    return Explanation(operator.name, array, dispatch.name_of(served), reason, kernel)


@dataclass(frozen=True, slots=True)
class Installed:
    """One backend as `backends` lists it.

    Attributes
    ----------
    serves : str
        The module prefix of the arrays that it serves.
    package : str
        The backend's package.
    version : str
        The version of the array library, or an empty string where it is missing.
    ready : bool
        Whether it can work: the library is installed, and its device is there.
    note : str
        What is missing and how to get it, or what there is to know.
    """

    serves: str
    package: str
    version: str
    ready: bool
    note: str


def backends() -> dict[str, Installed]:
    """List the backends, whether each can work here, and what to do where it can't.

    Returns
    -------
    dict of str to Installed
        By the name that `use_backend` takes. The fields of each are ``serves``, ``package``,
        ``version``, ``ready`` and ``note``. Every library that has a backend is imported to ask for its
        version; one that is broken or missing is listed with the reason and breaks nothing.

    Examples
    --------
    >>> import xpreduce
    >>> xpreduce.backends()["numpy"].ready
    True
    """
    found = {}
    packages = {**dispatch.registered(), "*": "xpreduce.portable"}
    for prefix, package in packages.items():
        try:
            status = dispatch.load(package).status()
        except ImportError as error:
            status = Status("", False, str(error))
        name = "portable" if prefix == "*" else prefix.partition(".")[0]
        # numpy is the backend of numpy's own arrays, so that of numpy.ma goes by its whole prefix.
        found[prefix if name in found else name] = Installed(
            prefix, package, status.version, status.ready, status.note
        )
    return found
