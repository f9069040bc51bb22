"""How a chart looks, and how it becomes an SVG that is readable on light and on dark pages."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl

mpl.use("svg")

from matplotlib.figure import Figure

OURS = "xpreduce"

#: Text and lines have this colour in the drawing, and that of the page's own text in the SVG.
INK = "#010203"

#: Marker and colour of each library, told apart without colours too (the palette of Okabe and Ito).
MARKS = {
    OURS: ("D", "#d55e00"),
    "numpy formula": ("o", "#0072b2"),
    "np.einsum": ("s", "#56b4e9"),
    "np.linalg.norm": ("^", "#56b4e9"),
    "np.vecdot": ("v", "#56b4e9"),
    "scipy": ("p", "#009e73"),
    "torch": ("<", "#cc79a7"),
    "jax": (">", "#cc79a7"),
    "onnxruntime": ("P", "#e69f00"),
    "numkong": ("X", "#e69f00"),
    "bottleneck": ("h", "#009e73"),
    "numbagg": ("*", "#009e73"),
    "NumPy": ("o", "#0072b2"),
    "PyTorch": ("<", "#cc79a7"),
    "ONNX Runtime": ("P", "#e69f00"),
    "ONNX reference": ("X", "#009e73"),
}

SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be read out, searched and scaled
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "legend.frameon": False,
    "lines.markersize": 7,
}


@contextmanager
def drawing(name: str, width: float, height: float) -> Iterator[Figure]:
    """Give an empty figure, of a size in inches, to draw the chart `name` on."""
    with mpl.rc_context(SETTINGS | {"svg.hashsalt": name}):
        yield Figure((width, height), layout="constrained")


def svg(figure: Figure, name: str, title: str) -> str:
    """Return a figure as the text of an SVG that stands in a page; `title` is what it shows, in words."""
    text = io.StringIO()
    with mpl.rc_context(SETTINGS | {"svg.hashsalt": name}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    found = text.getvalue()
    found = found[found.index("<svg") :].replace(INK, "currentColor")
    # Names must be unique in the page that all charts stand in.
    found = re.sub(r'\b(id="|href="#|url\(#)', rf"\1{name}-", found)
    found = re.sub(r"<metadata>.*?</metadata>\s*", "", found, flags=re.DOTALL)
    found = re.sub(r"[ \t]+$", "", found, flags=re.MULTILINE)
    return found.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
