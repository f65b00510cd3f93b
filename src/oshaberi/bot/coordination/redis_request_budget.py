"""Shares Discord's limits between processes through Redis: requests per second, and refusals.

Both limits apply to the whole bot. If Redis is down, no request waits for it: each process then
keeps the limits by itself, and discord.py waits when Discord refuses a request.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time

from redis.asyncio import Redis

from oshaberi.discord_io import BanGuard
from oshaberi.stream.stops.redis_stops import FAULTS

log = logging.getLogger(__name__)

PER_SECOND = 45
"""Discord allows 50, counted when they arrive. The bot counts them when it sends them, so it stays
a little below."""
BUDGET_KEY = "oshaberi:requests"
REFUSED_KEY = "oshaberi:refused"
ANSWER_SECONDS = 0.5
"""How long a message waits for Redis."""
SYNC_SECONDS = 2.0
SLOT_SECONDS = 60
SLOTS = 10

TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - 1000000)
local free = tonumber(ARGV[1]) - redis.call('ZCARD', KEYS[1])
local given = math.max(0, math.min(tonumber(ARGV[2]), free))
for number = 1, given do
  redis.call('ZADD', KEYS[1], now, ARGV[3] .. number)
end
redis.call('PEXPIRE', KEYS[1], 2000)
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local again = 0
if oldest[2] then again = math.max(0, oldest[2] + 1000000 - now) end
return {given, again}
"""


class RedisAllowance:
    """The requests of the last second, of all processes, in one sorted set."""

    def __init__(self, redis: Redis, per_second: int = PER_SECOND) -> None:
        self._redis = redis
        self._per_second = per_second

    async def take(self, wanted: int) -> tuple[int, float]:
        name = secrets.token_hex(6) + ":"
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                asked = self._redis.eval(
                    TAKE, 1, BUDGET_KEY, str(self._per_second), str(wanted), name
                )
                given, again_us = await asked
        except TimeoutError:
            raise OSError(f"Redis does not answer within {ANSWER_SECONDS:g} s") from None
        except FAULTS as error:
            raise OSError(str(error)) from error
        return int(given), int(again_us) / 1e6


class SharedRefusals:
    """Tells the ban guard of one process how many requests of the other processes were refused."""

    def __init__(self, redis: Redis, guard: BanGuard) -> None:
        self._redis = redis
        self._guard = guard
        self._told = guard.total

    async def run(self) -> None:
        while True:
            try:
                await self.sync()
            except FAULTS as error:
                log.debug("refused requests are not counted together: %s", error)
            await asyncio.sleep(SYNC_SECONDS)

    async def sync(self) -> None:
        slot, new = int(time.time() / SLOT_SECONDS), self._guard.total - self._told
        if new:
            key = f"{REFUSED_KEY}:{slot}"
            await self._redis.incrby(key, new)
            await self._redis.expire(key, SLOT_SECONDS * (SLOTS + 1))
            self._told += new
        keys = [f"{REFUSED_KEY}:{slot - ago}" for ago in range(SLOTS)]
        counts = await self._redis.mget(keys)
        everywhere = sum(int(count) for count in counts if count is not None)
        self._guard.note_elsewhere(max(0, everywhere - self._guard.count_here))
