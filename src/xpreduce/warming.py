"""Compile kernels ahead, for those who want no delay at the first call."""

from __future__ import annotations

from collections.abc import Iterable

from xpreduce.dtypes import DTYPES, ORDERED
from xpreduce.operators import OPERATORS, find_all


def warm_up(operators: Iterable[str] | None = None, dtypes: Iterable[str] | None = None) -> int:
    """Compile the kernels of these operators and dtypes, or load them from disk, before they are needed.

    Without it, the first reduction of a large NumPy array by each operator, dtype and kind of layout
    compiles its kernel, which takes some tenths of a second; in later processes it is read from the
    user's cache directory within milliseconds.

    Parameters
    ----------
    operators : iterable of str, optional
        Names as `reduce` takes them, such as ``"ReduceL2"`` or ``"l2"``; all ten if not given.
    dtypes : iterable of str, optional
        Names of dtypes, such as ``"float32"``; all that the operators take if not given. All operators
        and dtypes take some minutes.

    Returns
    -------
    int
        How many modules of kernels are ready; 0 where what compiles them is not installed.

    Raises
    ------
    ValueError
        If a name is not that of an operator.
    TypeError
        If a dtype is not known, or a string comes where a sequence of names must.

    Examples
    --------
    >>> import xpreduce
    >>> xpreduce.warm_up(["l2"], ["float32"]) in (0, 6)
    True
    """
    chosen = find_all(operators, "operators") if operators is not None else list(OPERATORS.values())
    if isinstance(dtypes, str):
        raise TypeError(f"dtypes must be a sequence of dtypes' names, such as [{dtypes!r}], not a string")
    names = tuple(dtypes) if dtypes is not None else ORDERED
    for name in names:
        if name not in DTYPES:
            raise TypeError(f"{name!r} is not a dtype that xpreduce knows; known are {', '.join(ORDERED)}")
    import xpreduce_numpy

    return sum(
        xpreduce_numpy.warm_up(operator, DTYPES[name])
        for operator in chosen
        for name in names
        if name in operator.dtypes
    )
