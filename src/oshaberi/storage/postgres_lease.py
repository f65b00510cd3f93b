"""The instance lease in PostgreSQL: a lock that ends with its connection.

An open transaction holds the lock, so that it also works through PgBouncer, which gives a
connection to one transaction at a time. An idle transaction like this one does not delay vacuum.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oshaberi.storage.database_engine import open_engine
from oshaberi.storage.database_urls import address_of

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
        """Tell whether no process of that name is connected; None if that is unknown."""
        since = self._held_since
        if since is None or asyncio.get_running_loop().time() - since < BELIEVE_SECONDS:
            return None
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._engine.connect() as connection:
                return bool(await connection.scalar(_IS_FREE, {"what": _what(name)}))
        except FAULTS as error:
            log.warning("PostgreSQL cannot say whether %s is there: %s", name, error)
            return None

    @asynccontextmanager
    async def held(self) -> AsyncIterator[PostgresLease]:
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
            self._held_since = asyncio.get_running_loop().time()
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
    async with open_engine(address) as engine, PostgresLease(engine, instance).held() as lease:
        yield lease


def _what(name: str) -> str:
    return f"oshaberi:instance:{name}"
