"""Inputs whose results lie in the middle between two numbers of a dtype, or next to it."""

from __future__ import annotations

import numpy as np

from .formats import Format
from .random_floats import shuffled, signs


def nudges(rng: np.random.Generator, to: Format, rows: int) -> np.ndarray:
    """Return what moves a result off the middle, in ulp: a power of two down to far below, or nothing."""
    return np.exp2(-rng.integers(2, int(2.5 * to.digits), rows)) * rng.choice((-1.0, 0.0, 1.0), rows)


def bases(rng: np.random.Generator, to: Format, rows: int) -> np.ndarray:
    """Return exponents of an ulp that leave room below it."""
    low = max(to.lowest, -300) + 2 if to.name != "float16" else -14
    return rng.integers(low, min(to.highest, 300) - to.digits - 6, rows)


def sums(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    """Return a number, half its ulp, and a nudge; the rest are pairs that cancel, or zeros."""
    rows, count = shape
    x = np.zeros(shape)
    unit = np.ldexp(1.0, bases(rng, to, rows))
    x[:, 0] = rng.integers(2 ** (to.digits - 1) + 1, 2**to.digits, rows) * unit
    x[:, 1] = unit / 2 * rng.choice((-1.0, 1.0), rows)
    if count > 2:
        x[:, 2] = nudges(rng, to, rows) * unit
    pairs = (count - 3) // 2
    if pairs > 0:
        large = rng.integers(0, 2**to.digits, (rows, pairs)) * unit[:, None]
        large *= rng.random((rows, 1)) < 0.5
        x[:, 3 : 3 + pairs], x[:, 3 + pairs : 3 + 2 * pairs] = large, -large
    return shuffled(rng, x * signs(rng, (rows, 1)))


def means(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    """Return equal numbers, one of which is so much larger that the mean is half an ulp above the others."""
    rows, count = shape
    unit = np.ldexp(1.0, bases(rng, to, rows))
    low, high = 2 ** (to.digits - 1), 2**to.digits - count
    x = np.repeat(rng.integers(min(low, high - 1), high, (rows, 1)).astype(np.float64), count, axis=1)
    x[:, 0] += count / 2 + rng.integers(-1, 2, rows) * (count > 2)
    return shuffled(rng, x * unit[:, None] * signs(rng, (rows, 1)))


def squares(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    """Return an odd number whose square has one digit more than the format, and numbers that nudge it."""
    rows = shape[0]
    half = to.digits // 2  # the square of a number in [2**half, 2**(half + 1)) has one of these lengths
    low, high = (2**half, 2 ** (half + 0.5)) if to.digits % 2 == 0 else (2 ** (half + 0.5), 2 ** (half + 1))
    x = np.zeros(shape)
    x[:, 0] = rng.integers(int(low) + 1, int(high), rows) | 1
    x[:, 1] = np.sqrt(abs(nudges(rng, to, rows)))
    scale = rng.integers(to.lowest // 2, (to.highest - to.digits - 1) // 2 + 1, rows)
    return shuffled(rng, np.ldexp(x, scale[:, None])) * signs(rng, shape)


def norms(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    """Return the legs of a right triangle whose long side has one digit more than the format, and a nudge."""
    rows, count = shape
    # p² + q² is the long side, p² - q² and 2pq are the legs.
    side = 2.0 ** (to.digits + 0.5)
    angle = rng.uniform(0.05, 0.35 * np.pi / 2, rows)
    p = np.rint(np.sqrt(side) * np.cos(angle))
    q = np.maximum(np.rint(np.sqrt(side) * np.sin(angle)), 1)
    q = np.where((p + q) % 2 == 0, q + 1, q)  # an odd side
    x = np.zeros(shape)
    x[:, 0], x[:, 1] = p * p - q * q, 2 * p * q
    if count > 2:
        x[:, 2] = np.sqrt(abs(nudges(rng, to, rows)) * side)
    scale = rng.integers(max(to.lowest, -600), min(to.highest, 600) - to.digits - 2, rows)
    if to.name == "float16":
        scale = rng.integers(-10, 3, rows)
    return shuffled(rng, np.ldexp(x, scale[:, None])) * signs(rng, shape)


def products(rng: np.random.Generator, to: Format, shape: tuple[int, int]) -> np.ndarray:
    """Return two odd factors whose product has one digit more than the format; the rest are powers of two.

    In half of the rows another factor is next to 1.
    """
    rows, count = shape
    left = rng.integers(2, to.digits, rows)
    right = to.digits + 1 - left
    x = np.exp2(rng.integers(-2, 3, shape).astype(np.float64))
    for column, digits in ((0, left), (1, right)):
        x[:, column] = np.floor(np.exp2(digits - rng.random(rows) / 2))
        x[:, column] += 1 - x[:, column] % 2
    if count > 2:
        near = 1 + 2.0 ** (1 - to.digits) * rng.choice((-0.5, 1.0), rows)
        x[:, 2] = np.where(rng.random(rows) < 0.5, near, x[:, 2])
    return shuffled(rng, x) * signs(rng, shape)
