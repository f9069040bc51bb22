"""The fixture that runs a test over every array library, and the option that adds emulated CUDA kernels."""

from __future__ import annotations

from typing import Any

import pytest
from libraries import LIBRARIES, Library


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--emulated-cuda",
        action="store_true",
        help="run the tests of all array libraries on emulated CUDA kernels too: some minutes",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what takes a `library` over all of them."""
    if "library" in metafunc.fixturenames:
        emulated = metafunc.config.getoption("--emulated-cuda")
        libraries = [
            pytest.param(library, id=library.name, marks=[pytest.mark.gpu] if library.gpu else [])
            for library in LIBRARIES
            if emulated or not library.emulated
        ]
        metafunc.parametrize("library", libraries, indirect=True)


@pytest.fixture
def library(request: Any) -> Library:
    """Each array library in turn; skipped where it is not there."""
    try:
        return request.param()
    except ImportError as error:
        pytest.skip(f"{request.param.name} is not there: {error}")
