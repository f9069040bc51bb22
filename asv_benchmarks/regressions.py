"""Tell whether one commit is slower than another, on a machine that others use.

    python asv_benchmarks/regressions.py main HEAD       two commits
    python asv_benchmarks/regressions.py main .          a commit and the work tree

Each commit runs in a process of its own, and the two take turns on every cell, so that what disturbs one
disturbs the other. What counts is the ratio of their times: the median over the rounds, or the ratio of the
best times if that is smaller. Where it is above the factor, the cell is measured again in new processes, and
only what stays above it every time is a regression. Exits with 1 if there is one.

The benchmarks are those of this checkout; a commit gives the package alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from turns import CALL

HERE = Path(__file__).resolve().parent


class Cell(NamedTuple):
    """What is timed."""

    operator: str
    case: str
    dtype: str


#: Calls on tiny arrays, and each kind of kernel, layout and conversion once or twice.
CELLS = (
    Cell("ReduceL2", CALL, "float32"),
    Cell("ReduceSum", CALL, "float64"),
    *(Cell("ReduceL2", case, "float32") for case in ("full", "last long", "last 8", "first wide", "middle")),
    *(Cell("ReduceL2", "full", dtype) for dtype in ("float16", "bfloat16", "float64", "int32", "int64")),
    *(Cell("ReduceL2", "first wide", dtype) for dtype in ("float16", "float64", "int64")),
    *(Cell("ReduceSum", case, "float64") for case in ("full", "first few", "last two small")),
    Cell("ReduceMax", "full", "float32"),
    Cell("ReduceMax", "first wide", "float64"),
    Cell("ReduceMean", "both ends", "float32"),
    Cell("ReduceProd", "last long", "float64"),
    Cell("ReduceLogSumExp", "full", "float32"),
    Cell("ReduceLogSumExp", "first wide", "float64"),
)


@contextmanager
def tree(name: str) -> Iterator[Path]:
    """Give the source tree of a commit, or of a folder."""
    if Path(name, "src", "xpreduce").is_dir():
        yield Path(name).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tree"
        git = ["git", "-C", str(HERE)]
        commit = subprocess.run(
            [*git, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], capture_output=True, text=True
        ).stdout.strip()
        if not commit:
            sys.exit(f"{name} is neither a commit nor a folder with src/xpreduce")
        subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(place), commit], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(place)], check=True)


class Side:
    """One of the two: a process that times what it is asked for."""

    def __init__(self, root: Path, cache: Path) -> None:
        path = os.pathsep.join([str(root / "src"), str(root / "backends")])
        self.process = subprocess.Popen(
            [sys.executable, HERE / "turns.py"],
            env=os.environ | {"PYTHONPATH": path, "XPREDUCE_CACHE_DIR": str(cache)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        found = self._answer()
        if not Path(found).resolve().is_relative_to(root):
            raise RuntimeError(f"{found} is not the xpreduce of {root}")

    def seconds(self, cell: Cell, elements: int, repeats: int) -> float:
        """Return the best time of a cell."""
        assert self.process.stdin is not None
        self.process.stdin.write("\t".join([*cell, str(elements), str(repeats)]) + "\n")
        self.process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process failed with exit code {self.process.wait()}")
        return line.rstrip("\n")

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def ratio(base: Side, head: Side, cell: Cell, options: argparse.Namespace) -> float:
    """Return the second side's time over the first's; every other round goes the other way."""
    times: dict[Side, list[float]] = {base: [], head: []}
    for turn in range(options.rounds + 1):
        for side in (base, head) if turn % 2 else (head, base):
            seconds = side.seconds(cell, options.elements, options.repeats)
            if turn:  # the first round compiles and fills
                times[side].append(seconds)
    return judged(times[base], times[head])


def judged(base: list[float], head: list[float]) -> float:
    """Return how much longer one took than the other, by the kinder of two measures.

    Noise only ever adds. The best times leave it out if either had a quiet moment at all, the median of the
    ratios if it came and went slowly. More work shows in both.
    """
    ratios = [theirs / ours for theirs, ours in zip(head, base, strict=True)]
    return min(statistics.median(ratios), min(head) / min(base))


def regressions(base: Path, head: Path, options: argparse.Namespace) -> dict[Cell, list[float]]:
    """Return the cells that are slower every time, each with its ratios."""
    seen: dict[Cell, list[float]] = {cell: [] for cell in CELLS if options.operator in (None, cell.operator)}
    with ExitStack() as stack:
        caches = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        left = list(seen)
        for attempt in range(options.tries):
            if not left:
                break
            # New processes: where an array happens to lie, for one, is then another.
            with ExitStack() as processes:
                sides = []
                for root, cache in zip((base, head), caches, strict=True):
                    sides.append(Side(root, cache))
                    processes.callback(sides[-1].close)
                for cell in left:
                    seen[cell].append(ratio(*sides, cell, options))
                    slower = " ".join(f"{part:<15}" for part in cell) + f" ×{seen[cell][-1]:.3f}"
                    print(slower + (f"  (try {attempt + 1})" if attempt else ""), flush=True)
            left = [cell for cell in left if seen[cell][-1] > options.factor]
    return {cell: seen[cell] for cell in left}


def main() -> int:
    """Compare what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", help="a commit, or a folder")
    parser.add_argument("head", help="a commit, or a folder")
    parser.add_argument("--factor", type=float, default=1.2, help="what is slower than that (default 1.2)")
    parser.add_argument("--tries", type=int, default=4, help="how often it must be (default 4)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of a cell in each try")
    parser.add_argument("--repeats", type=int, default=5, help="calls in a turn, of which the best counts")
    parser.add_argument("--elements", type=int, default=2**22, help="in each array (default 2**22)")
    parser.add_argument("--operator", choices=sorted({cell.operator for cell in CELLS}), help="only one")
    options = parser.parse_args()
    with tree(options.base) as base, tree(options.head) as head:
        found = regressions(base, head, options)
    for cell, ratios in found.items():
        print(f"slower: {' '.join(cell)}: {', '.join(f'×{each:.2f}' for each in ratios)}")
    print(f"{len(found)} regressions beyond a factor of {options.factor:g}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
