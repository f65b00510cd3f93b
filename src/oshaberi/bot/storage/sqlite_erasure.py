"""Removes deleted text from a SQLite file and from the `-wal` file beside it.

A committed DELETE leaves the text on the disk: in the pages of the `-wal` file, and now and then in
the unused part of a page, because SQLite moves rows between pages without overwriting the old place
(`secure_delete` does not change that). So after a deletion the file is rewritten (VACUUM), the
`-wal` file is merged into it and truncated. The deletion itself marks the file in the same
transaction, so that the next start erases the text if this process ends first.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from oshaberi.clocks import loop_time_s

log = logging.getLogger(__name__)

CLEAN = 1
"""SQLite's `user_version` while nothing is to be erased. A deletion sets it to a random number, so
that deletions by other processes in the meantime are noticed. A file of an older version has 0 and
may contain anything that was ever deleted from it."""

LOCK_SECONDS = 1.5
"""How long to wait for the lock of another process."""
READER_SECONDS = 0.2
"""How long to wait for readers. It is short and repeated, because nobody can write during it."""
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
REST_FACTOR = 20
"""The pause after rewriting the file, as a multiple of the time that it took: a person who deletes
again and again cannot keep the file busy."""
STEPS_PER_SIGN = 10_000
IN_PASSING = "in_passing"
"""The execution option of a DELETE that runs with every answer or every minute: the deleted text is
gone from the `-wal` file after a minute, and from the main file after the hourly run."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """`reason` says why something is left; None if nothing is."""

    reason: str | None
    is_rewritten: bool
    seconds: float


class SqliteErasure:
    """Erases what was deleted from one file. `alone` is the lock of all writers of this process.

    `on_activity` is called while the file is rewritten: that takes a long time for a large file,
    and is not an outage.
    """

    def __init__(self, file: Path, alone: asyncio.Lock, on_activity: Callable[[], None]) -> None:
        self._file = file
        self._alone = alone
        self._on_activity = on_activity
        self._loop = asyncio.get_running_loop()
        self._wanted = 0
        self._done = 0
        self._advanced = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._rest_until_s = 0.0

    @property
    def is_done(self) -> bool:
        return self._done >= self._wanted

    def note(self, connection: Connection, cursor: Any, statement: str, passing: bool) -> None:
        """Note a statement. If it deleted rows, mark the file in the same transaction."""
        if statement.startswith("DELETE FROM ") and cursor.rowcount > 0 and not passing:
            connection.exec_driver_sql(f"PRAGMA user_version = {2 + secrets.randbelow(2**30)}")
            with suppress(RuntimeError):  # the loop has ended; the mark stays for the next start
                self._loop.call_soon_threadsafe(self.want)

    def want(self) -> None:
        """Erase soon what has been deleted so far."""
        self._wanted += 1
        if self._task is None:
            self._task = self._loop.create_task(self._run(), name="erasing deleted text")

    async def start(self) -> None:
        """Erase what an earlier process left behind, and empty its `-wal` file."""
        if await asyncio.to_thread(is_clean, self._file):
            await self.shorten()
            return
        self.want()
        await self.wait_until_erased(LOCK_SECONDS)

    async def wait_until_erased(self, limit_s: float) -> bool:
        """Wait until everything that was deleted so far is erased. Return False after `limit_s`."""
        await asyncio.sleep(0)  # a thread may have just asked for it
        wanted = self._wanted
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s), self._advanced:
                await self._advanced.wait_for(lambda: self._done >= wanted)
        return self._done >= wanted

    async def shorten(self) -> bool:
        """Empty the `-wal` file, if nobody reads. Return whether it is empty."""
        async with self._alone:
            return await asyncio.to_thread(_shorten, self._file)

    async def close(self, limit_s: float) -> None:
        """Erase what is left. If that takes too long, the next start does it."""
        if self._task is not None:
            self._rest_until_s = 0.0
            await self.wait_until_erased(limit_s)
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        try:
            while not self.is_done:
                await self._erase()
        finally:
            self._task = None

    async def _erase(self) -> None:
        """Rewrite the file, then try to empty the `-wal` file until no reader is in the way."""
        wanted = await self._wait_for_rest()
        pause_s, is_rewritten = FIRST_PAUSE_SECONDS, False
        while True:
            async with self._alone:
                attempt = await asyncio.to_thread(self._attempt, is_rewritten)
            if not is_rewritten:
                self._rest_until_s = loop_time_s() + REST_FACTOR * attempt.seconds
            if attempt.reason is None:
                break
            if pause_s == FIRST_PAUSE_SECONDS:
                log.warning(
                    "deleted text is still in %s or its -wal file (%s): trying again until it is "
                    "gone",
                    self._file,
                    attempt.reason,
                )
            is_rewritten = attempt.is_rewritten
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_SECONDS)
        if pause_s > FIRST_PAUSE_SECONDS:
            log.info("deleted text is gone from %s", self._file)
        async with self._advanced:
            self._done = wanted
            self._advanced.notify_all()

    async def _wait_for_rest(self) -> int:
        """Wait until the file may be rewritten again. Return the number of the newest request."""
        while loop_time_s() < self._rest_until_s:
            await asyncio.sleep(FIRST_PAUSE_SECONDS)
        return self._wanted

    def _attempt(self, is_rewritten: bool) -> Attempt:
        began_s = time.monotonic()
        reason = None
        try:
            with closing(_open(self._file)) as connection:
                version = _version(connection)
                if not is_rewritten:
                    connection.set_progress_handler(self._on_activity, STEPS_PER_SIGN)
                    connection.execute("VACUUM")
                    connection.set_progress_handler(None, 0)
                    is_rewritten = True
                if _is_emptied(connection):
                    _mark_clean(connection, version)
                else:
                    reason = "another program is reading the database"
        except sqlite3.Error as error:
            reason = str(error)
        return Attempt(reason, is_rewritten, time.monotonic() - began_s)


def _open(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=LOCK_SECONDS, isolation_level=None
    )


def is_clean(file: Path) -> bool:
    """Return whether no deleted text is left to be erased."""
    with closing(_open(file)) as connection:
        return _version(connection) == CLEAN


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _mark_clean(connection: sqlite3.Connection, version: int) -> None:
    """Remove the mark, unless another process has deleted something since, and will erase it."""
    connection.execute("BEGIN IMMEDIATE")
    if _version(connection) == version:
        connection.execute(f"PRAGMA user_version = {CLEAN}")
    connection.execute("COMMIT")


def _shorten(file: Path) -> bool:
    try:
        with closing(_open(file)) as connection:
            return _is_emptied(connection)
    except sqlite3.Error:
        return False


def _is_emptied(connection: sqlite3.Connection) -> bool:
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * READER_SECONDS)}")
    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy
