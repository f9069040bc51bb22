"""The inputs: tables of named generators, each of which makes rows of numbers of a dtype."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from . import integer_inputs, ties
from .formats import FLOATS, Format, numpy_dtype
from .random_floats import exponents, magnitudes, shuffled, signs

#: Makes rows as float64 from a generator of random numbers, the format and a shape.
Make = Callable[[np.random.Generator, Format, tuple[int, int]], np.ndarray]


def normal(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    return rng.standard_normal(shape)


def one_sign(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    return magnitudes(rng, to, rng.integers(-6, 5, shape)) * signs(rng, (shape[0], 1))


def every_exponent(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    return magnitudes(rng, to, rng.integers(to.lowest, to.highest + 1, shape)) * signs(rng, shape)


def overlapping(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    base = exponents(rng, to, (shape[0], 1), margin=to.digits)
    return magnitudes(rng, to, base + rng.integers(-to.digits, to.digits + 1, shape)) * signs(rng, shape)


def cancelling(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    rows, count = shape
    pairs = (count - 1) // 2
    base = exponents(rng, to, (rows, 1), margin=2)
    large = magnitudes(rng, to, base + rng.integers(-2, 3, (rows, max(pairs, 1)))) * signs(rng, (rows, 1))
    if count == 2:
        return np.concatenate([large, -large * (1 + 2.0 ** (1 - to.digits))], axis=1)
    rest = magnitudes(rng, to, base - rng.integers(1, 3 * to.digits, (rows, count - 2 * pairs)))
    return shuffled(rng, np.concatenate([large, -large, rest * signs(rng, rest.shape)], axis=1))


def tiny(rng: np.random.Generator, to: Format, shape: tuple[int, int], power: int = 1) -> np.ndarray:
    low = to.lowest // power + rng.integers(0, max(2 * to.digits // power, 1), shape)
    return magnitudes(rng, to, low) * signs(rng, shape)


def tiny_squares(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    return tiny(rng, to, shape, 2)


def tiny_products(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    return tiny(rng, to, shape, shape[1])


def huge(rng: np.random.Generator, to: Format, shape: tuple[int, int], power: int = 1) -> np.ndarray:
    high = to.highest // power - rng.integers(0, 4, shape)
    return magnitudes(rng, to, high) * signs(rng, shape)


def huge_squares(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    return huge(rng, to, shape, 2)


def huge_products(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    return huge(rng, to, shape, shape[1]) * np.exp2(rng.integers(0, 3, shape))


def balanced(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    rows, count = shape
    half = rng.integers(to.lowest // 2, to.highest + 1, (rows, count // 2))
    half[:, 0] = to.highest - rng.integers(0, 4, rows)
    half = np.minimum(half, -(to.lowest + to.digits))
    rest = np.zeros((rows, count % 2), np.int64)
    factors = magnitudes(rng, to, np.concatenate([half, -half, rest], axis=1))
    return shuffled(rng, factors) * signs(rng, shape)


def near_one(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    return 1 + rng.uniform(-1, 1, shape) * np.exp2(-rng.integers(1, to.digits, shape))


def sum_near_one(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    rows, count = shape
    parts = rng.uniform(0.1, 1, (rows, count))
    parts = (parts / parts.sum(axis=1, keepdims=True)).astype(numpy_dtype(to.name)).astype(np.float64)
    parts[:, 0] += 1 - parts.sum(axis=1)
    parts[:, -1] += np.exp2(-rng.uniform(2, 2 * to.digits, rows)) * rng.choice((-1.0, 0.0, 1.0), rows)
    return parts


def exponentials(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    return rng.uniform(-1, 1, shape) * rng.uniform(1, 40, (shape[0], 1))


def log_near_zero(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    noise = rng.standard_normal(shape) * np.exp2(-rng.integers(0, to.digits, (shape[0], 1)))
    return noise - np.log(np.exp(noise).sum(axis=1, keepdims=True))


def dominated(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    x = -rng.uniform(1, rng.uniform(2, 400, (shape[0], 1)), shape)
    x[:, 0] = rng.choice((0.0, 1.0, -1.0), shape[0]) * np.exp2(-rng.integers(0, 60, shape[0]).astype(float))
    x[rng.random(shape[0]) < 0.3, 0] = 0
    return shuffled(rng, x)


SUMS = ("l1", "l2", "sum", "sum_square", "mean", "log_sum")
ENDS = ("max", "min")
ALL = (*SUMS, "prod", *ENDS, "log_sum_exp")
#: Those whose terms, or results, have the size of their inputs.
PLAIN = tuple(op for op in ALL if op not in ("sum_square", "prod"))


@dataclass(frozen=True)
class Inputs:
    """One kind of input.

    Attributes
    ----------
    name, about : str
        What the report calls it, and says about it.
    make : callable
        Makes the rows.
    operators : tuple of str
        Those that it is for.
    long : bool
        Whether it is also used for long rows.
    """

    name: str
    about: str
    make: Callable[..., np.ndarray]
    operators: tuple[str, ...] = ALL
    long: bool = False


FLOAT_INPUTS = (
    Inputs("normal", "the standard normal distribution", normal, long=True),
    Inputs("one sign", "numbers of one sign and of eleven exponents", one_sign, long=True),
    Inputs("every exponent", "any exponent of the dtype, subnormal numbers included", every_exponent),
    Inputs("overlapping", "exponents near each other, so that every number counts", overlapping, long=True),
    Inputs("cancelling", "pairs a and -a, and a small rest", cancelling, long=True),
    Inputs("tiny", "subnormal and the smallest normal numbers, as inputs or as terms", tiny, PLAIN),
    Inputs("tiny", "", tiny_squares, ("sum_square",)),
    Inputs("tiny", "", tiny_products, ("prod",)),
    Inputs("huge", "the largest exponents, as inputs or as terms; some results overflow", huge, PLAIN),
    Inputs("huge", "", huge_squares, ("sum_square",)),
    Inputs("huge", "", huge_products, ("prod",)),
    Inputs("ties", "results in the middle between two numbers, or just beside it", ties.sums, ("sum", "l1")),
    Inputs("ties", "", ties.means, ("mean",)),
    Inputs("ties", "", ties.squares, ("sum_square",)),
    Inputs("ties", "", ties.norms, ("l2",)),
    Inputs("ties", "", ties.products, ("prod",)),
    Inputs("balanced", "factors near both ends of the range, which balance", balanced, ("prod",), True),
    Inputs("near one", "factors close to 1", near_one, ("prod",), True),
    Inputs("sum near one", "sums close to 1, whose logarithms are close to 0", sum_near_one, ("log_sum",)),
    Inputs("exponentials", "numbers within ±1 to ±40", exponentials, ("log_sum_exp",), True),
    Inputs("log near zero", "a result close to 0", log_near_zero, ("log_sum_exp",)),
    Inputs("dominated", "one term far above the others", dominated, ("log_sum_exp",)),
)
INTEGER_INPUTS = (
    Inputs("full range", "any value of the dtype", integer_inputs.full_range, long=True),
    Inputs("every size", "any number of binary digits", integer_inputs.every_size, long=True),
    Inputs("small", "within ±100", integer_inputs.small),
    Inputs("ends", "the largest and smallest values", integer_inputs.ends, long=True),
    Inputs("cancelling", "pairs a and -a, and a small rest", integer_inputs.cancelling, long=True),
    Inputs("near squares", "norms next to whole numbers", integer_inputs.near_squares, ("l2",)),
    Inputs("near powers of e", "sums next to a power of e", integer_inputs.near_powers_of_e, ("log_sum",)),
    Inputs("equal", "equal values", integer_inputs.equal, ("log_sum_exp",)),
)

#: Number of terms, and the share of the short reductions that have it.
LENGTHS = {2: 0.3, 3: 0.25, 4: 0.15, 5: 0.1, 8: 0.1, 13: 0.05, 32: 0.05}
#: Number of terms, and how many rows of each kind have it in a full run.
LONG = {1000: 16, 10_000: 4, 100_000: 1, 1_000_000: 1}
#: Exact products, and sums of that many exponentials, take too long to compute for more terms.
LONGEST = {"prod": 10_000, "log_sum_exp": 100_000}
#: Rows of one batch at most.
BATCH = 2**15


@dataclass(frozen=True)
class Batch:
    """Rows to reduce: `rows` of shape (rows, n), and the array that is reduced along `axis`."""

    name: str
    rows: np.ndarray
    x: np.ndarray
    axis: int


def kinds(op: str, dtype: str) -> list[Inputs]:
    """Return the inputs for an operator and dtype."""
    table = FLOAT_INPUTS if dtype in FLOATS else INTEGER_INPUTS
    return [one for one in table if op in one.operators]


def shapes(op: str, dtype: str, reductions: int) -> Iterator[tuple[Inputs, int, int]]:
    """Yield inputs, number of rows and number of terms, `reductions` rows at least."""
    found = kinds(op, dtype)
    for inputs in found:
        for count, share in LENGTHS.items():
            rows = -(-int(reductions * share + 1) // len(found))
            while rows > 0:
                yield inputs, min(rows, BATCH), count
                rows -= BATCH
        for count, rows in LONG.items():
            if inputs.long and count <= min(LONGEST.get(op, count), reductions):
                yield inputs, max(1, rows * min(reductions, 10**6) // 10**6), count


def floats(op: str, to: Format, x: np.ndarray) -> np.ndarray:
    """Return float64 rows in another format, all finite; for LogSum with signs that give them a logarithm."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if op == "log_sum":
            x = x * np.where(x.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
        return np.clip(x, -to.maximum, to.maximum).astype(numpy_dtype(to.name))


def batches(op: str, dtype: str, reductions: int, seed: int) -> Iterator[Batch]:
    """Yield the inputs for an operator and dtype, `reductions` rows at least; every other one in columns."""
    to = numpy_dtype(dtype)
    for number, (inputs, rows, count) in enumerate(shapes(op, dtype, reductions)):
        label = f"{op} {dtype} {inputs.name} {count} {number}"
        rng = np.random.default_rng([seed, zlib.crc32(label.encode())])
        if dtype in FLOATS:
            x = floats(op, FLOATS[dtype], inputs.make(rng, FLOATS[dtype], (rows, count)))
        else:
            x = inputs.make(rng, to, (rows, count))
        axis = 1 - number % 2
        yield Batch(inputs.name, x, np.ascontiguousarray(x if axis == 1 else x.T), axis)
