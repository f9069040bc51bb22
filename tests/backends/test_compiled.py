"""Compiled kernels: when they run, their threads, and what becomes of them on disk."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import exact
import mpmath
import numpy as np
import pytest
from libraries import numpy_dtype

import xpreduce
from xpreduce_numpy import choice

pytestmark = pytest.mark.skipif(choice.missing() is not None, reason=str(choice.missing()))

RNG = np.random.default_rng(5)
DTYPES = [*exact.FLOATS, *exact.INTEGERS]
AXES = (0, 1, 2, (0, 1), (0, 2), (1, 2), None)
#: A float64 product or logarithm may be off by 2 ulp either way.
ULPS = {("prod", "float64"): 4, ("log_sum", "float64"): 4, ("log_sum_exp", "float64"): 4}


def random(shape: tuple[int, ...], dtype: str) -> Any:
    if dtype in exact.RANGE:
        return RNG.integers(*exact.RANGE[dtype], shape, dtype, endpoint=True)
    return RNG.standard_normal(shape).astype(numpy_dtype(dtype))


def same(got: Any, want: Any, ulps: int = 0) -> None:
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if ulps:
        close = np.abs(got - want) <= ulps * np.spacing(np.abs(want))
        assert np.all(close | (got == want) | (np.isnan(got) & np.isnan(want)))
    else:
        np.testing.assert_array_equal(got.astype("f8"), want.astype("f8"))
        np.testing.assert_array_equal(np.signbit(got) & (got == 0), np.signbit(want) & (want == 0))


def run(program: str, cache: Path, **environment: str) -> str:
    """Run a program in a process of its own, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"XPREDUCE_CACHE_DIR": str(cache)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LARGE = (
    "import numpy as np, xpreduce\n"
    "print(xpreduce.reduce_l2(np.full((300, 200), 2.0, 'float32'), axes=1)[7, 0])"
)
ANSWER = str(np.float32(np.sqrt(800)))


