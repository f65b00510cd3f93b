"""The entries to write, as values; they are kept in order while the database is away."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Connection, Dialect, Engine, Executable, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oshaberi.bot.storage.database_urls import DatabaseAddress
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.outages import DatabaseCircuitBreaker, told

# The entries to write, as values, and the order of their statements.


Heard = Callable[[], None]
MOST_IN_ONE_STATEMENT = 8
"""Each combination of steps is prepared once on a connection: there should be few."""


@dataclass(frozen=True, slots=True)
class WriteStep:
    """One statement with its values. Equal statements are the same object."""

    statement: Executable
    values: Mapping[str, Any]
    row: tuple[object, ...] | None = None
    """The one row that it inserts, changes or deletes; None if it is not known or not one."""


@dataclass(slots=True, eq=False)
class WriteEntry:
    """Steps that are written together or not at all.

    Entries of one `lane` keep their order; lanes are independent of each other. `tallies` only
    count up, so their order does not matter: they run last and sorted, so that two processes never
    wait for each other's rows. `repeatable`: writing it twice has the same effect as writing it
    once.
    """

    steps: tuple[WriteStep, ...] = ()
    tallies: tuple[WriteStep, ...] = ()
    lane: str = ""
    repeatable: bool = False
    done: asyncio.Future[None] | None = None
    """The future of the caller that waits for the entry; None if nobody waits."""

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to write: the caller waits for what is in front of it."""
        return not (self.steps or self.tallies)

    @property
    def size(self) -> int:
        """Return roughly how many characters the entry holds."""
        return sum(_size(step.values) for step in (*self.steps, *self.tallies))

    def fail(self, error: Exception) -> None:
        """Raise the error in the caller that waits for the entry, if there is one."""
        if self.done is not None and not self.done.done():
            self.done.set_exception(error)


def turns_lane(channel_id: int) -> str:
    """Return the lane for the records of a channel's turns."""
    return f"turns {channel_id}"


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


def execute_entries(connection: Connection, entries: Sequence[WriteEntry], heard: Heard) -> None:
    """Execute within the connection's transaction. `heard` is called after each statement."""
    for run in statement_runs(entries):
        connection.execute(run.statement, run.values if len(run.values) > 1 else run.values[0])
        heard()


def single_statement_steps(entries: Sequence[WriteEntry]) -> list[WriteStep] | None:
    """Return the steps if one statement can write them all, in an order by kind; else None.

    The parts of a statement do not see what the others change, so each must have a row of its own.
    If the connection is lost, nobody knows whether it was written: it must be repeatable.
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


def _size(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_size(one) for one in value.values())
    if isinstance(value, list | tuple):
        return sum(_size(one) for one in value)
    return 8


# Keeps writes in order while the database is away. No caller waits for them.
#
# If there are too many, the oldest are dropped, and the log says so once for each outage.


log = logging.getLogger(__name__)

MOST_KEPT = 20_000
MOST_KEPT_CHARACTERS = 64 * 1024 * 1024


class KeptWrites:
    """The rules for a writer's queue during an outage. `waiting` is that queue, oldest first."""

    def __init__(self, waiting: deque[WriteEntry], breaker: DatabaseCircuitBreaker) -> None:
        self._waiting = waiting
        self._breaker = breaker
        self._characters = 0
        self._dropped = 0

    def begin_outage(self, running: Sequence[WriteEntry]) -> None:
        """Release all callers that wait for the queue, or for a running transaction."""
        self._dropped = 0
        self._let_go(running)
        self.keep_all()

    def keep_all(self) -> None:
        """Keep the whole queue. The entries of a failed transaction are back at its front."""
        self._let_go(self._waiting)
        self._characters = sum(entry.size for entry in self._waiting)
        self._drop_oldest()

    def keep(self, newest: Sequence[WriteEntry]) -> None:
        """Keep entries that were added to the end of the queue."""
        self._let_go(newest)
        self._characters += sum(entry.size for entry in newest)
        self._drop_oldest()

    def _let_go(self, entries: Sequence[WriteEntry]) -> None:
        error = self._breaker.error()
        for entry in entries:
            entry.fail(error)
            entry.done = None

    def _drop_oldest(self) -> None:
        before = self._dropped
        while len(self._waiting) > MOST_KEPT or self._characters > MOST_KEPT_CHARACTERS:
            self._characters -= self._waiting.popleft().size
            self._dropped += 1
        if self._dropped and not before:
            log.error("the database is away for so long that the oldest entries are forgotten")


# Writes many entries in one transaction: in a thread for a SQLite file, else in the loop.


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
        """Return whether a transaction was committed, after CommitUnknownError."""

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
