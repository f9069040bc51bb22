"""The fenced code blocks of a Markdown page, each with what it should print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

MARK = re.compile(r"<!-- (needs|runs in): (.+) -->")
FENCE = re.compile(r"(?P<fence>`{3,})(?P<language>[\w{}-]*)( .*)?$")

#: The languages of blocks that can run.
RUNS = ("python", "pycon", "bash")


@dataclass
class Block:
    """One fenced block of a page."""

    language: str
    line: int
    code: str
    mark: str | None = None
    output: str | None = None


def blocks(page: Path) -> list[Block]:
    """Return a page's fenced blocks; an output is told by the block that prints it."""
    found: list[Block] = []
    lines = iter(enumerate(page.read_text().splitlines(), start=1))
    mark: str | None = None
    prints: Block | None = None  # the block that a text block found now would be the output of
    for number, line in lines:
        if opening := FENCE.fullmatch(line):
            inside = []
            for _, text in lines:
                if text == opening["fence"]:
                    break
                inside.append(text)
            else:
                raise ValueError(f"{page}:{number}: the block does not end")
            code = "\n".join(inside) + "\n"
            if opening["language"] == "text" and prints is not None and mark is None:
                prints.output = code
                prints = None
            else:
                prints = Block(opening["language"], number, code, mark)
                found.append(prints)
                prints = prints if prints.language in RUNS else None
            mark = None
        elif line.strip():
            match = MARK.fullmatch(line)
            mark = f"{match[1]}: {match[2]}" if match else None
            prints = None
    return found
