"""Writes many entries in one transaction: in a thread for a SQLite file, else in the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from sqlalchemy import Engine, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oshaberi.storage.database_urls import DatabaseAddress
from oshaberi.storage.outages.driver_errors import told
from oshaberi.storage.storage_errors import StorageAwayError
from oshaberi.storage.write_entries import Heard, WriteEntry, execute_entries

_XID = text("SELECT txid_current()")
_STATUS = text("SELECT txid_status(:xid)")


class CommitUnknownError(StorageAwayError):
    """The connection was lost during a COMMIT. `xid` is the number of the transaction."""

    def __init__(self, message: str, xid: int) -> None:
        super().__init__(message)
        self.xid = xid


class BatchRunner(Protocol):
    """Writes entries in one transaction. Its errors are StorageError."""

    async def run(self, entries: Sequence[WriteEntry], heard: Heard) -> None:
        """Write all entries; or write none and raise."""

    async def was_committed(self, xid: int) -> bool:
        """Tell whether a transaction was committed, after CommitUnknownError."""

    def close(self) -> None: ...


class ThreadBatches:
    """For a SQLite file: one thread with its own connection, one call for each batch.

    `writer` is the lock of all writers of this process. After an error nothing was written, so the
    outcome is always known.
    """

    def __init__(self, engine: Engine, address: DatabaseAddress, writer: asyncio.Lock) -> None:
        self._engine = engine
        self._address = address
        self._writer = writer
        self._thread = ThreadPoolExecutor(1, "oshaberi-writer")

    async def run(self, entries: Sequence[WriteEntry], heard: Heard) -> None:
        loop = asyncio.get_running_loop()
        async with self._writer:
            with told(self._address):
                await loop.run_in_executor(self._thread, self._run, entries, heard)

    def _run(self, entries: Sequence[WriteEntry], heard: Heard) -> None:
        with self._engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            execute_entries(connection, entries, heard)
            connection.commit()

    async def was_committed(self, xid: int) -> bool:
        raise AssertionError(f"SQLite has no transaction {xid}")

    def close(self) -> None:
        self._thread.submit(self._engine.dispose)
        self._thread.shutdown(wait=False)


class LoopBatches:
    """For SQLite in memory, where all share one connection."""

    def __init__(self, engine: AsyncEngine, address: DatabaseAddress, writer: asyncio.Lock) -> None:
        self._engine = engine
        self._address = address
        self._writer = writer

    async def run(self, entries: Sequence[WriteEntry], heard: Heard) -> None:
        async with self._writer:
            with told(self._address):
                async with self._engine.connect() as connection:
                    await connection.exec_driver_sql("BEGIN IMMEDIATE")
                    await connection.run_sync(execute_entries, entries, heard)
                    await connection.commit()

    async def was_committed(self, xid: int) -> bool:
        raise AssertionError(f"SQLite has no transaction {xid}")

    def close(self) -> None: ...


class PostgresBatches:
    """For PostgreSQL. If the connection is lost during a COMMIT, the server knows the outcome."""

    def __init__(self, engine: AsyncEngine, address: DatabaseAddress) -> None:
        self._engine = engine
        self._address = address

    async def run(self, entries: Sequence[WriteEntry], heard: Heard) -> None:
        xid: int | None = None
        committing = False
        try:
            with told(self._address):
                async with self._engine.connect() as connection:
                    try:
                        await connection.run_sync(execute_entries, entries, heard)
                        if not all(entry.repeatable for entry in entries):
                            xid = await connection.scalar(_XID)
                        committing = True
                        await connection.commit()
                    except OSError:
                        await _given_up(connection)
                        raise
        except StorageAwayError as error:
            if committing and xid is not None:
                raise CommitUnknownError(str(error), xid) from error
            raise

    async def was_committed(self, xid: int) -> bool:
        with told(self._address):
            async with self._engine.connect() as connection:
                status = await connection.scalar(_STATUS, {"xid": xid})
        if status == "in progress":
            raise StorageAwayError(f"the database {self._address} still works on a transaction")
        return bool(status == "committed")

    def close(self) -> None: ...


async def _given_up(connection: AsyncConnection) -> None:
    """Drop a connection whose command took too long: it cannot be used any more."""
    await connection.invalidate()
