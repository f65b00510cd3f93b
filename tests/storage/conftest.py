"""Every test that asks for `url` or `empty_url` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from oshaberi.bot.storage import engine, outages

from .database_servers import migrated_postgres_url, postgres_url, stop_servers
from .migrated_database import place_database


def pytest_sessionfinish() -> None:
    stop_servers()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For two programs that share a file: on a busy machine one may hold it for seconds."""
    monkeypatch.setattr(engine, "BUSY_SECONDS", 60.0)
    monkeypatch.setattr(outages, "ANSWER_SECONDS", 60.0)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that has our schema, and nothing in it."""
    if request.param == "sqlite":
        file = tmp_path / "data" / "oshaberi.sqlite3"
        place_database(file)
        return f"sqlite:///{file}"
    return migrated_postgres_url()


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that does not exist yet, or is empty."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/data/oshaberi.sqlite3"
    return postgres_url()
