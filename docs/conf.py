"""Sphinx settings: pages in Markdown, the reference from the docstrings."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "xpreduce"
author = "the xpreduce developers"
copyright = f"2026, {author}"  # noqa: A001  # Sphinx wants this name
# Read, not imported: the number is right even where the installed package is another one.
found = re.search(r'^__version__ = "(.+)"', (ROOT / "src/xpreduce/__init__.py").read_text(), re.MULTILINE)
assert found is not None
release = version = found[1]

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx_design",
    "support_table",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
# The default page of a class lists its members a second time, beside what numpydoc makes of its docstring.
templates_path = ["_templates"]

nitpicky = True
# The standard library's and the array libraries' own pages are not linked to: builds need no network.
nitpick_ignore_regex = [("py:.*", r"(?!xpreduce).*")]

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's Parameters say it
numpydoc_show_class_members = False
numpydoc_validation_checks = {
    "GL03",  # blank lines between sections
    "GL07",  # order of sections
    "GL08",  # no docstring
    "SS01",  # no summary
    "SS03",  # the summary ends with a period
    "SS06",  # the summary fits on one line
    "PR01",  # a parameter is missing
    "PR02",  # a parameter that doesn't exist
    "PR03",  # parameters in another order
    "RT01",  # nothing said about the result
    "EX01",  # no example
}
# What no caller makes documents attributes, not parameters, and needs no example.
numpydoc_validation_exclude = {
    r"^xpreduce\.(Explanation|Installed)$",
    r"^xpreduce\.(protocol|operators|dtypes)\.",
    r"^xpreduce\.axes\.Plan",
}
doctest_global_setup = "import numpy as np\nimport xpreduce"

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "dollarmath"]

html_theme = "pydata_sphinx_theme"
html_title = "xpreduce"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
