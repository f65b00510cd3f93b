"""For measurements on a small scale."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def _prepared(little_to_collect: None) -> None:
    """See there."""
