"""Every test that asks for `url` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from .database_servers import postgres_url, stop_servers


def pytest_sessionfinish() -> None:
    stop_servers()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that does not exist yet, or is empty."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/data/oshaberi.sqlite3"
    return postgres_url()
