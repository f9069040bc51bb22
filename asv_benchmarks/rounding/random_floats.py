"""What the generators of floating point inputs are made of: significands, exponents, signs."""

from __future__ import annotations

import numpy as np

from .formats import Format


def significands(rng: np.random.Generator, to: Format, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers in [1, 2) with all digits of the format, or, a quarter of them, with few."""
    whole = rng.integers(2 ** (to.digits - 1), 2**to.digits, shape)
    short = rng.integers(0, to.digits, shape) * (rng.random(shape) < 0.25)
    return np.ldexp((whole >> short << short).astype(np.float64), 1 - to.digits)


def magnitudes(rng: np.random.Generator, to: Format, exponents: np.ndarray) -> np.ndarray:
    """Return positive numbers with these exponents of two; less than the smallest number becomes 0."""
    with np.errstate(under="ignore", over="ignore"):
        return np.ldexp(significands(rng, to, exponents.shape), exponents)


def exponents(rng: np.random.Generator, to: Format, shape: tuple[int, ...], margin: int = 0) -> np.ndarray:
    """Return exponents of the format, less a margin at both ends."""
    return rng.integers(to.lowest + margin, to.highest - margin + 1, shape)


def signs(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return ones of either sign."""
    return rng.choice((-1.0, 1.0), shape)


def shuffled(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Return the rows, each in an order of its own."""
    return rng.permuted(x, axis=1)
