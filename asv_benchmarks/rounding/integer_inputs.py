"""Inputs of integer dtypes."""

from __future__ import annotations

import math

import numpy as np


def full_range(rng: np.random.Generator, to: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    limits = np.iinfo(to)
    return rng.integers(limits.min, limits.max, shape, dtype=to, endpoint=True)


def every_size(rng: np.random.Generator, to: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    return full_range(rng, to, shape) >> rng.integers(0, to.itemsize * 8, shape).astype(to)


def small(rng: np.random.Generator, to: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    return rng.integers(0 if to.kind == "u" else -100, 101, shape).astype(to)


def ends(rng: np.random.Generator, to: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    limits = np.iinfo(to)
    near = rng.integers(0, 3, shape).astype(to)
    least, most = to.type(limits.min), to.type(limits.max)
    return np.where(rng.random(shape) < 0.5, least + near, most - near).astype(to)


def cancelling(rng: np.random.Generator, to: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    x = every_size(rng, to, shape)
    pairs = (shape[1] - 1) // 2
    if to.kind == "i" and pairs:
        x[:, pairs : 2 * pairs] = -np.maximum(x[:, :pairs], -np.iinfo(to).max)
        x[:, :pairs] = -x[:, pairs : 2 * pairs]
    return rng.permuted(x, axis=1)


def near_squares(rng: np.random.Generator, to: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    """Return the legs of a right triangle, one longer or shorter by one in two thirds of the rows."""
    rows = shape[0]
    bits = (to.itemsize * 8 - 3) / 2
    p = np.floor(np.exp2(rng.uniform(2, bits, rows))).astype(np.int64)
    q = np.minimum(np.floor(np.exp2(rng.uniform(0, bits, rows))).astype(np.int64), p)
    x = np.zeros(shape, np.int64)
    x[:, 0] = p * p - q * q
    x[:, 1] = 2 * p * q + rng.integers(-1, 2, rows)
    return rng.permuted(np.maximum(x, 0), axis=1).astype(to)


def near_powers_of_e(rng: np.random.Generator, to: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    """Return values whose sum is next to a power of e."""
    rows, count = shape
    largest = int(math.log(min(np.iinfo(to).max, 2**63 - 1)))
    powers = np.array([int(math.exp(k)) for k in range(1, largest + 1)], np.int64)
    wanted = rng.choice(powers, rows) + rng.integers(-1, 3, rows)
    x = np.zeros(shape, np.int64)
    x[:, 1:] = (wanted[:, None] // count) * rng.random((rows, count - 1))
    x[:, 0] = wanted - x[:, 1:].sum(axis=1)
    return rng.permuted(x, axis=1).astype(to)


def equal(rng: np.random.Generator, to: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    return np.repeat(every_size(rng, to, (shape[0], 1)), shape[1], axis=1)
