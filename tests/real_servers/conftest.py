from __future__ import annotations

from .server_processes import stop_servers


def pytest_sessionfinish() -> None:
    stop_servers()
