"""For all tests of the stage."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Name the marks, for a run with nothing but the stage."""
    for mark in (
        "shared_page: one stage and page for all of these tests, cleared before each",
        "slow: takes longer than two seconds",
    ):
        config.addinivalue_line("markers", mark)
