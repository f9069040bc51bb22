"""Faults planted in the kernels' source, one at a time, each of which the tests must catch."""

from __future__ import annotations

from dataclasses import dataclass

import exact
import numpy as np
from libraries import numpy_dtype

from emulated_cuda.cases import (
    LAYOUTS,
    check_states,
    kinds_of,
    launches,
    reduced,
    reduction_of,
    try_layout,
    values,
)
from emulated_cuda.device import EmulatedDevice
from emulated_cuda.emulator import Emulator
from xpreduce_cupy import kernels


@dataclass(frozen=True)
class Fault:
    """A change of the source.

    Attributes
    ----------
    name : str
        What goes wrong.
    right, wrong : str
        A text that stands once in the source, and what takes its place.
    calls : tuple of str
        Operators and dtypes that show it, such as "sum int32".
    """

    name: str
    right: str
    wrong: str
    calls: tuple[str, ...]

    @property
    def in_a_kernel(self) -> bool:
        """Whether it is in what the kernels do, and not in the arithmetic."""
        return self.name.split(":")[0] in (
            "rows",
            "strided",
            "joining",
            "scratch",
            "merge",
            "combine",
            "finish",
        )

    def source(self) -> str:
        """Return the source with the fault in it."""
        text = kernels.source()
        assert text.count(self.right) == 1, (
            f"{self.name}: the source has {text.count(self.right)} × {self.right!r}"
        )
        return text.replace(self.right, self.wrong)