@pytest.mark.parametrize("op", exact.OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_as_plain_numpy(op: str, dtype: str) -> None:
    """On rows and columns longer and shorter than vectors, and on strides that no vector can load at once."""
    x = random((9, 35, 70), dtype)
    views = (x, x[:, ::-2, 1::3], x.transpose(2, 0, 1), x[:, :, :3], np.broadcast_to(x[:, :1], x.shape))
    for view in views:
        for axes in AXES:
            with choice.use_kernels("plain"):
                want = xpreduce.reduce(op, view, axes=axes)
            with choice.use_kernels("compiled"):
                got = xpreduce.reduce(op, view, axes=axes)
            if (op, dtype) == ("log_sum_exp", "float64"):
                np.testing.assert_allclose(got, want, rtol=0, atol=2**-51 * max(1, np.abs(want).max()))
            else:
                same(got, want, ULPS.get((op, dtype), 0))


@pytest.mark.parametrize("op", exact.OPERATORS)
@pytest.mark.parametrize("dtype", ["float16", "float64", "int64"])
def test_results_do_not_depend_on_the_number_of_threads(op: str, dtype: str) -> None:
    x = random((3, 1300, 1200), dtype)
    for axes in ((0, 1), (1, 2), 1, None):
        runs = set()
        for threads in (1, 2, 5):
            with xpreduce.use_num_threads(threads):
                runs.add(xpreduce.reduce(op, x, axes=axes).tobytes())
        assert len(runs) == 1


def test_which_arrays_they_serve() -> None:
    large = np.ones(choice.LEAST, "float32")
    assert "compiled, along rows" in xpreduce.explain("l2", large).kernel
    assert "compiled, down columns" in xpreduce.explain("l2", large.reshape(-1, 8), axes=0).kernel
    assert f"(fewer than {choice.LEAST} elements)" in xpreduce.explain("l2", large[1:]).kernel
    assert "byte order" in xpreduce.explain("l2", large.astype(">f4")).kernel
    assert "no compiled kernel" in xpreduce.explain("log_sum_exp", large.astype("int32")).kernel
    with choice.use_kernels("plain"):
        assert "plain NumPy is asked for" in xpreduce.explain("l2", large).kernel


def test_small_arrays_do_not_load_the_compiler(tmp_path: Path) -> None:
    program = (
        "import sys, numpy as np, xpreduce\n"
        "xpreduce.reduce_l2(np.ones((60, 60), 'float32')); xpreduce.explain('l2', np.ones(9))\n"
        "print('llvmlite' in sys.modules)"
    )
    assert run(program, tmp_path) == "False"


def test_plain_numpy_where_the_compiler_is_missing(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['llvmlite'] = None\n"
        f"{LARGE}\n"
        "print(xpreduce.explain('l2', np.ones((300, 200))).kernel)\n"
        "print(xpreduce.warm_up(['l2'], ['float32']))"
    )
    answer, kernel, ready = run(program, tmp_path).splitlines()
    assert answer == ANSWER
    assert "pip install 'xpreduce[compiled]'" in kernel
    assert ready == "0"


def test_kernels_are_kept_for_the_next_process(tmp_path: Path) -> None:
    cache = tmp_path / "not" / "there yet"
    assert run(LARGE, cache) == ANSWER
    (kept,) = cache.iterdir()
    written = kept.stat().st_mtime_ns
    assert run(LARGE, cache) == ANSWER
    assert [path.stat().st_mtime_ns for path in cache.iterdir()] == [written]


@pytest.mark.parametrize("damage", ["", "cut short", "one bit"])
def test_damaged_files_are_made_anew(tmp_path: Path, damage: str) -> None:
    assert run(LARGE, tmp_path) == ANSWER
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(
        {"": b"", "cut short": whole[:-7], "one bit": whole[:-1] + bytes([whole[-1] ^ 1])}[damage]
    )
    assert run(LARGE, tmp_path) == ANSWER
    assert kept.read_bytes() == whole


def test_several_processes_start_at_once(tmp_path: Path) -> None:
    environment = os.environ | {"XPREDUCE_CACHE_DIR": str(tmp_path)}
    processes = [
        subprocess.Popen([sys.executable, "-c", LARGE], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    assert [process.communicate()[0].strip() for process in processes] == [ANSWER] * 6
    assert len(list(tmp_path.iterdir())) == 1  # and no temporary file is left


def test_cache_that_can_not_be_written(tmp_path: Path) -> None:
    file = tmp_path / "a file"
    file.touch()
    assert run(LARGE, file / "below") == ANSWER


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_full_disk(tmp_path: Path) -> None:
    program = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n{LARGE}"
    assert run(program, tmp_path) == ANSWER
    assert not list(tmp_path.iterdir())


def test_warm_up_leaves_nothing_to_compile(tmp_path: Path) -> None:
    program = (
        "import os, sys, numpy as np, xpreduce\n"
        "ready = xpreduce.warm_up(['Mean'], ['float32'])\n"
        "before = set(os.listdir(os.environ['XPREDUCE_CACHE_DIR']))\n"
        "x = np.ones((2100, 4, 1000), 'float32')\n"
        "for axes in (None, 0, 1, 2, (0, 2)): xpreduce.reduce_mean(x, axes)\n"
        "print(ready, ready == len(before), before == set(os.listdir(os.environ['XPREDUCE_CACHE_DIR'])))"
    )
    ready, *as_expected = run(program, tmp_path).split()
    assert int(ready) > 0
    assert as_expected == ["True", "True"]


@pytest.mark.parametrize(
    ("operators", "dtypes", "message"),
    [
        (["nonsense"], ["float32"], "nonsense"),
        (["l2"], ["complex64"], "complex64"),
        ("l2", ["float32"], r"operators must be a sequence .* \['l2'\], not a string"),
        (["l2"], "float32", r"dtypes must be a sequence .* \['float32'\], not a string"),
    ],
)
def test_warm_up_of_what_there_is_not(operators: Any, dtypes: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        xpreduce.warm_up(operators, dtypes)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forked_process(tmp_path: Path) -> None:
    """The pool's threads don't exist in a child, which must make its own."""
    program = (
        "import os, numpy as np, xpreduce\n"
        "xpreduce.set_num_threads(3)\n"
        "x = np.ones(2**23, 'float32')\n"
        "assert xpreduce.reduce_sum(x)[0] == 2**23\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(int(xpreduce.reduce_sum(x)[0] != 2**23 or xpreduce.reduce_max(x)[0] != 1))\n"
        "print(os.waitpid(child, 0)[1])"
    )
    assert run(program, tmp_path, PYTHONWARNINGS="ignore") == "0"


def test_dask_chunks_take_one_thread(tmp_path: Path) -> None:
    program = (
        "import threading, dask.array as da, xpreduce\n"
        "xpreduce.set_num_threads(4)\n"
        "x = da.ones((2**13, 2**12), chunks=(2**12, 2**12), dtype='float32')\n"
        "print(xpreduce.reduce_sum(x, keepdims=False).compute(scheduler='synchronous') == 2**25)\n"
        "print(any(thread.name.startswith('xpreduce') for thread in threading.enumerate()))\n"
        "print(xpreduce.get_num_threads())"
    )
    assert run(program, tmp_path).split() == ["True", "False", "4"]


def test_an_error_in_a_thread_is_raised() -> None:
    from xpreduce_numpy.compiled import pool

    def fail() -> None:
        raise MemoryError("as asked for")

    for threads in (1, 3):
        with pytest.raises(MemoryError, match="as asked for"):
            pool.run([int, fail, int, fail], threads)
    assert pool.run([int, str, list], 3) == [0, "", []]


def test_arrays_of_many_dimensions() -> None:
    """Every other dimension reduced, none of which merge."""
    x = RNG.standard_normal((2, 3) * 5).astype("float32")
    axes = tuple(range(0, 10, 2))
    with choice.use_kernels("compiled"):
        got = xpreduce.reduce_l1(x, axes)
    same(got, np.abs(x.astype("f8")).sum(axis=axes, keepdims=True).astype("float32"))


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_exponentials_of_minus_infinity_alone(dtype: str) -> None:
    x = np.full((5, 70), -np.inf).astype(numpy_dtype(dtype))
    x[2, 3] = 1
    for values, axes in ((x, 1), (np.asfortranarray(x), 1)):
        with choice.use_kernels("compiled"):
            got = xpreduce.reduce_log_sum_exp(values, axes, keepdims=False, dtype="float64")
        np.testing.assert_array_equal(got, [-np.inf, -np.inf, 1, -np.inf, -np.inf])


@pytest.mark.parametrize("step", [0.25, -0.25, 5.0, -5.0])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_exponentials_of_rising_and_falling_numbers(dtype: str, step: float) -> None:
    """The shift has to follow the largest element, lane by lane."""
    steps = np.arange(0, 900).astype(dtype) * np.asarray(step, dtype)
    with mpmath.workprec(200):
        right = mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(float(x))) for x in steps))
    for x, axes in ((steps, 0), (np.tile(steps, (9, 1)), 1), (np.tile(steps[:, None], (1, 35)), 0)):
        with choice.use_kernels("compiled"):
            got = xpreduce.reduce_log_sum_exp(x, axes, keepdims=False)
        if dtype == "float64":
            assert np.all(np.abs(got - float(right)) <= 2**-51 * max(1, abs(right)))
        else:
            np.testing.assert_array_equal(got, np.asarray(float(right), dtype))


@pytest.mark.parametrize("dtype", exact.FLOATS)
@pytest.mark.parametrize("place", [0, 7, 8, 40, 99])
def test_infinities_among_exponentials(dtype: str, place: int) -> None:
    row = np.linspace(-20, 20, 100).astype(numpy_dtype(dtype))
    payload = np.asarray(0x7FF8000000000FFF).view("f8")  # a NaN whose last digits are not 0
    for first, last, right in (
        (np.inf, 0, np.inf),
        (-np.inf, np.inf, np.inf),
        (np.nan, 0, np.nan),
        (payload, -np.inf, np.nan),
        (np.nan, np.inf, np.nan),
        (np.inf, np.nan, np.nan),
    ):
        x = row.copy()
        x[place], x[99 - place] = first, last
        for values, axes in ((x, 0), (np.tile(x, (11, 1)), 1), (np.tile(x[:, None], (1, 19)), 0)):
            with choice.use_kernels("compiled"):
                got = xpreduce.reduce_log_sum_exp(values, axes, keepdims=False).astype("f8")
            np.testing.assert_array_equal(got, np.full(got.shape, right))


@pytest.mark.parametrize("dtype", exact.FLOATS)
@pytest.mark.parametrize("length", [16, 64, 3000])
def test_infinity_after_nan_in_the_same_lane(dtype: str, length: int) -> None:
    """The shift moves to infinity while the sum so far is NaN already."""
    x = np.zeros((9, length), numpy_dtype(dtype))
    x[:, 0], x[:, length // 16 * 8 :: 8] = np.nan, np.inf
    for values, axes in ((x, 1), (x[:1], 1), (np.asfortranarray(x), 1)):
        with choice.use_kernels("compiled"):
            got = xpreduce.reduce_log_sum_exp(values, axes, keepdims=False).astype("f8")
        assert np.isnan(got).all()


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64", "int8", "uint16"])
@pytest.mark.parametrize("result", exact.INTEGERS)
def test_integer_products_near_the_end_of_64_bits(dtype: str, result: str) -> None:
    """Below and above 2**31, 2**32, 2**63 and 2**64, of both signs, and zero after all that."""
    least, most = exact.RANGE[result]
    signs = (1, -1) if dtype.startswith("int") else (1,)
    for power in (30, 31, 32, 62, 63, 64, 65, 700):
        for sign in signs:
            for more in (1, 3, sign, 0):
                row = [2 * sign] * power + [1] * (3 if power % 2 else 4) + [more]
                right = min(max(math.prod(row), least), most)
                for x, axes in (
                    (np.array(row, dtype), 0),
                    (np.array([row] * 9, dtype), 1),
                    (np.array([row] * 11, dtype).T.copy(), 0),
                ):
                    with choice.use_kernels("compiled"):
                        got = xpreduce.reduce_prod(x, axes, keepdims=False, dtype=result)
                    assert np.unique(got).tolist() == [right]


@pytest.mark.parametrize(
    ("dtype", "result", "value", "right"),
    [
        ("int64", "uint64", -(2**62), 0),
        ("int64", "uint64", -(2**63), 0),
        ("uint64", "int64", 2**64 - 1, 2**63 - 1),
        ("int64", "int64", -(2**63), -(2**63)),
        ("uint64", "uint64", 2**64 - 1, 2**64 - 1),
        ("uint64", "int32", 2**64 - 1, 2**31 - 1),
        ("int64", "int32", -(2**63), -(2**31)),
    ],
)
def test_means_saturate(dtype: str, result: str, value: int, right: int) -> None:
    x = np.full((3, 9), value, dtype)
    with choice.use_kernels("compiled"):
        got = xpreduce.reduce_mean(x, 1, keepdims=False, dtype=result)
    assert got.tolist() == [right] * 3


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_logarithms_of_sums_of_which_little_is_left(dtype: str) -> None:
    """What plain sums lose may be all that is left: whether that has a logarithm is unknown then."""
    x = np.zeros((7, 24), numpy_dtype(dtype))
    x[:, 0], x[:, 8], x[:, 16] = 2.0**100, 1, -(2.0**100)
    for values, axes in ((x, 1), (np.asfortranarray(x), 1), (np.repeat(x, 9, axis=1)[:, ::9], 1)):
        with choice.use_kernels("compiled"):
            got = xpreduce.reduce_log_sum(values, axes, keepdims=False)
        assert got.astype("f8").tolist() == [0.0] * 7


@pytest.mark.parametrize(
    ("op", "value", "options"),
    [
        ("l2", np.inf, {}),
        ("max", 1e300, {"dtype": "float32"}),
        ("log_sum", -1.0, {}),
        ("sum_square", 1e200, {}),
        ("log_sum_exp", -np.inf, {}),
    ],
)
def test_no_warning_and_little_memory_in_threads(op: str, value: float, options: dict[str, str]) -> None:
    """Warnings are errors here; what NumPy computes again takes memory in one thread at a time."""
    x = np.full((2**18, 8), value)
    with xpreduce.use_num_threads(6):
        xpreduce.reduce(op, x, 1, **options)
        tracemalloc.start()
        got = xpreduce.reduce(op, x, 1, **options)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak <= got.nbytes + 2**24


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_fork_while_kernels_are_compiled(tmp_path: Path) -> None:
    """Nobody holds the compiler's lock in the child."""
    program = (
        "import os, threading, numpy as np, xpreduce\n"
        "thread = threading.Thread(target=xpreduce.warm_up, args=(['l2', 'sum'], ['float32', 'float64']))\n"
        "thread.start()\n"
        "x = np.ones((300, 200), 'float32')\n"
        "xpreduce.reduce_max(x, 1)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(int(xpreduce.reduce_min(x, 1)[7, 0] != 1))\n"
        "print(os.waitpid(child, 0)[1])\n"
        "thread.join()"
    )
    assert run(program, tmp_path, PYTHONWARNINGS="ignore") == "0"


def test_threads_after_the_main_thread_has_ended(tmp_path: Path) -> None:
    """No pool can be made any more; the thread does it all."""
    program = (
        "import threading, time, numpy as np, xpreduce\n"
        "xpreduce.set_num_threads(4)\n"
        "x = np.ones((8000, 2000), 'float32')\n"
        "def late():\n"
        "    time.sleep(0.5)\n"
        "    print(int(xpreduce.reduce_sum(x, keepdims=False)))\n"
        "threading.Thread(target=late).start()"
    )
    assert run(program, tmp_path) == "16000000"
