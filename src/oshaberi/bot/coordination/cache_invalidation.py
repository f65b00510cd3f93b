"""Tells other processes about changes in the database, and receives theirs.

It uses Redis if there is one, else PostgreSQL's notifications. With neither, or while that
connection is down, cached values are valid for only two seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from oshaberi.bot.storage import Database
from oshaberi.bot.storage.changes import ChangeFeed, StoredChange

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.asyncio.client import PubSub

log = logging.getLogger(__name__)

TOPIC = "oshaberi:changes"
ANSWER_SECONDS = 1.0
CHECK_SECONDS = 3.0
RETRY_SECONDS = 1.0
MOST_UNTOLD = 1000


@asynccontextmanager
async def cache_invalidation(db: Database, redis_url: str | None) -> AsyncIterator[None]:
    """Exchange changes until the end of the block."""
    if redis_url is None:
        async with db.listening():
            yield
        return
    async with RedisInvalidation(db.changes, redis_url).open():
        yield


class RedisInvalidation:
    def __init__(self, feed: ChangeFeed, redis_url: str) -> None:
        self._feed = feed
        self._url = redis_url
        self._untold: asyncio.Queue[StoredChange] = asyncio.Queue(MOST_UNTOLD)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        from redis.asyncio import Redis

        from oshaberi.stream.redis_stops import ended

        async with AsyncExitStack() as stack:
            redis = Redis.from_url(
                self._url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS
            )
            stack.push_async_callback(redis.aclose)
            for work in (self._listen(redis), self._tell(redis)):
                stack.push_async_callback(ended, asyncio.create_task(work, name="stored changes"))
            self._feed.on_change = self._note
            stack.callback(setattr, self._feed, "on_change", lambda _change: None)
            yield

    def _note(self, change: StoredChange) -> None:
        if self._untold.full():
            self._untold.get_nowait()
            log.error("other processes are not told of all changes: Redis is away for too long")
        self._untold.put_nowait(change)

    async def _tell(self, redis: Redis) -> None:
        """Publish each change, and repeat until that succeeds: the others need it."""
        from redis.exceptions import RedisError

        while True:
            change = await self._untold.get()
            while True:
                try:
                    await redis.publish(TOPIC, self._feed.encode(change))
                    break
                except (RedisError, OSError) as error:
                    log.warning("other processes are not told of a change yet: %s", error)
                await asyncio.sleep(RETRY_SECONDS)

    async def _listen(self, redis: Redis) -> None:
        from redis.exceptions import RedisError

        while True:
            try:
                async with redis.pubsub() as subscription:
                    await self._receive(subscription)
            except (RedisError, OSError) as error:
                log.info("changes of other processes are not heard: %s", error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _receive(self, subscription: PubSub) -> None:
        """Receive changes until the connection is lost. Checks a connection that stays silent."""
        await subscription.subscribe(TOPIC)
        if await subscription.get_message(timeout=ANSWER_SECONDS) is None:
            raise TimeoutError("Redis does not answer")
        self._feed.note_connected()
        try:
            while True:
                message = await subscription.get_message(timeout=CHECK_SECONDS)
                if message is None:
                    await subscription.ping()
                    message = await subscription.get_message(timeout=ANSWER_SECONDS)
                if message is None:
                    raise TimeoutError("Redis does not answer")
                self._hear(message)
        finally:
            self._feed.note_disconnected()

    def _hear(self, message: dict[str, object]) -> None:
        change = message.get("data")
        if message.get("type") == "message" and isinstance(change, bytes | str):
            self._feed.hear_encoded(change)
