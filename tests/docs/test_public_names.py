"""Every public name is documented: a numpydoc docstring, examples that run, a place in the reference."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import xpreduce

ROOT = Path(__file__).parents[2]
MODULES: list[Any] = [xpreduce]
with suppress(ImportError):  # it needs a package
    MODULES.append(importlib.import_module("xpreduce.onnx"))
PUBLIC = [
    pytest.param(module, name, id=f"{module.__name__}.{name}")
    for module in MODULES
    for name in module.__all__
]


def sections(docstring: str) -> dict[str, str]:
    """Return a numpydoc docstring's sections by their titles."""
    parts = re.split(r"^(\w[\w ]*)\n-+$", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def listed() -> dict[str, list[str]]:
    """Return the names that the reference lists, by their module."""
    found: dict[str, list[str]] = {}
    module = ""
    for line in (ROOT / "docs" / "reference" / "index.md").read_text().splitlines():
        if current := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
            module = current[1]
        elif name := re.fullmatch(r"(?: +|\.\. py:data:: )(\w+)", line):
            found.setdefault(module, []).append(name[1])
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_all_exists(module: Any) -> None:
    assert len(set(module.__all__)) == len(module.__all__)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert hasattr(module, name), name


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_docstring(module: Any, name: str) -> None:
    thing = getattr(module, name)
    if isinstance(thing, list):
        pytest.skip("a list has no docstring of its own")
    docstring = inspect.getdoc(thing)
    assert docstring, f"{name} has no docstring"
    summary = docstring.splitlines()[0]
    assert summary.endswith("."), f"{name}: the summary is one sentence"
    found = sections(docstring)
    assert "Examples" in found, f"{name} has no example"
    if inspect.isfunction(thing):
        documented = re.findall(r"^(\w+(?:, \w+)*)(?: : .+)?$", found.get("Parameters", ""), re.MULTILINE)
        names = [one for group in documented for one in group.split(", ")]
        assert names == list(inspect.signature(thing).parameters), f"{name}: Parameters"
        returns_nothing = inspect.signature(thing).return_annotation in ("None", "Iterator[None]")
        assert returns_nothing or "Returns" in found, f"{name}: Returns"


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_examples_run(module: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    thing = getattr(module, name)
    if isinstance(thing, list):
        pytest.skip("a list has no docstring of its own")
    tests = doctest.DocTestParser().get_doctest(
        inspect.getdoc(thing) or "", {"__name__": "__main__"}, name, None, 0
    )
    assert tests.examples, f"{name} shows nothing that runs"
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(tests, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_reference(module: Any) -> None:
    """Every public name is in the reference, and nothing else."""
    assert sorted(listed()[module.__name__]) == sorted(module.__all__)
