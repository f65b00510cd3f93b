"""Transactions, the base of every repository.

Each call has a session; SQLite has a single writer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from datetime import date, datetime
from typing import Any, TypeVar

from sqlalchemy import (
    Connection,
    CursorResult,
    Delete,
    Engine,
    Executable,
    Integer,
    Table,
    bindparam,
    event,
    insert,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute
from sqlalchemy.sql import delete, select

from oshaberi.bot.storage.batches import LoopBatches, PostgresBatches, ThreadBatches
from oshaberi.bot.storage.changes import CHANNEL, FRESH_SECONDS, NOTIFY, ChangeFeed, StoredChange
from oshaberi.bot.storage.database_urls import DatabaseAddress
from oshaberi.bot.storage.engine import THREADS
from oshaberi.bot.storage.group_commit import CLOSE_SECONDS, BatchRunner, GroupCommit
from oshaberi.bot.storage.outages import (
    DatabaseCircuitBreaker,
    as_storage_errors,
    database_outage_log,
)
from oshaberi.bot.storage.schema.table_rows import QuotaNotice
from oshaberi.bot.storage.sqlite_erasure import IN_PASSING, SqliteErasure
from oshaberi.virtual_time import outside_work

ROOM = " " * 65_536
"""Writing it shows whether an outage is over: a full disk refuses only what needs space."""
Now = Callable[[], datetime]
T = TypeVar("T")


class Transactions:
    """An open database. Its errors are raised as StorageError.

    `reading` and `writing` are the circuit breakers; on PostgreSQL they are the same object.
    `writer` is for the records of turns, `write` for what must be read and written in one
    transaction.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        address: DatabaseAddress,
        now: Now,
        thread_engine: Engine | None = None,
    ) -> None:
        self.now = now
        self.address = address
        self.engine = engine
        self._has_one_connection = address.in_memory
        self._reading_engine = engine
        if address.kind == "postgresql" and not address.is_pooled:
            # Each statement sees what is committed, with or without BEGIN and ROLLBACK around it.
            # PgBouncer needs them: between two statements it may take another connection.
            self._reading_engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._thread_engine = thread_engine
        self._readers = ThreadPoolExecutor(THREADS - 1, "oshaberi-reader")
        self._writer = asyncio.Lock()
        self.changes = ChangeFeed(None if address.kind == "sqlite" else FRESH_SECONDS)
        outage_log = database_outage_log(str(address))
        self.reading = DatabaseCircuitBreaker(str(address), self._ping, outage_log)
        self.writing = self.reading
        if address.kind == "sqlite":
            self.writing = DatabaseCircuitBreaker(str(address), self._ping_writer, outage_log)
        self.writer = GroupCommit(self._runner(), self.writing)
        self.erasure: SqliteErasure | None = None
        if address.file is not None:
            self.erasure = SqliteErasure(address.file, self._writer, self.writing.note_activity)
        for sync_engine in self._engines():
            event.listen(sync_engine, "after_cursor_execute", self._note_statement)

    def _engines(self) -> list[Engine]:
        """Return the engines whose answers show that the database is up."""
        own_threads = [] if self._thread_engine is None else [self._thread_engine]
        return [self.engine.sync_engine, *own_threads]

    async def close(self) -> None:
        await self.writer.close()
        if self.erasure is not None:
            await self.erasure.close(CLOSE_SECONDS)
        await self.writing.close()
        await self.reading.close()
        self._readers.shutdown(wait=False)
        for sync_engine in self._engines():
            event.remove(sync_engine, "after_cursor_execute", self._note_statement)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        if self._has_one_connection:  # everybody's queries take turns
            async with self._writer, self._session("BEGIN") as session:
                yield session
        else:
            async with self._session("BEGIN", self._reading_engine) as session:
                yield session

    async def read_at_once(self, work: Callable[[Connection], T]) -> T:
        """Run several reads in one transaction; for a SQLite file in one thread call."""
        with outside_work(), as_storage_errors(self.address):
            if self._thread_engine is not None:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._readers, self._read_in_thread, work)
            one_at_a_time = self._writer if self._has_one_connection else nullcontext()
            async with one_at_a_time, self._reading_engine.connect() as connection:
                return await connection.run_sync(work)

    def _read_in_thread(self, work: Callable[[Connection], T]) -> T:
        assert self._thread_engine is not None
        with self._thread_engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            return work(connection)

    @asynccontextmanager
    async def write(self, *changes: StoredChange) -> AsyncIterator[AsyncSession]:
        """Open a transaction, committed at the end of the block.

        With SQLite writers wait in order: a lock orders those of this process, `BEGIN IMMEDIATE`
        waits for other processes. Caches are told about `changes`.
        """
        if self.address.kind == "sqlite":
            async with self._writer, self._session("BEGIN IMMEDIATE") as session:
                self.writing.note_activity()
                yield session
                await session.commit()
                self.writing.note_activity()
        else:
            async with self._session("BEGIN") as session:
                yield session
                for change in changes:
                    news = {"channel": CHANNEL, "payload": self.changes.encode(change)}
                    await session.execute(NOTIFY, news)
                await session.commit()
        for change in changes:
            self.changes.note(change)

    async def tell(self, change: StoredChange) -> None:
        """Tell caches about a change that an earlier transaction made."""
        if self.address.kind == "sqlite":
            self.changes.note(change)
            return
        async with self.write(change):
            """Only the news."""

    def insert(self, model: type[DeclarativeBase] | Table) -> Any:
        """Return an insert with `on_conflict_do_update`, for either dialect."""
        if self.address.kind == "sqlite":
            return sqlite.insert(model)
        from sqlalchemy.dialects import postgresql  # 2 MB that a bot with SQLite does not need

        return postgresql.insert(model)

    async def alone(self, session: AsyncSession, what: str) -> None:
        """Lock the name `what` until this transaction ends."""
        if self.address.kind == "postgresql":
            lock = text("SELECT pg_advisory_xact_lock(hashtextextended(:what, 0))")
            await session.execute(lock, {"what": what})

    @asynccontextmanager
    async def _session(
        self, begin: str, engine: AsyncEngine | None = None
    ) -> AsyncIterator[AsyncSession]:
        """Open a session. Its connection is returned at the end of the block, and not in `commit`.

        The end of a block cannot be cancelled, but a `commit` can: the pool would log a traceback.
        """
        with outside_work(), as_storage_errors(self.address):
            async with (
                (engine or self.engine).connect() as connection,
                AsyncSession(connection, expire_on_commit=False) as session,
            ):
                if self.address.kind == "sqlite":
                    await session.execute(text(begin))
                yield session

    def _runner(self) -> BatchRunner:
        if self.address.kind == "postgresql":
            return PostgresBatches(self.engine, self.address)
        if self._thread_engine is None:
            return LoopBatches(self.engine, self.address, self._writer)
        return ThreadBatches(self._thread_engine, self.address, self._writer)

    def _note_statement(
        self,
        connection: Connection,
        cursor: Any,
        statement: str,
        _parameters: object,
        context: Any,
        _executemany: bool,
    ) -> None:
        self.reading.note_activity()
        if self.erasure is not None:
            in_passing = bool(context.execution_options.get(IN_PASSING))
            self.erasure.note(connection, cursor, statement, in_passing)

    async def _ping(self) -> None:
        async with self.read() as session:
            await session.execute(text("SELECT 1"))

    async def _ping_writer(self) -> None:
        """Write a row and delete it. A full disk refuses only statements that need space."""
        async with self.write() as session:
            row = {"day": date.min, "quota": ROOM, "subject_id": 0, "channel_id": 0}
            await session.execute(insert(QuotaNotice).values(row))
            room = delete(QuotaNotice).where(QuotaNotice.day == date.min)
            await session.execute(in_passing(room))


async def count(session: AsyncSession, statement: Executable) -> int:
    """Execute a statement. Return how many rows it changed."""
    result = await session.execute(statement)
    return result.rowcount if isinstance(result, CursorResult) else 0


def beyond_newest(
    identity: InstrumentedAttribute[int], channel: InstrumentedAttribute[int]
) -> Delete:
    """Return a statement that deletes all but the newest rows of a channel, by id.

    Its values are `its_channel` and `last_kept`, the number of rows to keep minus one.
    """
    here = channel == bindparam("its_channel")
    kept = select(identity).where(here).order_by(identity.desc())
    oldest_kept = kept.offset(bindparam("last_kept", type_=Integer())).limit(1)
    rows = delete(identity.class_).where(here, identity < oldest_kept.scalar_subquery())
    return in_passing(rows)


def in_passing(rows: Delete) -> Delete:
    """Return a DELETE that does not make the file be rewritten immediately."""
    return rows.execution_options(**{IN_PASSING: True})
