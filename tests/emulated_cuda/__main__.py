"""Proves the CUDA kernels without a GPU, more than the tests have time for.

    PYTHONPATH=src:backends:tests python -m emulated_cuda whole      every launch, layout, dtype and result
    PYTHONPATH=src:backends:tests python -m emulated_cuda sanitized  some of them under the sanitizers
    PYTHONPATH=src:backends:tests python -m emulated_cuda faults     every planted fault is caught
    PYTHONPATH=src:backends:tests python -m emulated_cuda compiled   every family compiles, nothing is spilled

Each prints what it did, and ends with 1 if something is wrong. `compiled` needs NVRTC and the others g++;
`sanitized` needs AddressSanitizer, and starts itself anew with its library loaded first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import exact

from emulated_cuda import nvrtc
from emulated_cuda.cases import EIGHT, LAYOUTS, check_states, conversions, dtypes_of, kinds_of, try_layout
from emulated_cuda.emulator import SANITIZERS, Emulator
from emulated_cuda.families import every_family
from emulated_cuda.faults import BEYOND, FAULTS, is_caught, try_orders

Job = tuple[str, str, str]


def jobs() -> Iterator[Job]:
    """Yield all (operator, dtype, result) that there are."""
    for op in exact.OPERATORS:
        yield from ((op, dtype, dtype) for dtype in dtypes_of(op))
        yield from ((op, dtype, result) for dtype, result in conversions(op))


def whole(job: Job) -> str:
    """Try all launches of all layouts on values of every kind; where the dtype changes, some on one kind."""
    op, dtype, result = job
    count, emulator = 0, Emulator()
    for seed, layout in enumerate((*LAYOUTS, EIGHT)):
        kinds = kinds_of(dtype)
        if dtype == result:
            count += sum(try_layout(emulator, *job, layout, kind, seed, some=None) for kind in kinds)
        else:
            count += try_layout(emulator, *job, layout, kinds[seed % len(kinds)], seed, some=5)
    if dtype == result:
        check_states(emulator, op, dtype)
        try_orders(emulator, op, dtype)
    return f"{op} of {dtype} to {result}: {count} launches"


def sanitized(job: Job) -> str:
    """Try some launches; a read or write beside an array, or undefined behaviour, ends the process."""
    op, dtype, result = job
    emulator = Emulator(flags=SANITIZERS)
    count = sum(
        try_layout(emulator, op, dtype, result, layout, kind, seed, some=3)
        for seed, layout in enumerate(LAYOUTS)
        for kind in kinds_of(dtype)
    )
    check_states(emulator, op, dtype)
    return f"{op} of {dtype}, sanitized: {count} launches"


def faults(index: int) -> str:
    """Plant a fault."""
    found = is_caught(FAULTS[index])
    assert found is not None, f"not caught: {FAULTS[index].name}"
    return f"{FAULTS[index].name}: caught by {found}"


def compiled(index: int) -> str:
    """Compile a family for every architecture."""
    family, text = every_family()[index], []
    for architecture in nvrtc.ARCHITECTURES:
        usages = nvrtc.compile_family(family, architecture)
        for usage in usages:
            assert usage.stack == usage.spilled == 0, usage
        text.append(f"{architecture}: {max(usage.registers for usage in usages)} registers at most")
    return f"{family.name}: {', '.join(text)}"


def attempted(what: Callable[..., str], job: object) -> tuple[bool, str]:
    """Return whether a job went well, and its report."""
    try:
        return True, what(job)
    except Exception as error:
        notes = getattr(error, "__notes__", [])
        return False, "\n".join((f"FAILED: {job}: {type(error).__name__}: {error}"[:2000], *notes))


def run(name: str) -> bool:
    """Run everything of a kind on all cores, and print how it went."""
    what, all_jobs = {
        "whole": (whole, list(jobs())),
        "sanitized": (sanitized, [(op, dtype, dtype) for op in exact.OPERATORS for dtype in dtypes_of(op)]),
        "faults": (faults, list(range(len(FAULTS)))),
        "compiled": (compiled, list(range(len(every_family())))),
    }[name]
    started, failed, launches = time.monotonic(), 0, 0
    with ProcessPoolExecutor() as pool:
        for good, report in pool.map(attempted, [what] * len(all_jobs), all_jobs):
            print(report, flush=True)
            failed += not good
            if report.endswith("launches"):
                launches += int(report.split()[-2])
    total = f", {launches} launches" if launches else ""
    print(f"{name}: {len(all_jobs)} jobs{total}, {failed} failed, {time.monotonic() - started:.0f} s")
    return not failed


def with_sanitizers() -> int:
    """Start anew with AddressSanitizer's library in front of all others, as it wants to be."""
    found = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    options = "detect_leaks=0:detect_stack_use_after_return=0"
    env = {**os.environ, "LD_PRELOAD": found.stdout.strip(), "ASAN_OPTIONS": options}
    command = [sys.executable, "-m", "emulated_cuda"]
    seen = subprocess.run([*command, "beyond"], env=env, capture_output=True, text=True)
    if "heap-buffer-overflow" not in seen.stderr:
        print("FAILED: a read beyond the end of an array is not seen")
        return 1
    print("a planted read beyond the end of an array: seen")
    return subprocess.run([*command, "sanitized"], env=env).returncode


def beyond() -> None:
    """Reduce an array by a kernel that reads one value too many."""
    emulator = Emulator(source=BEYOND.source(), flags=SANITIZERS)
    try_layout(emulator, "max", "uint8", "uint8", LAYOUTS[0], "full", 0, some=None)


def main() -> int:
    """Do what the command line asks for."""
    if sys.argv[1:] == ["beyond"]:
        beyond()
        return 0
    if len(sys.argv) != 2 or sys.argv[1] not in ("whole", "sanitized", "faults", "compiled"):
        print(__doc__)
        return 2
    if sys.argv[1] == "compiled" and nvrtc.missing():
        print(nvrtc.missing())
        return 1
    if sys.argv[1] == "sanitized" and "ASAN_OPTIONS" not in os.environ:
        return with_sanitizers()
    return 0 if run(sys.argv[1]) else 1


if __name__ == "__main__":
    sys.exit(main())
