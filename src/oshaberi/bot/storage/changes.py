"""The feed of changes in the database, over all processes. Caches ask it what is current.

Changes of this process take effect at once. Those of other processes arrive through Redis or
PostgreSQL; while that connection is down, cached values are valid for FRESH_SECONDS only.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oshaberi.checked_json import parse_json

log = logging.getLogger(__name__)

ChangeKind = Literal["settings", "personas", "models", "keys", "lorebooks", "talks", "lessons"]
KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
ALL = ""
FRESH_SECONDS = 2.0
MOST_NOTED = 10_000
CHANNEL = "oshaberi_changes"
NOTIFY = text("SELECT pg_notify(:channel, :payload)")
CHECK_SECONDS = 5.0
ANSWER_SECONDS = 2.0
RETRY_SECONDS = 1.0

Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A change. `owner` is a server's id, or `user 123` for a user's direct messages.

    For `lessons` it is the place of a model, as JSON; for `talks` always everybody (`ALL`).
    """

    kind: ChangeKind
    owner: int | str


class ChangeFeed:
    """Counts changes by kind and owner.

    `alone_s`: for how many seconds a cached value is valid while this process does not receive the
    changes of others; None means for ever.
    """

    def __init__(self, alone_s: float | None) -> None:
        self._alone_s = alone_s
        self.fresh_s = alone_s
        """For how many seconds a value read now is valid without a change; None for ever."""
        self._name = secrets.token_hex(8)
        self._connections = 0
        self._era = 0
        self.news = 0
        """Counts the changes that were noted, or that may have been missed."""
        self._numbers: dict[StoredChange, int] = {}
        self.on_change: Callable[[StoredChange], None] = lambda _change: None
        """Called with each change that this process makes."""
        self.on_lessons: Callable[[str], None] = lambda _place: None
        """Called with the place of a model whose lessons any process has forgotten."""

    def stamp(self, kind: ChangeKind, owner: int | str) -> Stamp:
        """Return a value that stays the same until a change. Take it before you read the data."""
        return self._era, self._numbers.get(StoredChange(kind, owner), 0)

    def note(self, change: StoredChange) -> None:
        """Note a change by this process, and tell the others."""
        self.hear(change)
        self.on_change(change)

    def hear(self, change: StoredChange) -> None:
        """Note a change by any process."""
        if change.kind == "lessons":
            self.on_lessons(str(change.owner))
            return
        if len(self._numbers) > MOST_NOTED:
            self.forget_all()
        self.news += 1
        self._numbers[change] = self._numbers.get(change, 0) + 1

    def encode(self, change: StoredChange) -> str:
        """Return the change as a text for other processes."""
        return json.dumps([change.kind, change.owner, self._name])

    def hear_encoded(self, change: str | bytes) -> None:
        """Note a text that `encode` made in another process. Ignores invalid ones and our own."""
        try:
            kind, owner, name = parse_json(change)
        except (ValueError, TypeError):
            return
        if kind in KINDS and isinstance(owner, int | str) and name != self._name:
            self.hear(StoredChange(kind, owner))

    def forget_all(self) -> None:
        """Make all stamps invalid, because changes may have been missed."""
        self._numbers.clear()
        self._era += 1
        self.news += 1

    def note_connected(self) -> None:
        """Note that the changes of others arrive from now on. Earlier ones may have been missed."""
        self._connections += 1
        self.fresh_s = None
        self.forget_all()

    def note_disconnected(self) -> None:
        self._connections -= 1
        self.fresh_s = None if self._connections else self._alone_s


# PostgreSQL brings the changes of other processes: each LISTENs, and a transaction that changes
# something NOTIFYs them.


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
            await _receive(engine, feed)
        except (SQLAlchemyError, OSError) as error:
            log.info("changes of other processes are not heard: %s", type(error).__name__)
        await asyncio.sleep(RETRY_SECONDS)


async def _receive(engine: AsyncEngine, feed: ChangeFeed) -> None:
    """Receive changes until the connection is lost."""

    def hear(_connection: Any, _process: int, _channel: str, payload: str) -> None:
        feed.hear_encoded(payload)

    async with engine.connect() as connection:
        driver: Any = (await connection.get_raw_connection()).driver_connection
        gone = asyncio.Event()
        driver.add_termination_listener(lambda _connection: gone.set())
        await driver.add_listener(CHANNEL, hear)
        feed.note_connected()
        try:
            while not gone.is_set():
                await _check(driver, gone)
        except Exception as error:
            # Whatever the driver raises, this connection is over.
            raise ConnectionError(str(error)) from error
        finally:
            feed.note_disconnected()
            await connection.invalidate()


async def _check(driver: Any, gone: asyncio.Event) -> None:
    """Check the connection from time to time, since it can be lost without a sign."""
    with suppress(TimeoutError):
        async with asyncio.timeout(CHECK_SECONDS):
            await gone.wait()
            return
    async with asyncio.timeout(ANSWER_SECONDS):
        await driver.execute("SELECT 1")
