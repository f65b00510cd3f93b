"""What processes share through Redis: leases on shards, Discord's limits, one kind of error."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

from redis.asyncio import Redis
from redis.asyncio.lock import Lock
from redis.exceptions import LockError, LockNotOwnedError

from oshaberi.bot.coordination.shard_shares import FleetView, ProcessRank
from oshaberi.discord_io import BanGuard
from oshaberi.stream.redis_stops import FAULTS

# Calls to Redis never swallow a cancellation, and raise one kind of error.


@contextmanager
def cancellable() -> Iterator[None]:
    """Raise a CancelledError that redis-py may have swallowed while it waited."""
    try:
        yield
    finally:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Raise OSError if Redis cannot be reached."""
    try:
        with cancellable():
            yield
    except OSError:
        raise
    except FAULTS as error:
        raise OSError(f"Redis: {error}") from error


# The leases on shards (`shard_shares` has the interface).
#
# A lease is a lock of redis-py that expires unless its process renews it. Every process is listed
# while it renews its own entry, so that each can compute its fair share.


LEASE_SECONDS = 8.0
"""How long a lease lasts unless it is renewed. After that others take the shards."""
PREFIX = "oshaberi:shards:"
EXPIRY, JOINED, COUNT, SINCE, HOLDERS = (
    f"{PREFIX}{name}" for name in ("expiry", "joined", "count", "since", "holders")
)

BEAT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('SET', KEYS[4], now, 'NX')
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  redis.call('ZREM', KEYS[1], name)
  redis.call('ZREM', KEYS[2], name)
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('ZADD', KEYS[2], 'NX', now, ARGV[1])
redis.call('SET', KEYS[3], ARGV[3], 'NX')
redis.call('PEXPIRE', KEYS[3], ARGV[2])
return {
  redis.call('ZRANK', KEYS[2], ARGV[1]),
  redis.call('ZCARD', KEYS[2]),
  tonumber(redis.call('GET', KEYS[3])),
  now - tonumber(redis.call('GET', KEYS[4])),
}
"""
"""A script that Redis runs in one step, so that no process sees half of it. Redis's clock
counts."""


class RedisShardLeases:
    """The leases of one process. `name` is unique for each process, also after a restart."""

    def __init__(self, redis: Redis, name: str, lease_s: float = LEASE_SECONDS) -> None:
        self.lease_s = lease_s
        self._redis = redis
        self._name = name
        self._locks: dict[int, Lock] = {}
        self._pauses: dict[str, Lock] = {}

    async def agree(self, shard_count: int) -> int:
        with as_os_errors():
            await self._redis.set(COUNT, shard_count, nx=True, px=round(self.lease_s * 1000))
            return int(await self._redis.get(COUNT) or shard_count)

    async def beat(self, shard_count: int) -> FleetView:
        lease_ms = round(self.lease_s * 1000)
        keys = (EXPIRY, JOINED, COUNT, SINCE)
        given = (self._name, str(lease_ms), str(shard_count))
        with as_os_errors():
            reply = await self._redis.eval(BEAT, len(keys), *keys, *given)
        rank, processes, count, age_ms = map(int, reply)
        return FleetView(ProcessRank(rank, processes), count, age_ms >= lease_ms)

    async def leave(self) -> int:
        with as_os_errors():
            await self._redis.zrem(EXPIRY, self._name)
            await self._redis.zrem(JOINED, self._name)
            return int(await self._redis.zcard(JOINED))

    async def renew(self, held: Collection[int]) -> frozenset[int]:
        with as_os_errors():
            return frozenset([shard for shard in held if not await self._renew_one(shard)])

    async def _renew_one(self, shard_id: int) -> bool:
        lock = self._locks.get(shard_id)
        if lock is None:
            return False
        try:
            await lock.reacquire()
        except LockNotOwnedError:
            return await self._take_again(shard_id, lock)
        return True

    async def _take_again(self, shard_id: int, lock: Lock) -> bool:
        """Take an expired or forgotten lease again, unless another process has taken it."""
        if await lock.do_acquire(lock.local.token):
            holder = await self._redis.hget(HOLDERS, str(shard_id))
            if holder in (None, self._name.encode()):
                await self._redis.hset(HOLDERS, str(shard_id), self._name)
                return True
            await self.give_back(shard_id)
        self._locks.pop(shard_id, None)
        return False

    async def free(self, shard_count: int) -> tuple[int, ...]:
        keys = [_key(shard) for shard in range(shard_count)]
        with as_os_errors():
            leases = await self._redis.mget(keys)
        return tuple(shard for shard, lease in enumerate(leases) if lease is None)

    async def take(self, shard_id: int) -> bool:
        lock = self._redis.lock(_key(shard_id), timeout=self.lease_s, thread_local=False)
        with as_os_errors():
            if not await lock.acquire(blocking=False):
                return False
            self._locks[shard_id] = lock
            await self._redis.hset(HOLDERS, str(shard_id), self._name)
        return True

    async def give_back(self, shard_id: int) -> None:
        lock = self._locks.pop(shard_id, None)
        if lock is None:
            return
        with as_os_errors(), suppress(LockError):  # it may have expired
            await lock.release()

    async def begin_pause(self, name: str, seconds: float) -> bool:
        lock = self._redis.lock(f"{PREFIX}{name}", timeout=seconds, thread_local=False)
        with as_os_errors():
            is_begun = bool(await lock.acquire(blocking=False))
        if is_begun:
            self._pauses[name] = lock
        return is_begun

    async def is_paused(self, name: str) -> bool:
        with as_os_errors():
            return bool(await self._redis.exists(f"{PREFIX}{name}"))

    async def prolong_pause(self, name: str, seconds: float) -> bool:
        lock = self._pauses.get(name)
        if lock is None:
            return False
        with as_os_errors():
            try:
                await lock.extend(seconds, replace_ttl=True)
            except LockNotOwnedError:
                return False
        return True


def _key(shard_id: int) -> str:
    return f"{PREFIX}lease:{shard_id}"


# Discord's limits: requests per second, and refusals.
#
# Both limits apply to the whole bot. If Redis is down, no request waits for it: each process then
# keeps the limits by itself, and discord.py waits when Discord refuses a request.


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
    """Reports to the ban guard how many requests of the other processes were refused."""

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
