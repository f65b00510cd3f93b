"""A SQLite file that has this program's schema: migrated once for each process, then copied."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path

from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.schema.migration import upgrade


def place_database(file: Path) -> None:
    """Put an empty, migrated database there, unless there is one."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_migrated())


@contextmanager
def database_url() -> Iterator[str]:
    """The address of an empty, migrated database."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "oshaberi.sqlite3"
        place_database(file)
        yield f"sqlite:///{file}"


@asynccontextmanager
async def opened_database() -> AsyncIterator[Database]:
    """An empty, migrated database, open for the block."""
    with database_url() as url:
        async with Database.open(url, SecretVault([SecretVault.new_key()])) as db:
            yield db


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "template.sqlite3"
        migrating = threading.Thread(target=lambda: asyncio.run(_upgraded(file)))
        migrating.start()  # whoever asks may have a running loop
        migrating.join()
        connection = sqlite3.connect(file)
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()
        return file.read_bytes()


async def _upgraded(file: Path) -> None:
    await upgrade(f"sqlite:///{file}")
