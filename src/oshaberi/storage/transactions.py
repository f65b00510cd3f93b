"""Transactions: what every repository stands on. A session per call; SQLite has one writer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import CursorResult, Delete, Executable, Table, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute
from sqlalchemy.sql import delete, select

from oshaberi.storage.database_urls import DatabaseAddress
from oshaberi.storage.storage_errors import StorageError
from oshaberi.virtual_time import outside_work

Now = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


class Transactions:
    """One database, open. Its errors leave here as StorageError."""

    def __init__(self, engine: AsyncEngine, address: DatabaseAddress, now: Now) -> None:
        self.now = now
        self._engine = engine
        self._address = address
        self._writer = asyncio.Lock()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        if self._address.in_memory:  # one connection for all: one at a time
            async with self._writer, self._session("BEGIN") as session:
                yield session
        else:
            async with self._session("BEGIN") as session:
                yield session

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """One transaction, committed at the end. SQLite's writers queue here, in order:

        the lock is for this process, `IMMEDIATE` (which waits) for the others.
        """
        if self._address.kind == "sqlite":
            async with self._writer, self._session("BEGIN IMMEDIATE") as session:
                yield session
                await session.commit()
        else:
            async with self._session("BEGIN") as session:
                yield session
                await session.commit()

    async def write_once(self, statement: Executable, values: Mapping[str, Any]) -> None:
        """One statement as a transaction of its own, without a session: a third of the work.

        SQLite needs no `BEGIN` for it. Worth it where every message passes by.
        """
        async with self._writer if self._address.kind == "sqlite" else nullcontext():
            with outside_work(), told(self._address):
                async with self._engine.connect() as connection:
                    await connection.execute(statement, values)
                    await connection.commit()

    def insert(self, model: type[DeclarativeBase] | Table) -> Any:
        """An insert that knows `on_conflict_do_update`; both dialects spell it alike."""
        if self._address.kind == "sqlite":
            return sqlite.insert(model)
        return postgresql.insert(model)

    async def alone(self, session: AsyncSession, what: str) -> None:
        """Until this transaction ends nobody else is past this line with the same words."""
        if self._address.kind == "postgresql":
            lock = text("SELECT pg_advisory_xact_lock(hashtextextended(:what, 0))")
            await session.execute(lock, {"what": what})

    @asynccontextmanager
    async def _session(self, begin: str) -> AsyncIterator[AsyncSession]:
        with outside_work(), told(self._address):
            async with AsyncSession(self._engine, expire_on_commit=False) as session:
                if self._address.kind == "sqlite":
                    await session.execute(text(begin))
                yield session


@contextmanager
def told(address: DatabaseAddress) -> Iterator[None]:
    """Whatever the driver raises, in one line of ours."""
    try:
        yield
    except (SQLAlchemyError, OverflowError) as error:
        raise StorageError(f"the database {address} failed: {_reason(error)}") from error
    except OSError as error:
        reason = _first_line(error) or "no answer in time"
        raise StorageError(f"the database {address} cannot be reached: {reason}") from error


async def count(session: AsyncSession, statement: Executable) -> int:
    """Run it; how many rows it changed."""
    result = await session.execute(statement)
    return result.rowcount if isinstance(result, CursorResult) else 0


def beyond_newest(
    identity: InstrumentedAttribute[int],
    channel: InstrumentedAttribute[int],
    channel_id: int,
    keep: int,
) -> Delete:
    """Deletes all but the newest `keep` rows of a channel; ids grow with time."""
    here = channel == channel_id
    oldest_kept = select(identity).where(here).order_by(identity.desc()).offset(keep - 1).limit(1)
    return delete(identity.class_).where(here, identity < oldest_kept.scalar_subquery())


def _reason(error: Exception) -> str:
    """The driver's own words: SQLAlchemy's have the statement and a link in them."""
    return _first_line(error.orig if isinstance(error, DBAPIError) and error.orig else error)


def _first_line(error: BaseException) -> str:
    line = next(iter(str(error).splitlines()), "")
    return line.removeprefix("<class '").replace("'>: ", ": ", 1)
