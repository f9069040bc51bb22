"""Accept the CuPy backend on a GPU: one command, at most five minutes, a JSON file with all figures.

    python -m pip install -e '.[test,cuda13x]' torch
    python tests/gpu/accept.py --output accept.json

It checks numbers against exact arithmetic, arrays beyond 2**31 elements, streams, memory and exchange with
other libraries, and measures bandwidth beside a copy and the peers. The exit code is 0 where everything is
accepted, 1 where something failed or had no turn, 2 for wrong usage, and 3 where it can't run at all: without
a device, a driver, CuPy, or what the checks themselves need.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CANNOT_RUN = 3
SECONDS = 290


def missing() -> str | None:
    """Return why nothing can be checked here, and what to do about it, or None."""
    try:
        import xpreduce
    except ImportError as error:
        return f"xpreduce can't be imported ({error}); python -m pip install -e '.[test,cuda13x]'"
    status = xpreduce.backends()["cupy"]
    if not status.ready:
        return status.note
    for name in ("dask.array", "hypothesis", "mpmath", "pytest"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            return f"{error.name} is not installed; python -m pip install -e '.[test]'"
    return None


def about() -> dict[str, Any]:
    """Return on what everything runs."""
    import cupy

    import xpreduce

    number = cupy.cuda.Device().id
    properties = cupy.cuda.runtime.getDeviceProperties(number)
    return {
        "device": properties["name"].decode(),
        "compute capability": cupy.cuda.Device().compute_capability,
        "multiprocessors": properties["multiProcessorCount"],
        "memory": properties["totalGlobalMem"],
        "driver": cupy.cuda.runtime.driverGetVersion(),
        "runtime": cupy.cuda.runtime.runtimeGetVersion(),
        "NVRTC": list(cupy.cuda.nvrtc.getVersion()),
        "CuPy": cupy.__version__,
        "xpreduce": xpreduce.__version__,
        "Python": platform.python_version(),
    }


def compile_ahead(report: Any, library: Any) -> None:
    """Compile the kernels of all operators and dtypes in threads: one by one they would take minutes."""
    from exact import OPERATORS

    from gpu.exactness import served
    from xpreduce.dtypes import DTYPES
    from xpreduce.operators import find
    from xpreduce_cupy.device import device
    from xpreduce_cupy.kernels import family_of

    families = {
        family_of(find(op), DTYPES[dtype], DTYPES[dtype]) for op in OPERATORS for dtype in served(library, op)
    }
    wanted = [(family, kind) for family in families for kind in ("rows", "strided", "merge")]
    started = report.elapsed
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda each: device(0).load(*each), wanted))
    report.about["seconds to compile"] = round(report.elapsed - started, 1)


def main(arguments: list[str] | None = None) -> int:
    """Run everything and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("accept.json"), help="the JSON file to write")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="what has no turn by then has failed")
    options = parser.parse_args(arguments)
    reason = missing()
    if reason is not None:
        print(f"nothing was checked and nothing measured: {reason}", file=sys.stderr)
        return CANNOT_RUN
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "asv_benchmarks")]
    import cupy
    from libraries import CuPy

    from gpu import behaviour, exactness
    from gpu.bandwidth import bandwidth
    from gpu.report import Report

    report = Report(options.seconds)
    report.about.update(about())
    print(", ".join(f"{name} {value}" for name, value in report.about.items()))
    library = CuPy()

    def free() -> int:
        cupy.get_default_memory_pool().free_all_blocks()
        return int(cupy.cuda.Device().mem_info[0])

    report.attempt("compile", "kernels", lambda: compile_ahead(report, library))
    behaviour.behaviour(report)
    exactness.small(report, library)
    exactness.beyond(report, library, cupy, free)
    bandwidth(report, library.dtypes)
    exactness.layouts(report, library, cupy)
    return 0 if report.close(options.output) else 1


if __name__ == "__main__":
    sys.exit(main())
