"""Which operator takes which dtype on which backend: a table made of the code's own declarations.

The directive ``{support-table}`` puts it into a page. `support` is what it shows; a test tries every cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import xpreduce
from xpreduce import dispatch
from xpreduce.dtypes import DTYPES, SMALL, in_namespace
from xpreduce.operators import OPERATORS, Operator

#: The dtype of the result where `dtype=` must name one.
WIDER = "int32"

#: Elements from which on compiling pays.
LARGE = 2**16

NOTHING = "\N{EN DASH}"
BREAK = "\N{ZERO WIDTH SPACE}"

NOTES = {
    "numpy": "NumPy; bold where large arrays have a compiled kernel",
    "dask": "Dask, chunk by chunk, with the backend of the chunks",
    "cupy": "CuPy, on its device",
    "portable": "any library that follows the array API standard, as far as it has the dtype",
}


def backends() -> list[str]:
    """Return the backends of this distribution, by the names that `use_backend` takes."""
    return [*(prefix.partition(".")[0] for prefix in dispatch.BUILT_IN), "portable"]


def takes(operator: Operator, dtype: str) -> str:
    """Return "yes", "with dtype" where `dtype=` must name the result's, or "no"."""
    if dtype in operator.dtypes:
        return "yes"
    return "with dtype" if dtype in SMALL else "no"


def compiled(operator: Operator, dtype: str) -> bool:
    """Whether a large NumPy array of this dtype is reduced by a compiled kernel."""
    result = None if dtype in operator.dtypes else WIDER
    x = np.zeros(LARGE, in_namespace(np, dtype))
    return xpreduce.explain(operator.name, x, dtype=result).kernel.startswith("compiled")


def support() -> dict[str, dict[str, str]]:
    """Return by operator and dtype what `takes` says."""
    return {
        operator.name: {dtype: takes(operator, dtype) for dtype in DTYPES} for operator in OPERATORS.values()
    }


class SupportTable(SphinxDirective):
    """Puts the table, and what its letters mean, into a page."""

    def run(self) -> list[nodes.Node]:
        group = nodes.tgroup(cols=1 + len(OPERATORS))
        group += [nodes.colspec(colwidth=1) for _ in range(1 + len(OPERATORS))]
        head, body = nodes.thead(), nodes.tbody()
        # Names may break at their underscores, so that the columns stay narrow.
        head += row(["", *(operator.short.replace("_", f"_{BREAK}") for operator in OPERATORS.values())])
        found = support()
        for dtype in DTYPES:
            body += row([dtype, *(cell(OPERATORS[name], dtype, found[name][dtype]) for name in OPERATORS)])
        group += [head, body]
        table = nodes.table("", group, classes=["support-table"])
        legend = nodes.bullet_list()
        for name in backends():
            text = nodes.paragraph("", "", nodes.strong(text=name[0].upper()), nodes.Text(f" {NOTES[name]}"))
            legend += nodes.list_item("", text)
        rest = f"(in brackets) with dtype= for a result of another dtype; {NOTHING} not taken"
        legend += nodes.list_item("", nodes.paragraph("", rest))
        return [nodes.container("", table, classes=["pst-scrollable-table-container"]), legend]


def row(cells: list[Any]) -> nodes.row:
    """Return a row of a table; a cell is a text, a node, or several."""
    found = nodes.row()
    for content in cells:
        parts = content if isinstance(content, list) else [content]
        entry = nodes.paragraph("", "", *(nodes.Text(p) if isinstance(p, str) else p for p in parts))
        found += nodes.entry("", entry)
    return found


def cell(operator: Operator, dtype: str, how: str) -> list[Any]:
    """Return the letters of the backends that serve an operator and a dtype."""
    if how == "no":
        return [NOTHING]
    letters: list[Any] = []
    for name in backends():
        bold = name == "numpy" and compiled(operator, dtype)
        letters += [nodes.strong(text=name[0].upper()) if bold else name[0].upper(), " "]
    return letters[:-1] if how == "yes" else ["(", *letters[:-1], ")"]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("support-table", SupportTable)
    return {"parallel_read_safe": True}
