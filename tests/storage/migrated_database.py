"""A SQLite database that has this program's schema: migrated once for each process, then copied."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.database_urls import address_of
from oshaberi.bot.storage.engine import SqliteDriverThreads, _sqlite
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.storage.schema.migration import upgrade
from oshaberi.bot.storage.transactions import Transactions
from oshaberi.clocks import utc_now
from oshaberi.virtual_time import outside_work


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


_free_engines: list[AsyncEngine] = []
"""Engines whose databases in memory were closed. They keep their connection, for a new database,
and the statements that they compiled."""
_VAULT = SecretVault([SecretVault.new_key()])


@asynccontextmanager
async def database_in_memory(
    personas: Iterable[PersonaRecord] = (), now: Callable[[], datetime] = utc_now
) -> AsyncIterator[Database]:
    """A database in memory with these personas: a tenth of what a file costs."""
    image = await _image(tuple(personas))
    async with _opened(image, now) as db:
        yield db


@asynccontextmanager
async def _opened(image: bytes, now: Callable[[], datetime]) -> AsyncIterator[Database]:
    address = address_of("sqlite://")
    if not _free_engines:
        _free_engines.append(_sqlite(address, True, SqliteDriverThreads()))
    engine = _free_engines.pop()
    with outside_work():
        async with engine.connect() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            await driver._execute(driver._conn.deserialize, image)
    store = Transactions(engine, address, now)
    try:
        yield Database(store, _VAULT)
    finally:
        await store.close()
        _free_engines.append(engine)


_images: dict[object, bytes] = {}


async def _image(personas: tuple[PersonaRecord, ...]) -> bytes:
    """The bytes of a database that has these personas."""
    if not _images:
        empty = bytearray(_migrated())
        empty[18:20] = b"\x01\x01"  # its header: no write-ahead log, which memory does not have
        _images["[]"] = bytes(empty)
    known = repr(personas)
    if known not in _images:
        async with _opened(_images["[]"], utc_now) as db:
            for persona in personas:
                await db.personas.save(persona)
            async with db._store.read() as session:
                driver: Any = await (await session.connection()).get_raw_connection()
                connection = driver.driver_connection
                _images[known] = await connection._execute(connection._conn.serialize)
    return _images[known]


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
