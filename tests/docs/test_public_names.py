"""Every public name is documented: a numpydoc docstring, examples that run, a place in the reference."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import xpreduce

ROOT = Path(__file__).parents[2]
PUBLIC = [name for name in xpreduce.__all__ if name != "__version__"]


def sections(docstring: str) -> dict[str, str]:
    """Return a numpydoc docstring's sections by their titles."""
    parts = re.split(r"^(\w[\w ]*)\n-+$", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_all_exists() -> None:
    assert len(set(xpreduce.__all__)) == len(xpreduce.__all__)
    for name in xpreduce.__all__:
        assert hasattr(xpreduce, name), name


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring(name: str) -> None:
    thing = getattr(xpreduce, name)
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


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    thing = getattr(xpreduce, name)
    tests = doctest.DocTestParser().get_doctest(
        inspect.getdoc(thing) or "", {"__name__": "__main__"}, name, None, 0
    )
    assert tests.examples, f"{name} shows nothing that runs"
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(tests, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("name", PUBLIC)
def test_reference(name: str) -> None:
    reference = (ROOT / "docs" / "reference" / "index.md").read_text()
    assert re.search(rf"^ +{re.escape(name)}$", reference, re.MULTILINE), f"{name} is not in the reference"


def test_reference_lists_nothing_else() -> None:
    reference = (ROOT / "docs" / "reference" / "index.md").read_text()
    listed = re.findall(r"^ +(\w+)$", reference, re.MULTILINE)
    assert sorted(listed) == sorted(PUBLIC)
