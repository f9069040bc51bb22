"""What pyproject.toml promises fits what is in the repository, and no file speaks of one machine."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BACKENDS = sorted(path.name for path in (ROOT / "backends").iterdir() if path.name.startswith("xpreduce_"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
#: Extras for those who work on the project; they hold `all` or nothing of it.
FOR_DEVELOPERS = {"test", "bench", "accuracy", "peers", "lint", "docs", "nvrtc"}


def requirements(extra: str) -> set[str]:
    """Return what an extra installs, its own extras resolved."""
    found: set[str] = set()
    for requirement in EXTRAS[extra]:
        own = re.fullmatch(r"xpreduce\[(.+)\]", requirement)
        if own:
            found.update(*(requirements(name.strip()) for name in own[1].split(",")))
        else:
            found.add(requirement)
    return found


def files() -> list[Path]:
    """Return the repository's files: those git knows or would add, or all where there is no git."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\0")
        return [ROOT / name for name in listed if name and (ROOT / name).is_file()]
    hidden = re.compile(r"\.(?!ci$|github$|gitignore$)|(build|dist|data|_build|generated|__pycache__)$")
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not any(hidden.match(part) for part in path.relative_to(ROOT).parts)
    ]


def test_every_backend_is_an_entry_point() -> None:
    registered = PROJECT["project"]["entry-points"]["xpreduce.backends"]
    assert sorted(registered.values()) == BACKENDS


def test_every_backend_is_in_the_wheel() -> None:
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sorted(packages) == sorted(["src/xpreduce", *(f"backends/{name}" for name in BACKENDS)])


def test_every_backend_is_typed_and_checked() -> None:
    for name in BACKENDS:
        assert (ROOT / "backends" / name / "py.typed").exists(), name
    assert sorted(PROJECT["tool"]["mypy"]["packages"]) == sorted(["xpreduce", *BACKENDS])


def test_all_is_everything_but_cuda() -> None:
    public = [name for name in EXTRAS if not name.startswith("cuda") and name not in FOR_DEVELOPERS]
    everything = set().union(*(requirements(name) for name in public))
    assert requirements("all") == everything


@pytest.mark.parametrize("extra", sorted(FOR_DEVELOPERS - {"lint", "nvrtc"}))
def test_developers_extras_hold_all(extra: str) -> None:
    assert requirements("all") <= requirements(extra)


def test_extras_are_described() -> None:
    """A reader learns the extras from one table: the one in docs/getting_started.md."""
    page = (ROOT / "docs" / "getting_started.md").read_text()
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == sorted(EXTRAS)


def test_supported_pythons_are_declared() -> None:
    lowest = PROJECT["project"]["requires-python"].removeprefix(">=")
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert declared[0] == lowest


def test_changelog_has_this_version() -> None:
    version = re.search(
        r'^__version__ = "(.+)"', (ROOT / "src/xpreduce/__init__.py").read_text(), re.MULTILINE
    )
    assert version is not None
    assert f"## {version[1]}" in (ROOT / "CHANGELOG.md").read_text()


def test_no_file_names_a_machine() -> None:
    """Paths of the machine that a file was written on mean nothing elsewhere."""
    places = re.compile("|".join(("/wor" + "k/", "/roo" + "t/", "/hom" + "e/")))
    found = []
    for path in files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
            for number, line in enumerate(text.splitlines(), start=1)
            if places.search(line)
        ]
    assert not found, "\n".join(found)
