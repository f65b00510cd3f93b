"""What several processes must agree on: who answers a message, whose turn a channel has.

In one process that is memory; with `redis_url` it is Redis. A Redis that is away never silences
the bot: with shards split over processes it only guards the moments when two of them overlap.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from oshaberi.errors import ConfigError
from oshaberi.stream.stops import StopRegistry

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.asyncio.lock import Lock

log = logging.getLogger(__name__)

KEPT_CLAIMS = 10_000
CLAIM_SECONDS = 3600
LOCK_SECONDS = 30
RENEW_SECONDS = 10.0
PATIENCE_SECONDS = 600


class Shared(Protocol):
    """How processes keep out of each other's way."""

    stops: StopRegistry

    async def claim(self, message_id: int) -> bool:
        """Whether this process is the one to answer it. True once, whoever asks."""

    def alone(self, what: str) -> AbstractAsyncContextManager[object]:
        """Nobody else is in a block of the same name: `turn:123`, `webhook:123`.

        Gives None where there is nobody else anyway.
        """


class Alone:
    """One process: nothing to agree on but what it has seen already."""

    def __init__(self) -> None:
        self.stops = StopRegistry()
        self._claimed: OrderedDict[int, None] = OrderedDict()

    async def claim(self, message_id: int) -> bool:
        if message_id in self._claimed:
            return False
        self._claimed[message_id] = None
        if len(self._claimed) > KEPT_CLAIMS:
            self._claimed.popitem(last=False)
        return True

    def alone(self, _what: str) -> AbstractAsyncContextManager[object]:
        return nullcontext()


class OverRedis:
    """Several processes with one Redis."""

    def __init__(self, redis: Redis, stops: StopRegistry) -> None:
        self.stops = stops
        self._redis = redis
        self._here = Alone()

    async def claim(self, message_id: int) -> bool:
        from redis.exceptions import RedisError

        if not await self._here.claim(message_id):
            return False
        try:
            key = f"oshaberi:seen:{message_id}"
            return bool(await self._redis.set(key, 1, nx=True, ex=CLAIM_SECONDS))
        except RedisError as error:
            log.warning("Redis cannot say who answers %s, so we do: %s", message_id, error)
            return True

    @asynccontextmanager
    async def alone(self, what: str) -> AsyncIterator[bool]:
        from redis.exceptions import RedisError

        lock = self._redis.lock(
            f"oshaberi:lock:{what}", timeout=LOCK_SECONDS, blocking_timeout=PATIENCE_SECONDS
        )
        try:
            held = await lock.acquire()
        except RedisError as error:
            log.warning("Redis cannot lock %s, so we go on without: %s", what, error)
            held = False
        renewing = asyncio.create_task(_renew(lock)) if held else None
        try:
            yield held
        finally:
            if renewing is not None:
                renewing.cancel()
                await asyncio.wait({renewing})
                try:
                    await lock.release()
                except RedisError as error:
                    log.warning("the lock of %s was not given back: %s", what, error)


async def _renew(lock: Lock) -> None:
    from redis.exceptions import RedisError

    while True:
        await asyncio.sleep(RENEW_SECONDS)
        try:
            await lock.reacquire()
        except RedisError as error:
            log.warning("a lock could not be renewed: %s", error)


@asynccontextmanager
async def shared_state(redis_url: str | None) -> AsyncIterator[Shared]:
    """Memory, or Redis if there is an address; one that cannot be reached is refused."""
    if redis_url is None:
        yield Alone()
        return
    try:
        from redis.asyncio import Redis
        from redis.exceptions import RedisError
    except ImportError:
        raise ConfigError('redis_url: needs pip install "oshaberi[redis]"') from None

    from oshaberi.stream.redis_stops import RedisStops

    try:
        redis = Redis.from_url(redis_url)
    except ValueError as error:
        raise ConfigError(f"redis_url: {error}") from None
    try:
        try:
            await redis.ping()
        except (RedisError, OSError) as error:
            raise ConfigError(f"redis_url: Redis does not answer there: {error}") from None
        async with RedisStops(redis).listening() as stops:
            yield OverRedis(redis, stops)
    finally:
        await redis.aclose()
