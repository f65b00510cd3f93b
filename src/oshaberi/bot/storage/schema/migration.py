"""Migrates a database to this program's schema, after a backup, in one transaction.

Several processes may start at once. A migration cannot be undone, so a SQLite file is backed up
first. Alembic is only imported if there is something to migrate, so a bot usually starts without
it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oshaberi.bot.storage.database_urls import DatabaseAddress, address_of
from oshaberi.bot.storage.engine import open_engine, prepare_file
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.outages import as_storage_errors
from oshaberi.bot.storage.sqlite_backups import back_up
from oshaberi.virtual_time import outside_work

if TYPE_CHECKING:
    from alembic.config import Config

log = logging.getLogger(__name__)

MIGRATIONS = Path(__file__).with_name("migrations")
VERSION_TABLE = "oshaberi_schema"
LOCK_SECONDS = 60

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


def head_revision() -> str:
    """Return the schema revision of this program."""
    return known_revisions()[-1]


@cache
def known_revisions() -> tuple[str, ...]:
    """Return every schema revision that this program can migrate from, and its own at the end.

    The files are named after the revisions.
    """
    files = (MIGRATIONS / "versions").glob("*.py")
    names = (re.fullmatch(r"r(\d{4})_\w+\.py", file.name) for file in files)
    found = tuple(sorted(name[1] for name in names if name is not None))
    if not found:
        raise StorageError("the migrations are missing: install oshaberi again")
    return found


async def current_revision(url: str) -> str | None:
    """Return the database's schema revision; None if it is empty or missing."""
    address = address_of(url)
    if address.in_memory or (address.file is not None and not address.file.exists()):
        return None
    async with open_engine(address) as engine:
        with outside_work(), as_storage_errors(address):
            async with engine.connect() as connection:
                return await connection.run_sync(_revision)


def _log_backup(path: Path) -> None:
    log.info("the database will be migrated; a copy of it as it is now: %s", path)


async def upgrade(
    url: str,
    to: str = "head",
    *,
    backup: bool = True,
    on_backup: Callable[[Path], None] = _log_backup,
) -> tuple[str, ...]:
    """Create the database if needed and migrate it. Return the applied revisions, in order.

    A SQLite file that has tables is backed up first; `on_backup` is called with the path.
    """
    address = address_of(url)
    await prepare_file(address)
    async with open_engine(address, foreign_keys=False) as engine:
        kept = on_backup if backup else None
        return await migrate(engine, address, to, kept)


async def migrate(
    engine: AsyncEngine,
    address: DatabaseAddress,
    to: str = "head",
    on_backup: Callable[[Path], None] | None = None,
) -> tuple[str, ...]:
    """Migrate the database of an open engine. Return the applied revisions, in order."""
    lock = _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    # Alembic keeps its state in modules, so two migrations must not alternate at an await.
    async with lock:
        with outside_work(), as_storage_errors(address):
            async with engine.connect() as connection:
                await _enter(connection, address)
                pending = await connection.run_sync(_pending, address, to)
                if pending is not None and address.file is not None and on_backup is not None:
                    on_backup(await back_up(address.file, pending))
                applied = await connection.run_sync(_run, to)
                await connection.commit()
    return applied


async def _enter(connection: AsyncConnection, address: DatabaseAddress) -> None:
    """Wait until no other process is migrating this database."""
    if address.kind == "sqlite":
        await connection.execute(text("BEGIN IMMEDIATE"))
        return
    await connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"))
    lock = text("SELECT pg_advisory_xact_lock(hashtextextended('oshaberi migrations', 0))")
    await connection.execute(lock)


def _pending(connection: Connection, address: DatabaseAddress, to: str) -> str | None:
    """Return the database's schema revision, if it has one and there are steps to apply."""
    current = _revision(connection)
    if current is not None and current not in known_revisions():
        raise newer_schema(address, current)
    wanted = head_revision() if to == "head" else to
    return None if current == wanted else current


def newer_schema(address: DatabaseAddress, current: str) -> StorageError:
    return StorageError(
        f"the database {address} has the schema {current}, which is newer than this program: "
        "install the newer oshaberi, or restore a backup"
    )


def _run(connection: Connection, to: str) -> tuple[str, ...]:
    if to == "head" and _revision(connection) == head_revision():
        return ()
    from alembic import command

    config = alembic_config()
    applied: list[str] = []

    def note(*, step: Any, **_more: Any) -> None:
        applied.append(step.up_revision_id)

    config.attributes.update(connection=connection, note=note)
    command.upgrade(config, to)
    return tuple(applied)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    row = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).one_or_none()
    return None if row is None else str(row.version_num)


def alembic_config() -> Config:
    """Return Alembic's configuration, with the folder of the migrations."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("path_separator", "newline")
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


# A dry run: what an upgrade would do. It changes nothing.


@dataclass(frozen=True, slots=True)
class PendingMigration:
    """One step: its revision, and its purpose in one line."""

    revision: str
    what: str


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """The steps of an upgrade. `current` is None for a database that does not exist yet."""

    current: str | None
    pending: tuple[PendingMigration, ...]
    copied_file: Path | None
    """The SQLite file that would be backed up first."""


async def plan_upgrade(url: str) -> UpgradePlan:
    """Return the plan. Raises StorageError if the database is newer than this program."""
    from alembic.script import ScriptDirectory

    address = address_of(url)
    current = await current_revision(url)
    scripts = ScriptDirectory.from_config(alembic_config())
    steps = list(reversed(list(scripts.walk_revisions())))
    known = [step.revision for step in steps]
    if current is not None and current not in known:
        raise newer_schema(address, current)
    done = 0 if current is None else known.index(current) + 1
    pending = tuple(
        PendingMigration(step.revision, " ".join((step.doc or "").split("\n\n")[0].split()))
        for step in steps[done:]
    )
    return UpgradePlan(current, pending, address.file if pending and current else None)
