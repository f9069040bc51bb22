"""What the acceptance has found: records for the JSON file, lines for the reader, and the time left."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Report:
    """Collects the outcome of every check.

    Parameters
    ----------
    seconds : float
        How long everything may take. What has no turn by then is not accepted.
    say : function
        Takes the lines for the reader.
    """

    def __init__(self, seconds: float, say: Callable[[str], Any] = print) -> None:
        self._started = time.monotonic()
        self._seconds = seconds
        self._say = say
        self.about: dict[str, Any] = {}
        self.records: list[dict[str, Any]] = []

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def has_time(self, section: str, name: str) -> bool:
        """Return whether there is time for a check; else it is recorded as one that had no turn."""
        if self.elapsed < self._seconds:
            return True
        self.add(section, name, "no time was left for it")
        return False

    def add(
        self, section: str, name: str, problem: str | None = None, line: str = "", **figures: Any
    ) -> None:
        """Record a check; `problem` says what is wrong, `line` is for the reader."""
        self.records.append({"section": section, "name": name, "problem": problem, **figures})
        if problem is not None:
            self._say(f"FAILED {section}: {name}: {problem}" + (f" ({line})" if line else ""))
        elif line:
            self._say(f"{section}: {name}: {line}")

    def attempt(self, section: str, name: str, check: Callable[[], str | None]) -> None:
        """Run one check, which returns what is wrong or None; whatever it raises is wrong too."""
        if not self.has_time(section, name):
            return
        try:
            problem = check()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        self.add(section, name, problem)

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The records that have a problem."""
        return [record for record in self.records if record["problem"] is not None]

    def close(self, path: Path) -> bool:
        """Write the JSON file, sum up, and return whether everything is accepted."""
        sections: dict[str, list[bool]] = {}
        for record in self.records:
            sections.setdefault(record["section"], []).append(record["problem"] is None)
        for section, passed in sections.items():
            self._say(f"{section}: {sum(passed)} of {len(passed)} passed")
        accepted = bool(self.records) and not self.failed
        content = {
            **self.about,
            "seconds": round(self.elapsed, 1),
            "accepted": accepted,
            "records": self.records,
        }
        path.write_text(json.dumps(content, indent=1) + "\n")
        self._say(
            f"{'accepted' if accepted else 'NOT accepted'} after {self.elapsed:.0f} s; all of it: {path}"
        )
        return accepted
