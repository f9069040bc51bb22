"""The fixture that runs a test over every array library."""

from __future__ import annotations

from typing import Any

import pytest
from libraries import LIBRARIES, Library


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.name)
def library(request: Any) -> Library:
    """Each array library in turn; skipped where it is not installed."""
    try:
        return request.param()
    except ImportError as error:
        pytest.skip(f"{request.param.name} is not installed: {error}")
