"""What the process uses of memory, what the machine has left, and what malloc does with freed blocks."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

MIB = 2**20

#: Bytes that loading the compiler, and compiling kernels that are not cached yet, add in the midst of a run.
COMPILING = 64 * MIB

#: Share of the available memory that a run may use where --memory-limit is not given.
DEFAULT_SHARE = 0.5


def default_limit() -> int | None:
    """Return the limit for a run that names none, or None where the machine does not tell."""
    free = available()
    return None if free is None else int(free * DEFAULT_SHARE)


def available() -> int | None:
    """Return the bytes that can be used without swapping, a container's limit included."""
    sizes = [size for size in (_meminfo("MemAvailable"), *_cgroup_limits()) if size is not None]
    if not sizes and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    return min(sizes, default=None)


def resident() -> int:
    """Return the bytes of memory that this process holds now (where unknown, the most it has held)."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 128 * MIB
    # Linux counts in KiB, macOS in bytes.
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def set_malloc(*, reuse: bool) -> None:
    """Tell glibc what to do with freed blocks of a megabyte and more.

    Left alone, each thread gets an arena of its own that takes and keeps blocks of whatever sizes were
    freed before, and a process grows far beyond what is alive in it. Either all threads share one arena
    and blocks are reused, which saves the page faults of fresh memory (half of the time of a run) and
    costs some fragmentation; or each block goes back to the system at once, which costs none.
    Other C libraries have no such setting, and none is needed.

    Parameters
    ----------
    reuse : bool
        Whether freed blocks are kept for reuse.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    m_trim_threshold, m_mmap_threshold, m_arena_max = -1, -3, -8
    mallopt(m_arena_max, 1)
    # 32 MiB is the highest threshold that glibc takes: larger blocks always go back.
    mallopt(m_mmap_threshold, 32 * MIB if reuse else MIB)
    mallopt(m_trim_threshold, 64 * MIB if reuse else MIB)


def _meminfo(field: str) -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    return None


def _cgroup_limits() -> list[int]:
    # Version 2 (also seen from inside a container), then version 1; "max" and absurd sizes mean none.
    limits = []
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = (Path("/sys/fs/cgroup") / name).read_text().strip()
        except OSError:
            continue
        if text.isdigit() and int(text) < 2**60:
            limits.append(int(text))
    return limits
