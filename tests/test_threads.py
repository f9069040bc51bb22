"""The number of threads: what may be said, and where it holds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import xpreduce


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    xpreduce.set_num_threads(None)


def test_process_and_block() -> None:
    default = xpreduce.get_num_threads()
    assert default >= 1
    xpreduce.set_num_threads(3)
    with xpreduce.use_num_threads(1):
        assert xpreduce.get_num_threads() == 1
        with xpreduce.use_num_threads(np.int64(2)):
            assert xpreduce.get_num_threads() == 2
        assert xpreduce.get_num_threads() == 1
    assert xpreduce.get_num_threads() == 3
    xpreduce.set_num_threads(None)
    assert xpreduce.get_num_threads() == default


def test_block_ends_with_an_error() -> None:
    default = xpreduce.get_num_threads()
    with pytest.raises(KeyError), xpreduce.use_num_threads(default + 1):
        raise KeyError
    assert xpreduce.get_num_threads() == default


def test_block_is_of_its_thread() -> None:
    seen = []
    with xpreduce.use_num_threads(7):
        other = threading.Thread(target=lambda: seen.append(xpreduce.get_num_threads()))
        other.start()
        other.join()
    assert seen == [xpreduce.get_num_threads()]


@pytest.mark.parametrize("number", [0, -1, 1.0, True, "2"])
def test_what_is_no_number_of_threads(number: Any) -> None:
    error = ValueError if type(number) is int else TypeError
    for take in (xpreduce.set_num_threads, lambda n: xpreduce.use_num_threads(n).__enter__()):
        with pytest.raises(error, match="number of threads"):
            take(number)
