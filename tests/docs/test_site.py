"""The site builds without a warning, and every link inside it leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import ROOT

pytest.importorskip("sphinx", reason="the pages' own packages are not installed")

#: Links in Markdown: [text](place) outside of code.
LINK = re.compile(r"\]\(([^)\s]+)\)")


class Page(HTMLParser):
    """The names and links of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id":
                self.names.add(value)
            elif name in ("href", "src") and tag != "use":
                self.links.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--no-color", "--fail-on-warning", "--keep-going"]
    done = subprocess.run(
        [*command, "-d", folder / "cache", "-b", "html", ROOT / "docs", folder / "html"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def html(site: Path) -> list[Path]:
    """Return the pages; the theme's own files are none."""
    return [path for path in site.rglob("*.html") if "_static" not in path.relative_to(site).parts]


def inside(page: Path, links: list[str]) -> Iterator[tuple[str, Path, str]]:
    """Yield the links that stay within the site: as written, the file, and the name in it."""
    for link in links:
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc and link not in ("", "#"):
            target = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
            yield link, target, unquote(parts.fragment)


def test_links_lead_somewhere(site: Path) -> None:
    pages = {path: Page(path.read_text()) for path in html(site)}
    assert len(pages) > 30
    wrong = []
    for path, page in pages.items():
        for link, target, name in inside(path, page.links):
            if not target.exists():
                wrong.append(f"{path.relative_to(site)}: {link}")
            elif name and target in pages and name not in pages[target].names:
                wrong.append(f"{path.relative_to(site)}: {link}: no such place in the page")
    assert not wrong, "\n".join(wrong)


def test_every_page_is_reached(site: Path) -> None:
    """From the home page, by links alone."""
    found, left = set(), [site / "index.html"]
    while left:
        page = left.pop()
        if page in found or page.suffix != ".html":
            continue
        found.add(page)
        left += [target for _, target, _ in inside(page, Page(page.read_text()).links)]
    assert {path for path in html(site) if path.name not in ("genindex.html", "search.html")} <= found


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_repository(name: str) -> None:
    """These are read where there is no site."""
    links = [urlsplit(link) for link in LINK.findall((ROOT / name).read_text())]
    assert [link.path for link in links if not link.scheme and not (ROOT / link.path).exists()] == []
