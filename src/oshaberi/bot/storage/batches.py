"""Executes batches of entries, each in one transaction.

A SQLite file has its own thread; other databases use the event loop. With PostgreSQL a batch is a
single statement where that is possible.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, Executable, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oshaberi.bot.storage.database_urls import DatabaseAddress
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.group_commit import CommitUnknownError, OnActivity, WriteEntry, WriteStep
from oshaberi.bot.storage.outages import as_storage_errors

MOST_IN_ONE_STATEMENT = 8
"""Each combination of steps is prepared once per connection, so there should be few."""
_XID = text("SELECT txid_current()")
_STATUS = text("SELECT txid_status(:xid)")
_PARAMETER = re.compile(r"\$(\d+)")


@dataclass(slots=True)
class StatementRun:
    """One statement with the values of several steps."""

    statement: Executable
    values: list[Mapping[str, Any]] = field(default_factory=list)
    lanes: set[str] = field(default_factory=set)


def statement_runs(entries: Iterable[WriteEntry]) -> list[StatementRun]:
    """Return the statements of all entries; equal ones are joined where the lanes allow it."""
    entries = list(entries)
    runs: list[StatementRun] = []
    for entry in entries:
        for step in entry.steps:
            _place(runs, step, entry.lane)
    return runs + _tally_runs([step for entry in entries for step in entry.tallies])


def execute_entries(
    connection: Connection, entries: Sequence[WriteEntry], on_activity: OnActivity
) -> None:
    """Execute within the connection's transaction. Calls `on_activity` after each statement."""
    for run in statement_runs(entries):
        connection.execute(run.statement, run.values if len(run.values) > 1 else run.values[0])
        on_activity()


def single_statement_steps(entries: Sequence[WriteEntry]) -> list[WriteStep] | None:
    """Return the steps if one statement can write them all, in an order by kind; else None.

    The parts of a statement do not see each other's changes, so each must write a different row. If
    the connection is lost, it is unknown whether it was written, so it must be repeatable.
    """
    steps = [step for entry in entries for step in entry.steps]
    if len(steps) > MOST_IN_ONE_STATEMENT or any(entry.tallies for entry in entries):
        return None
    if not all(entry.repeatable for entry in entries):
        return None
    rows = [step.row for step in steps]
    if None in rows or len(set(rows)) < len(rows):
        return None
    return sorted(steps, key=lambda step: id(step.statement))


def _place(runs: list[StatementRun], step: WriteStep, lane: str) -> None:
    """Add a step to the last run of its statement, unless its lane has a later run."""
    for run in reversed(runs):
        if run.statement is step.statement:
            run.values.append(step.values)
            run.lanes.add(lane)
            return
        if lane in run.lanes:
            break
    runs.append(StatementRun(step.statement, [step.values], {lane}))


def _tally_runs(tallies: Sequence[WriteStep]) -> list[StatementRun]:
    runs: dict[int, StatementRun] = {}
    for step in tallies:
        run = runs.setdefault(id(step.statement), StatementRun(step.statement))
        run.values.append(step.values)
    for run in runs.values():
        run.values.sort(key=lambda values: tuple(values.values()))
    return list(runs.values())


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

    async def run(self, entries: Sequence[WriteEntry], on_activity: OnActivity) -> None:
        loop = asyncio.get_running_loop()
        async with self._writer:
            with as_storage_errors(self._address):
                await loop.run_in_executor(self._thread, self._run, entries, on_activity)

    def _run(self, entries: Sequence[WriteEntry], on_activity: OnActivity) -> None:
        with self._engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            execute_entries(connection, entries, on_activity)
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

    async def run(self, entries: Sequence[WriteEntry], on_activity: OnActivity) -> None:
        async with self._writer:
            with as_storage_errors(self._address):
                async with self._engine.connect() as connection:
                    await connection.exec_driver_sql("BEGIN IMMEDIATE")
                    await connection.run_sync(execute_entries, entries, on_activity)
                    await connection.commit()

    async def was_committed(self, xid: int) -> bool:
        raise AssertionError(f"SQLite has no transaction {xid}")

    def close(self) -> None: ...


class PostgresBatches:
    """For PostgreSQL. If the connection is lost during a COMMIT, the server knows the outcome.

    A message waits for a single statement: a distant database answers once, and not to BEGIN, every
    step and COMMIT separately.
    """

    def __init__(self, engine: AsyncEngine, address: DatabaseAddress) -> None:
        self._engine = engine
        self._autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._address = address
        self._joined: dict[tuple[int, ...], JoinedStatement] = {}

    async def run(self, entries: Sequence[WriteEntry], on_activity: OnActivity) -> None:
        steps = None if self._address.is_pooled else single_statement_steps(entries)
        if steps is None:
            await self._transaction(entries, on_activity)
        elif steps:
            await self._statement(steps)
            on_activity()

    async def _statement(self, steps: Sequence[WriteStep]) -> None:
        kind = tuple(id(step.statement) for step in steps)
        if kind not in self._joined:
            self._joined[kind] = JoinedStatement(steps, self._engine.dialect)
        joined = self._joined[kind]
        with as_storage_errors(self._address):
            async with self._autocommit.connect() as connection:
                try:
                    await connection.exec_driver_sql(joined.text, joined.parameters(steps))
                except OSError:
                    await _discard(connection)
                    raise

    async def _transaction(self, entries: Sequence[WriteEntry], on_activity: OnActivity) -> None:
        xid: int | None = None
        committing = False
        try:
            with as_storage_errors(self._address):
                async with self._engine.connect() as connection:
                    try:
                        await connection.run_sync(execute_entries, entries, on_activity)
                        if not all(entry.repeatable for entry in entries):
                            xid = await connection.scalar(_XID)
                        committing = True
                        await connection.commit()
                    except OSError:
                        await _discard(connection)
                        raise
        except StorageAwayError as error:
            if committing and xid is not None:
                raise CommitUnknownError(str(error), xid) from error
            raise

    async def was_committed(self, xid: int) -> bool:
        with as_storage_errors(self._address):
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
            texts.append(_renumber(part.string, count))
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


def _renumber(statement: str, by: int) -> str:
    return _PARAMETER.sub(lambda found: f"${int(found[1]) + by}", statement)


async def _discard(connection: AsyncConnection) -> None:
    """Drop a connection whose command took too long: it cannot be used any more."""
    await connection.invalidate()
