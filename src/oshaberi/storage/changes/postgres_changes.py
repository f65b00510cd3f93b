"""Changes of other processes through PostgreSQL: LISTEN here, NOTIFY in the transaction itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oshaberi.storage.changes.change_feed import ChangeFeed

log = logging.getLogger(__name__)

CHANNEL = "oshaberi_changes"
NOTIFY = text("SELECT pg_notify(:channel, :payload)")
CHECK_SECONDS = 5.0
ANSWER_SECONDS = 2.0
RETRY_SECONDS = 1.0


@asynccontextmanager
async def listening(engine: AsyncEngine, feed: ChangeFeed) -> AsyncIterator[None]:
    """Receive changes until the end of the block. Reconnects if the connection is lost.

    It uses a connection of its own: PgBouncer in transaction mode cannot carry LISTEN.
    """
    task = asyncio.create_task(_listen(engine, feed), name="stored changes")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _listen(engine: AsyncEngine, feed: ChangeFeed) -> None:
    while True:
        try:
            await _attend(engine, feed)
        except (SQLAlchemyError, OSError) as error:
            log.info("changes of other processes are not heard: %s", type(error).__name__)
        await asyncio.sleep(RETRY_SECONDS)


async def _attend(engine: AsyncEngine, feed: ChangeFeed) -> None:
    """Receive changes until the connection is lost."""

    def hear(_connection: Any, _process: int, _channel: str, payload: str) -> None:
        feed.hear_told(payload)

    async with engine.connect() as connection:
        driver: Any = (await connection.get_raw_connection()).driver_connection
        gone = asyncio.Event()
        driver.add_termination_listener(lambda _connection: gone.set())
        await driver.add_listener(CHANNEL, hear)
        feed.connected()
        try:
            while not gone.is_set():
                await _still_there(driver, gone)
        except Exception as error:
            # Whatever the driver raises, this connection is over.
            raise ConnectionError(str(error)) from error
        finally:
            feed.disconnected()
            await connection.invalidate()


async def _still_there(driver: Any, gone: asyncio.Event) -> None:
    """Check the connection from time to time, since it can be lost without a sign."""
    with suppress(TimeoutError):
        async with asyncio.timeout(CHECK_SECONDS):
            await gone.wait()
            return
    async with asyncio.timeout(ANSWER_SECONDS):
        await driver.execute("SELECT 1")
