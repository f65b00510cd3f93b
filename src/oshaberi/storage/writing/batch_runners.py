"""Writes many entries in one transaction: in a thread for a SQLite file, else in the loop."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from sqlalchemy import Dialect, Engine, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oshaberi.storage.database_urls import DatabaseAddress
from oshaberi.storage.outages.driver_errors import told
from oshaberi.storage.storage_errors import StorageAwayError
from oshaberi.storage.write_entries import (
    Heard,
    WriteEntry,
    WriteStep,
    execute_entries,
    single_statement_steps,
)

_XID = text("SELECT txid_current()")
_STATUS = text("SELECT txid_status(:xid)")
_PARAMETER = re.compile(r"\$(\d+)")


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
    """For PostgreSQL. If the connection is lost during a COMMIT, the server knows the outcome.

    What a message waits for is one statement: a database far away answers once, and not to BEGIN,
    each step and COMMIT.
    """

    def __init__(self, engine: AsyncEngine, address: DatabaseAddress) -> None:
        self._engine = engine
        self._autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._address = address
        self._joined: dict[tuple[int, ...], JoinedStatement] = {}

    async def run(self, entries: Sequence[WriteEntry], heard: Heard) -> None:
        steps = None if self._address.is_pooled else single_statement_steps(entries)
        if steps is None:
            await self._transaction(entries, heard)
        elif steps:
            await self._statement(steps)
            heard()

    async def _statement(self, steps: Sequence[WriteStep]) -> None:
        kind = tuple(id(step.statement) for step in steps)
        if kind not in self._joined:
            self._joined[kind] = JoinedStatement(steps, self._engine.dialect)
        joined = self._joined[kind]
        with told(self._address):
            async with self._autocommit.connect() as connection:
                try:
                    await connection.exec_driver_sql(joined.text, joined.parameters(steps))
                except OSError:
                    await _given_up(connection)
                    raise

    async def _transaction(self, entries: Sequence[WriteEntry], heard: Heard) -> None:
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


class JoinedStatement:
    """Steps as one statement: each but the last is a part of its WITH clause."""

    def __init__(self, steps: Sequence[WriteStep], dialect: Dialect) -> None:
        self._parts: list[Any] = []
        texts: list[str] = []
        count = 0
        for step in steps:
            part: Any = step.statement.compile(  # type: ignore[attr-defined]
                dialect=dialect, column_keys=list(step.values)
            )
            self._parts.append(part)
            texts.append(_renumbered(part.string, count))
            count += len(part.positiontup)
        *first, last = texts
        parts = ", ".join(f"part_{number} AS ({text})" for number, text in enumerate(first))
        self.text = f"WITH {parts} {last}" if parts else last

    def parameters(self, steps: Sequence[WriteStep]) -> tuple[Any, ...]:
        """Return the values of all steps, in the form that the driver takes."""
        found: list[Any] = []
        for step, part in zip(steps, self._parts, strict=True):
            values = part.construct_params(step.values)
            for name in part.positiontup:
                process = part._bind_processors.get(name)  # noqa: SLF001
                found.append(values[name] if process is None else process(values[name]))
        return tuple(found)


def _renumbered(statement: str, by: int) -> str:
    return _PARAMETER.sub(lambda found: f"${int(found[1]) + by}", statement)


async def _given_up(connection: AsyncConnection) -> None:
    """Drop a connection whose command took too long: it cannot be used any more."""
    await connection.invalidate()
