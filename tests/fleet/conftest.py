"""Ends the servers that these tests start."""

from __future__ import annotations

from tests.storage.database_servers import stop_servers


def pytest_sessionfinish() -> None:
    stop_servers()
