"""Ends the servers that these tests start."""

from __future__ import annotations

from tests.storage.servers import stop_servers


def pytest_sessionfinish() -> None:
    stop_servers()
