"""Migrates a database to this program's schema: all steps in one transaction.

Safe when several processes start at once. There is no way back: that is what backups are for.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oshaberi.storage.database_engine import open_engine, prepare_file
from oshaberi.storage.database_urls import DatabaseAddress, address_of
from oshaberi.storage.storage_errors import StorageError
from oshaberi.storage.transactions import told
from oshaberi.virtual_time import outside_work

VERSION_TABLE = "oshaberi_schema"
LOCK_SECONDS = 60

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


def head_revision() -> str:
    """The schema of this program."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    if head is None:
        raise StorageError("the migrations are missing: install oshaberi again")
    return head


async def current_revision(url: str) -> str | None:
    """The schema that the database has; None if it is empty or not there yet."""
    address = address_of(url)
    if address.in_memory or (address.file is not None and not address.file.exists()):
        return None
    async with open_engine(address) as engine:
        with outside_work(), told(address):
            async with engine.connect() as connection:
                return await connection.run_sync(_revision)


async def upgrade(url: str, to: str = "head") -> tuple[str, ...]:
    """Make the database if need be and migrate it. The revisions that were applied, in order."""
    address = address_of(url)
    await prepare_file(address)
    async with open_engine(address, foreign_keys=False) as engine:
        return await migrate(engine, address, to)


async def migrate(
    engine: AsyncEngine, address: DatabaseAddress, to: str = "head"
) -> tuple[str, ...]:
    """The same for an engine that is open."""
    lock = _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    # Alembic keeps its state in its modules: two migrations must not take turns at one await.
    async with lock:
        with outside_work(), told(address):
            async with engine.connect() as connection:
                await _enter(connection, address)
                applied = await connection.run_sync(_run, address, to)
                await connection.commit()
    return applied


async def _enter(connection: AsyncConnection, address: DatabaseAddress) -> None:
    """Wait until no other process migrates this database."""
    if address.kind == "sqlite":
        await connection.execute(text("BEGIN IMMEDIATE"))
        return
    await connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"))
    lock = text("SELECT pg_advisory_xact_lock(hashtextextended('oshaberi migrations', 0))")
    await connection.execute(lock)


def _run(connection: Connection, address: DatabaseAddress, to: str) -> tuple[str, ...]:
    config = _config()
    current = _revision(connection)
    scripts = ScriptDirectory.from_config(config)
    if to == "head" and current == scripts.get_current_head():
        return ()
    known = {script.revision for script in scripts.walk_revisions()}
    if current is not None and current not in known:
        raise StorageError(
            f"the database {address} has the schema {current}, which is newer than this program: "
            "install the newer oshaberi, or restore a backup"
        )
    applied: list[str] = []

    def note(*, step: Any, **_more: Any) -> None:
        applied.append(step.up_revision_id)

    config.attributes.update(connection=connection, note=note)
    command.upgrade(config, to)
    return tuple(applied)


def _revision(connection: Connection) -> str | None:
    options = {"version_table": VERSION_TABLE}
    return MigrationContext.configure(connection, opts=options).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("path_separator", "newline")
    folder = str(Path(__file__).with_name("migrations")).replace("%", "%%")
    config.set_main_option("script_location", folder)
    return config
