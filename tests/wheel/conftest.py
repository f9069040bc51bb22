"""These tests look at an installed wheel. `.ci/run` builds one and says where: XPREDUCE_WHEEL is its path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def wheel() -> Path:
    path = os.environ.get("XPREDUCE_WHEEL")
    if path is None:
        pytest.skip("XPREDUCE_WHEEL names no built wheel; .ci/run builds one")
    return Path(path)
