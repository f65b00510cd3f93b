"""One bot for each instance name: a lock file beside SQLite, an advisory lock in PostgreSQL."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oshaberi.bot.storage.database_urls import address_of
from oshaberi.bot.storage.engine import OWNER_ONLY, open_engine, unwritable
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.clocks import loop_time_s

# SQLite: a lock file for each instance name.
#
# Two bots would mistake each other's running answers for those of a crashed process, and tell
# people so. The lock ends with the process, however it ends; the empty lock file stays.


@contextmanager
def sole_owner(database_url: str, instance: str) -> Iterator[None]:
    """Hold the lock for the block. Raises StorageAwayError if another process holds it."""
    file = address_of(database_url).file
    if file is None:
        yield
        return
    lock = _open_lock_file(file, instance)
    try:
        _take(lock, file)
        yield
    finally:
        os.close(lock)


@contextmanager
def no_owner(file: Path) -> Iterator[None]:
    """Hold the locks of all bots of this file, so that none starts. Raises if one is running."""
    with ExitStack() as held:
        for path in sorted(file.parent.glob(f"{file.name}.*.lock")):
            lock = os.open(path, os.O_RDWR)
            held.callback(os.close, lock)
            _take(lock, file)
        yield


def _open_lock_file(file: Path, instance: str) -> int:
    beside = file.with_name(f"{file.name}.{quote(instance, safe='')}.lock")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return os.open(beside, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
    except OSError as error:
        raise unwritable(file, error) from error


def _take(lock: int, file: Path) -> None:
    with suppress(ImportError):  # not on Windows
        import fcntl

        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageAwayError(
                f"another oshaberi runs on {file}; end it, or give this one a folder of its own "
                "(OSHABERI_DATA_DIR)"
            ) from None


# PostgreSQL: a lock that ends with its connection.
#
# An open transaction holds the lock, so that it also works through PgBouncer, which gives a
# connection to one transaction at a time. An idle transaction like this one does not delay vacuum.


log = logging.getLogger(__name__)

STILL_SECONDS = 2.0
"""How often the connection is checked."""
AGAIN_SECONDS = 1.0
ANSWER_SECONDS = 3.0
BELIEVE_SECONDS = 6.0
"""How long after losing its own lock a process draws no conclusions about the others: they may have
lost theirs too, and will take them again."""
FAULTS = (SQLAlchemyError, OSError, TimeoutError)

_HOLD = text("SELECT pg_advisory_xact_lock_shared(hashtextextended(:what, 0))")
_IS_FREE = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:what, 0))")
_STILL = text("SELECT 1")


class PostgresLease:
    """The lease of one instance. Several processes of the same name may hold it together."""

    def __init__(self, engine: AsyncEngine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._held_since: float | None = None
        self._taken = asyncio.Event()

    async def is_gone(self, name: str) -> bool | None:
        """Return whether no process of that name is connected; None if that is unknown."""
        since = self._held_since
        if since is None or loop_time_s() - since < BELIEVE_SECONDS:
            return None
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._engine.connect() as connection:
                return bool(await connection.scalar(_IS_FREE, {"what": _what(name)}))
        except FAULTS as error:
            log.warning("PostgreSQL cannot say whether %s is there: %s", name, error)
            return None

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[PostgresLease]:
        """Hold the lease until the end of the block. Does not wait for a slow database."""
        holding = asyncio.create_task(self._hold(), name="postgres lease")
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._taken.wait()
            yield self
        finally:
            holding.cancel()
            await asyncio.wait({holding})

    async def _hold(self) -> None:
        while True:
            try:
                await self._hold_once()
            except FAULTS as error:
                log.warning("PostgreSQL was not told that we are there: %s", error)
            finally:
                self._held_since = None
            await asyncio.sleep(AGAIN_SECONDS)

    async def _hold_once(self) -> None:
        async with self._engine.connect() as connection:
            await connection.execute(_HOLD, {"what": _what(self._name)})
            self._held_since = loop_time_s()
            self._taken.set()
            while True:
                await asyncio.sleep(STILL_SECONDS)
                async with asyncio.timeout(ANSWER_SECONDS):
                    await connection.execute(_STILL)


@asynccontextmanager
async def postgres_lease(database_url: str, instance: str) -> AsyncIterator[PostgresLease | None]:
    """Hold the lease over its own connections. Yields None with SQLite."""
    address = address_of(database_url)
    if address.kind != "postgresql":
        yield None
        return
    async with open_engine(address) as engine, PostgresLease(engine, instance).hold() as lease:
        yield lease


def _what(name: str) -> str:
    return f"oshaberi:instance:{name}"