FAULTS: tuple[Fault, ...] = (
    # rows
    Fault(
        "rows: the last value is left out",
        "first + a.chunk < a.terms ? first + a.chunk : a.terms;\n}",
        "first + a.chunk < a.terms ? first + a.chunk : a.terms - 1;\n}",
        ("sum int32",),
    ),
    Fault(
        "rows: values before the aligned ones twice",
        "(const Wide16*)(values + head)",
        "(const Wide16*)(values + head - head)",
        ("sum int32",),
    ),
    Fault(
        "rows: the tail starts one vector early",
        "head + whole * width + lane, count",
        "head + (whole - (whole > 0)) * width + lane, count",
        ("sum int32",),
    ),
    Fault(
        "rows: lanes overlap between loads",
        "loaded[k] = vectors[i + k * lanes]",
        "loaded[k] = vectors[i + k]",
        ("sum int32",),
    ),
    Fault(
        "rows: every segment is the first one",
        "start + reduced_offset(a, segment) + begin",
        "start + begin",
        ("sum int32",),
    ),
    # strided
    Fault(
        "strided: no lanes",
        "bounds_of(a, seat, first, last);\n        const Input* values",
        "bounds_of(a, seat, first, last);\n        first -= seat.lane;\n        const Input* values",
        ("sum int32",),
    ),
    Fault(
        "strided: the outer dimension's index is never taken off",
        "(index - above * dimensions[d].size)",
        "index",
        ("sum int32",),
    ),
    Fault(
        "strided: steps of one lane too few",
        "i += ahead * a.lanes",
        "i += (ahead - 1) * a.lanes",
        ("sum int32",),
    ),
    # joining, scratch, merge
    Fault(
        "joining: threads do not wait",
        "        __syncthreads();\n    }\n    return state;",
        "    }\n    return state;",
        ("sum int32",),
    ),
    Fault(
        "joining: some threads do not come",
        "if (lanes == 1) return state;",
        "if (lanes == 1 || lane == 3) return state;",
        ("sum int32",),
    ),
    Fault(
        "joining: half of the lanes",
        "apart = lanes / 2; apart > 0",
        "apart = lanes / 2; apart > 1",
        ("sum int32",),
    ),
    Fault(
        "joining: neighbours of other results",
        "held[threadIdx.x + apart * step]",
        "held[threadIdx.x + apart]",
        ("sum int32",),
    ),
    Fault(
        "scratch: splits overwrite each other",
        "[seat.split * a.results + seat.index] = state",
        "[seat.index] = state",
        ("sum int32",),
    ),
    Fault(
        "merge: the last split is left out",
        "for (i64 s = seat.lane; s < a.splits;",
        "for (i64 s = seat.lane; s < a.splits - 1;",
        ("sum int32",),
    ),
    Fault(
        "results: those beyond the last are written",
        "if (seat.lane == 0 && seat.index < a.results) deliver<Family>(a, state, seat);\n}\n\nKERNEL combine",
        "if (seat.lane == 0) deliver<Family>(a, state, seat);\n}\n\nKERNEL combine",
        ("sum int32",),
    ),
    # states
    Fault(
        "combine: one of the two twice",
        "Family::merge(Family::load(a.left, index), Family::load(a.right, index))",
        "Family::merge(Family::load(a.left, index), Family::load(a.left, index))",
        ("sum int32", "max float32"),
    ),
    Fault(
        "finish: states of other results",
        "Family::write(a, index, Family::load(a.left, index));",
        "Family::write(a, index, Family::load(a.left, 0));",
        ("sum int32",),
    ),
    # numbers
    Fault(
        "pairs: errors are lost",
        "return {s, (a - (s - t)) + (b - t)};",
        "return {s, 0 * t};",
        ("sum float64", "sum float32"),
    ),
    Fault(
        "pairs: a sum's low part loses its sign",
        "Pair v = fast_two_sum(s.high, s.low + t.high);",
        "Pair v = fast_two_sum(s.high, s.low - t.high);",
        ("sum float64",),
    ),
    Fault(
        "float sums: squares lose their rounding errors",
        "low += fma(value, value, -term);",
        "low += 0;",
        ("l2 float64", "sum_square float64"),
    ),
    Fault(
        "float sums: nothing is large", "return upper >= large ? 1 :", "return false ? 1 :", ("l2 float64",)
    ),
    Fault("float sums: nothing is small", "lowest < 0 && upper < small ? -1 : 0", "0", ("l2 float64",)),
    Fault(
        "float sums: infinities are added like others",
        "if (local.special != 0)",
        "if (false)",
        ("sum float64",),
    ),
    Fault(
        "float sums: -0 is not kept",
        "local.high = low == 0 ? s.high : sum.high;",
        "local.high = sum.high;",
        ("sum float64",),
    ),
    Fault(
        "rounding: by way of float64 to nearest",
        "write_rounded(const Arguments& a, i64 at, Pair p) {\n    p = normalised(p);",
        "write_rounded(const Arguments& a, i64 at, Pair p) {\n    p = normalised(p);\n    p.low = 0;",
        ("tie float32",),
    ),
    Fault(
        "rounding: ties upwards",
        "(rest == half && (kept & 1))",
        "rest == half",
        ("sum float16", "sum bfloat16"),
    ),
    Fault(
        "integers: the carry is lost",
        "r.high += r.middle < carry;",
        "r.high += 0;",
        ("sum int64", "sum_square int64"),
    ),
    Fault("integers: sums wrap", "known = known && size.middle == 0;", "", ("sum int64",)),
    Fault(
        "integers: the mean's rest",
        "while (is_negative(rest)) {",
        "while (false) {",
        ("mean int64",),
    ),
    Fault(
        "products: exponents are lost",
        "return with_fraction(p.high, p.low, a.exponent + b.exponent);",
        "return with_fraction(p.high, p.low, a.exponent);",
        ("prod float32",),
    ),
    Fault(
        "products: errors are lost", "p.low = fma(local.low, x.high, p.low);", "p.low = 0;", ("prod float64",)
    ),
    Fault("products: 0 does not undo what is too large", "zero ? 0 : over};", "over};", ("prod int32",)),
    Fault(
        "extremes: NaN is passed over",
        "else return x != x ? wins : turned((int)",
        "else return x != x ? 0 : turned((int)",
        ("max float32",),
    ),
    Fault(
        "extremes: unsigned as signed",
        "sizeof(Input) == sizeof(Key) ? -K::most - 1 : 0",
        "sizeof(Input) == sizeof(Key) ? 0 : 0",
        ("max uint32", "max uint64"),
    ),
    Fault(
        "logarithms: the largest is not followed",
        "local = relative_to(local, largest);",
        "local.largest = largest;",
        ("log_sum_exp float32",),
    ),
    Fault(
        "logarithms: series cut short",
        "if constexpr (K == 25) return 2.0 / 25;",
        "if constexpr (K == 9) return 2.0 / 9;",
        ("log_sum float64",),
    ),
    Fault(
        "exponentials: the rest of the argument is lost",
        "fma(steps, -LN2_LOW, x.low)",
        "0.0",
        ("log_sum_exp float64",),
    ),
)


BEYOND = Fault(
    "rows: one value beyond the end is read",
    "head + whole * width + lane, count, lanes)",
    "head + whole * width + lane, count + 1, lanes)",
    (),
)
"""What only a sanitizer is sure to see."""


def is_caught(fault: Fault) -> str | None:
    """Return what catches a fault, or None."""
    emulator = Emulator(source=fault.source())
    for call in fault.calls:
        try:
            try_call(emulator, *call.split())
        except (AssertionError, OverflowError) as error:  # where infinity is no number to compare with
            return f"{call}: {(str(error) or 'a wrong result').strip().splitlines()[0][:100]}"
    return None


def try_call(emulator: Emulator, op: str, dtype: str) -> None:
    """Run what the tests run for one operator and dtype."""
    if op == "tie":
        try_tie(emulator, dtype)
        return
    for seed, layout in enumerate(LAYOUTS):
        for kind in kinds_of(dtype):
            try_layout(emulator, op, dtype, dtype, layout, kind, seed, some=5)
    if dtype in exact.FLOATS and op in ("sum", "l1", "l2", "sum_square"):
        try_rounding(emulator, op, dtype)
    check_states(emulator, op, dtype)
    try_orders(emulator, op, dtype)


def try_rounding(emulator: Emulator, op: str, dtype: str) -> None:
    """Assert that sums of random values are the nearest there are, by every launch."""
    device = EmulatedDevice(emulator)
    x = np.random.default_rng(9).standard_normal((150, 64)).astype(numpy_dtype(dtype))
    what = reduction_of(op, x, (1,))
    right = [exact.reduced(op, [float(v) for v in row], dtype) for row in x]
    for launch in launches(x, (1,)):
        got = reduced(device, x, what, launch)[:, 0].astype("f8").tolist()
        wrong = [(a, b) for a, b in zip(got, right, strict=True) if a != b]
        assert not wrong, f"{len(wrong)} sums are not the nearest {dtype}, {launch}: {wrong[0]}"


def try_tie(emulator: Emulator, dtype: str) -> None:
    """Sum values that lie next to the middle of two results."""
    device = EmulatedDevice(emulator)
    x = np.array([[2.0**24, 1, 2.0**-60]], dtype)
    what = reduction_of("sum", x, (1,))
    for launch in launches(x, (1,)):
        assert reduced(device, x, what, launch) == 16777218


def try_orders(emulator: Emulator, op: str, dtype: str) -> None:
    """Assert that it does not matter in which order threads take turns."""
    forward = EmulatedDevice(emulator)
    backward = EmulatedDevice(Emulator(emulator.source, emulator.flags, backward=True))
    x = values(kinds_of(dtype)[0], dtype, op, (3, 200), np.random.default_rng(5))
    for axis in (0, 1):
        what = reduction_of(op, x, (axis,))
        for launch in launches(x, (axis,)):
            once, again, other = (reduced(device, x, what, launch) for device in (forward, forward, backward))
            assert once.tobytes() == again.tobytes(), f"two calls differ, {launch}"
            assert once.tobytes() == other.tobytes(), f"the order of threads shows, {launch}"
