"""Creates the engine of a database, and SQLite's file: its folder, mode 600, WAL, its threads."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import aiosqlite
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.util import await_only
from sqlalchemy.util.concurrency import in_greenlet

from oshaberi.bot.storage.database_urls import DatabaseAddress
from oshaberi.bot.storage.errors import StorageError, storage_error
from oshaberi.bot.storage.sqlite_erasure import CLEAN
from oshaberi.clocks import loop_time_s
from oshaberi.virtual_time import outside_work

# aiosqlite's threads. Each must end before the event loop of its connection does.
#
# Cancelled work abandons its thread, and the thread may be waiting for the lock of another
# process. A thread that reports its result to a closed loop ends with a traceback.


CHUNK_ROWS = 64
"""How many rows the driver fetches at once; its own default."""


class _Connection(aiosqlite.Connection):
    """A connection that stops its thread once. A second stop waits for the same end.

    The driver would queue a second stop after the first, when the thread does nothing any more: a
    task that waits for it never ends, and neither does the event loop. It would also keep a
    connection open that is stopped, or whose task is cancelled, while it opens.
    """

    _stopping: asyncio.Future[Any] | None = None

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(self._open_and_keep, CHUNK_ROWS)
        self._open = connect
        self._opened_connection: sqlite3.Connection | None = None

    def stop(self) -> asyncio.Future[Any] | None:
        if self._stopping is None:
            self._tx.put_nowait((None, self._close_opened))
            self._stopping = super().stop()
        return self._stopping

    def give_up(self) -> None:
        """Release everything that waits for the end of the thread, even if the thread hangs."""
        if self._stopping is not None and not self._stopping.done():
            self._stopping.set_result(None)

    def _open_and_keep(self) -> sqlite3.Connection:
        """Open the connection in its thread, which closes it again if nobody takes it."""
        self._opened_connection = self._open()
        return self._opened_connection

    def _close_opened(self) -> None:
        if self._opened_connection is not None:
            self._opened_connection.close()

    async def _connect(self) -> aiosqlite.Connection:
        await super()._connect()
        if self._stopping is not None:
            await asyncio.wait({self._stopping})
            self._connection = None  # its thread has closed it
            raise sqlite3.OperationalError("the connection was closed while it was opened")
        return self


class SqliteDriverThreads:
    """The threads of the connections of one engine."""

    def __init__(self) -> None:
        self._connections: list[_Connection] = []

    def connect(self, *args: Any, **kwargs: Any) -> aiosqlite.Connection:
        """Make a connection, as SQLAlchemy does, and remember it."""
        connection = _Connection(partial(sqlite3.connect, *args, **kwargs))
        _thread_of(connection).daemon = True
        self._connections = [*self._running(), connection]
        return connection

    async def end(self, wait_s: float) -> None:
        """Close the connections that are still open, and wait up to `wait_s` for their threads."""
        running = self._running()
        for connection in running:
            connection.stop()
        deadline_s = loop_time_s() + wait_s
        for connection in running:
            left_s = deadline_s - loop_time_s()
            await asyncio.to_thread(_thread_of(connection).join, max(0.0, left_s))
            connection.give_up()

    def _running(self) -> list[_Connection]:
        return [one for one in self._connections if _thread_of(one).is_alive()]


def _thread_of(connection: aiosqlite.Connection) -> Thread:
    return connection._thread  # noqa: SLF001


# The engines, and SQLite's file.


PREPARE_SECONDS = 30
"""How long the start waits for the file, while other processes prepare or migrate it."""
BUSY_SECONDS = 2.0
"""How long a SQLite statement waits for the lock of another process. It is longer than
`outages.ANSWER_SECONDS`, after which the database counts as away, so that this always comes first.
"""
END_SECONDS = 1.0
"""How long closing the database waits for threads whose work was abandoned."""
DRIVERS_LOG = logging.getLogger("aiosqlite")
CONNECT_SECONDS = 5
COMMAND_SECONDS = 15
"""A statement that PostgreSQL does not answer within this time counts as failed."""
THREADS = 4
POOL_SIZE = 10
POOL_SECONDS = 120
"""How long to wait for a free connection. It is long, because many turns that read at once wait for
each other, which is not an outage: the circuit breaker decides whether the database is away."""
RECYCLE_SECONDS = 1800
PING_AFTER_SECONDS = 30.0
_USED_S = "oshaberi_used_s"
OWNER_ONLY = 0o600


@asynccontextmanager
async def open_engine(
    address: DatabaseAddress, *, foreign_keys: bool = True
) -> AsyncIterator[AsyncEngine]:
    """Open an engine for the block.

    Migrations switch `foreign_keys` off, because SQLite changes a table by creating it again. They
    also have no time limit.
    """
    threads = SqliteDriverThreads()
    if address.kind == "sqlite":
        engine = _sqlite(address, foreign_keys, threads)
    else:
        engine = _postgres(address, foreign_keys)
    try:
        yield engine
    finally:
        with outside_work():
            await engine.dispose()
            await threads.end(END_SECONDS)


async def prepare_file(address: DatabaseAddress) -> None:
    """Prepare SQLite's file, so that several processes can open it."""
    if address.file is None:
        return
    with outside_work():
        try:
            await asyncio.to_thread(_prepare, address.file)
        except OSError as error:
            raise unwritable(address.file, error) from error
        except sqlite3.Error as error:
            line = f"the database {address.file} cannot be used: {error}"
            raise storage_error(line, error) from error


