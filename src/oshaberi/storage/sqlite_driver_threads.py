"""Ends aiosqlite's threads. Each must end before the event loop of its connection does.

Cancelled work leaves its thread behind, and the thread may be waiting for the lock of another
process. A thread that reports its result to a closed loop ends with a traceback.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import Any

import aiosqlite

CHUNK_ROWS = 64
"""How many rows the driver fetches at once; its own default."""


class _Connection(aiosqlite.Connection):
    """A connection that stops its thread once. Whoever stops it again waits for the same end.

    The driver would queue a second stop behind the first, after which the thread does nothing more:
    a task that waits for it never ends, and neither does the event loop. It would also keep a
    connection open that is stopped, or whose task is cancelled, while it opens.
    """

    _stopping: asyncio.Future[Any] | None = None

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(self._opened, CHUNK_ROWS)
        self._open = connect
        self._opened_connection: sqlite3.Connection | None = None

    def stop(self) -> asyncio.Future[Any] | None:
        if self._stopping is None:
            self._tx.put_nowait((None, self._close_opened))
            self._stopping = super().stop()
        return self._stopping

    def give_up(self) -> None:
        """Let everybody go who waits for the end of the thread, even if it hangs."""
        if self._stopping is not None and not self._stopping.done():
            self._stopping.set_result(None)

    def _opened(self) -> sqlite3.Connection:
        """Open it, in its thread, which closes it even if nobody takes it."""
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
        deadline_s = asyncio.get_running_loop().time() + wait_s
        for connection in running:
            left_s = deadline_s - asyncio.get_running_loop().time()
            await asyncio.to_thread(_thread_of(connection).join, max(0.0, left_s))
            connection.give_up()

    def _running(self) -> list[_Connection]:
        return [one for one in self._connections if _thread_of(one).is_alive()]


def _thread_of(connection: aiosqlite.Connection) -> Thread:
    return connection._thread  # noqa: SLF001
