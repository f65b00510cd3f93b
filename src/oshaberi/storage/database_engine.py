"""Makes the engine of a database, and SQLite's file: a folder, mode 600, WAL."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from oshaberi.storage.database_urls import DatabaseAddress
from oshaberi.storage.storage_errors import StorageError
from oshaberi.virtual_time import outside_work

BUSY_SECONDS = 30
DRIVERS_LOG = logging.getLogger("aiosqlite")
CONNECT_SECONDS = 10
OWNER_ONLY = 0o600


@asynccontextmanager
async def open_engine(
    address: DatabaseAddress, *, foreign_keys: bool = True
) -> AsyncIterator[AsyncEngine]:
    """`foreign_keys` off is for migrations: SQLite changes a table by making it anew."""
    engine = _sqlite(address, foreign_keys) if address.kind == "sqlite" else _postgres(address)
    try:
        yield engine
    finally:
        with outside_work():
            await engine.dispose()


async def prepare_file(address: DatabaseAddress) -> None:
    """SQLite's file, ready to be opened by many."""
    if address.file is None:
        return
    with outside_work():
        try:
            await asyncio.to_thread(_prepare, address.file)
        except OSError as error:
            raise unwritable(address.file, error) from error
        except sqlite3.Error as error:
            raise StorageError(f"the database {address.file} cannot be used: {error}") from error


def unwritable(file: Path, error: OSError) -> StorageError:
    return StorageError(
        f"the database {file} cannot be written: {error.strerror}; "
        "set data_dir or database_url to a place that can"
    )


def _prepare(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, OWNER_ONLY))
    if file.stat().st_uid == os.geteuid():
        file.chmod(OWNER_ONLY)  # the files beside it (-wal, -shm) take their mode from it
    with closing(sqlite3.connect(file, timeout=BUSY_SECONDS)) as connection:
        _set_wal(connection)


def _set_wal(connection: sqlite3.Connection) -> None:
    """The change of mode does not wait for others as other statements do: it is tried again."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _sqlite(address: DatabaseAddress, foreign_keys: bool) -> AsyncEngine:
    """The driver begins no transactions by itself: `Transactions` says which `BEGIN`."""
    DRIVERS_LOG.setLevel(logging.INFO)  # its debug lines repeat every value that is stored
    engine = create_async_engine(
        address.url,
        hide_parameters=True,
        connect_args={"isolation_level": None, "timeout": BUSY_SECONDS},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def set_pragmas(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    return engine


def _postgres(address: DatabaseAddress) -> AsyncEngine:
    return create_async_engine(
        address.url,
        hide_parameters=True,
        pool_pre_ping=True,
        connect_args={"timeout": CONNECT_SECONDS},
    )