def unwritable(file: Path, error: OSError) -> StorageError:
    line = (
        f"the database {file} cannot be written: {error.strerror}; "
        "set data_dir or database_url to a place that can"
    )
    return storage_error(line, error)


def _prepare(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, OWNER_ONLY))
    is_new = not file.stat().st_size
    if file.stat().st_uid == os.geteuid():
        file.chmod(OWNER_ONLY)  # the files beside it (-wal, -shm) take their mode from it
    with closing(sqlite3.connect(file, timeout=PREPARE_SECONDS)) as connection:
        _set_wal(connection)
        if is_new:
            connection.execute(f"PRAGMA user_version = {CLEAN}")


def _set_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL. This statement does not wait for locks, so it is repeated."""
    deadline = time.monotonic() + PREPARE_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _sqlite(
    address: DatabaseAddress, foreign_keys: bool, threads: SqliteDriverThreads
) -> AsyncEngine:
    """Create an engine that begins no transactions: `Transactions` chooses the `BEGIN`."""
    DRIVERS_LOG.setLevel(logging.INFO)  # its debug lines repeat every value that is stored
    wait_s = BUSY_SECONDS if foreign_keys else PREPARE_SECONDS
    engine = create_async_engine(
        address.url,
        hide_parameters=True,
        connect_args={
            "isolation_level": None,
            "timeout": wait_s,
            "async_creator_fn": threads.connect,
        },
        **({} if address.in_memory else {"pool_timeout": POOL_SECONDS}),
    )
    _set_pragmas(engine.sync_engine, foreign_keys)
    _end_abandoned_connections(engine, _close_connection)
    return engine


def _end_abandoned_connections(engine: AsyncEngine, end: Callable[[Any], None]) -> None:
    setattr(engine.sync_engine.dialect, "do_terminate", end)  # noqa: B010


def _close_connection(connection: Any) -> None:
    """Close a connection that was abandoned, and wait until it is closed.

    SQLAlchemy's own way stops the driver's thread while a shielded `close` still waits for it: if
    the work was cancelled twice, that task never ends, and neither does the event loop.
    """
    if not in_greenlet():
        connection.terminate()
        return
    with _defer_cancellation():
        connection.close()


def _terminate_connection(connection: Any) -> None:
    """End a connection that was abandoned, even if this is cancelled as well."""
    with _defer_cancellation():
        connection.terminate()


@contextmanager
def _defer_cancellation() -> Iterator[None]:
    """Raise a cancellation at the next step of the task: here the pool would log its traceback."""
    try:
        yield
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None:
            task.uncancel()  # raised once all the same, because time limits depend on it
            task.cancel()


def thread_engine(address: DatabaseAddress) -> Engine | None:
    """Return an engine for threads that use a SQLite file; None for other databases."""
    if address.file is None:
        return None
    engine = create_engine(
        address.url.set(drivername="sqlite"),
        hide_parameters=True,
        connect_args={
            "isolation_level": None,
            "timeout": BUSY_SECONDS,
            "check_same_thread": False,
        },
        pool_size=THREADS,
        max_overflow=0,
    )
    _set_pragmas(engine, foreign_keys=True)
    return engine


def _set_pragmas(engine: Engine, foreign_keys: bool) -> None:
    @event.listens_for(engine, "connect")
    def set_pragmas(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute("PRAGMA secure_delete=ON")
        cursor.close()


def _postgres(address: DatabaseAddress, foreign_keys: bool) -> AsyncEngine:
    """Create an engine. `command_timeout` limits how long a hanging database can block."""
    try:
        engine = create_async_engine(
            address.url,
            hide_parameters=True,
            pool_size=POOL_SIZE,
            max_overflow=0,
            pool_timeout=POOL_SECONDS,
            pool_recycle=RECYCLE_SECONDS,
            pool_use_lifo=True,
            connect_args={
                "timeout": CONNECT_SECONDS,
                "command_timeout": COMMAND_SECONDS if foreign_keys else None,
                **(_WITHOUT_PREPARED if address.is_pooled else {}),
            },
        )
    except ModuleNotFoundError as missing:
        raise StorageError(
            f"database_url: PostgreSQL needs {missing.name}, which is not installed: "
            'pip install "oshaberi[postgres]"'
        ) from None
    _end_abandoned_connections(engine, _terminate_connection)
    _check_connections(engine.sync_engine)
    return engine


def _check_connections(engine: Engine) -> None:
    """Replace lost connections when they are taken from the pool.

    The driver knows which connections were closed. Only a connection that was unused for a long
    time is tested, since it may have been lost silently. SQLAlchemy's own check would make every
    call wait for three answers of a database that may be far away.
    """

    @event.listens_for(engine, "checkin")
    def note_time(_connection: Any, record: Any) -> None:
        record.info[_USED_S] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def check(connection: Any, record: Any, _proxy: Any) -> None:
        if connection.driver_connection.is_closed():
            raise DisconnectionError
        now_s = time.monotonic()
        if now_s - record.info.get(_USED_S, now_s) > PING_AFTER_SECONDS:
            try:
                await_only(connection.driver_connection.execute("SELECT 1"))
            except Exception as error:
                # Whatever the driver raises, this connection is over.
                raise DisconnectionError from error


_WITHOUT_PREPARED: dict[str, Any] = {
    "statement_cache_size": 0,
    "prepared_statement_name_func": lambda: "",
}
"""For PgBouncer in transaction mode: the unnamed statement is replaced by the next one, so nothing
is left on a connection that others use."""
