"""Process coordination through Redis (see message_claims.py).

A claim is valid while its process lives: the process renews it every few seconds, and withdraws it
when it ends.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.asyncio.lock import Lock
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, LockNotOwnedError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from oshaberi.bot.coordination.message_claims import InstanceLease, SingleProcess
from oshaberi.bot.coordination.redis_leases import (
    RedisAllowance,
    RedisShardLeases,
    SharedRefusals,
    cancellable,
)
from oshaberi.clocks import loop_clock, loop_time_s
from oshaberi.discord_io import BanGuard, RequestBudget
from oshaberi.errors import AddressUnavailableError, ConfigError
from oshaberi.outage_log import OutageLog, errors_in
from oshaberi.stream.redis_stops import FAULTS, RedisStops, ended

log = logging.getLogger(__name__)

REDIS_LOGGERS = (__name__, "oshaberi.stream.redis_stops")

CLAIM_SECONDS = 3600
LOCK_SECONDS = 12
"""How long a lock lasts unless it is renewed: after that, a crashed process no longer blocks its
channel."""
ALIVE_SECONDS = 12
RENEW_SECONDS = 3.0
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 600.0
ANSWER_SECONDS = 1.5
"""How long Redis may take to answer. After that no call is made until it answers a heartbeat."""
LOOK_SECONDS = 1.0
"""How often a Redis that hangs is tried again."""

TAKE_OVER = """
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
"""


class RedisCoordination:
    """Coordinates one process with the others over Redis."""

    def __init__(self, redis: Redis, stops: RedisStops, instance: str = "") -> None:
        self.stops = stops
        self.leases: Mapping[str, InstanceLease] = {"redis": self} if instance else {}
        self._instance = instance
        self._redis = redis
        self._here = SingleProcess()
        self._name = secrets.token_hex(8).encode()
        self._others: set[bytes] = set()
        """The processes that had already claimed something for which this one asked."""
        self._departed = asyncio.Event()
        self._believes_from = 0.0
        """From then on, the keys in Redis show reliably again which other processes run or have
        ended."""
        self.problem: str | None = None
        self._outage_log = OutageLog(
            "redis",
            "Redis",
            log,
            _is_redis_failure,
            level=logging.WARNING,
            is_noticed_by_records=True,
        )
        self._hangs = False
        """Whether calls are skipped because Redis did not answer in time."""

    async def claim(self, number: int) -> bool:
        if not await self._here.claim(number):
            return False
        if self._hangs:
            return True
        try:
            with cancellable():
                claimed = await self._claim(f"oshaberi:claim:{number}")
        except FAULTS as error:
            self._note_fault(error)
            log.warning("Redis cannot say who deals with %s, so we do: %s", number, error)
            return True
        if not claimed:
            self._here.give_up(number)
        return claimed

    async def _claim(self, key: str) -> bool:
        if await self._redis.set(key, self._name, nx=True, ex=CLAIM_SECONDS):
            return True
        owner = await self._redis.get(key)
        if not isinstance(owner, bytes) or owner == self._name:
            return owner == self._name  # our own, if the answer to it was lost
        if await self._redis.exists(_alive(owner)):
            self._others.add(owner)
            return False
        taken = self._redis.eval(TAKE_OVER, 1, key, owner, self._name, str(CLAIM_SECONDS))
        return bool(await taken)

    @asynccontextmanager
    async def alone(self, what: str) -> AsyncIterator[bool]:
        lock = self._redis.lock(f"oshaberi:lock:{what}", timeout=LOCK_SECONDS, blocking=False)
        held = not self._hangs and await self._acquire(lock, what)
        renewing = asyncio.create_task(_renew(lock, what)) if held else None
        try:
            yield held
        finally:
            if renewing is not None:
                await ended(renewing)
                await _release(lock, what)

    def shard_leases(self) -> RedisShardLeases:
        return RedisShardLeases(self._redis, self._name.decode())

    @asynccontextmanager
    async def share_requests(self, guard: BanGuard, budget: RequestBudget) -> AsyncIterator[None]:
        budget.shared = RedisAllowance(self._redis)
        counting = asyncio.create_task(SharedRefusals(self._redis, guard).run())
        try:
            yield
        finally:
            budget.shared = None
            await ended(counting)

    async def _acquire(self, lock: Lock, what: str) -> bool:
        now = loop_clock()
        until = now() + PATIENCE_SECONDS
        try:
            while not await _try_acquire(lock, what):
                if now() > until:
                    log.warning("%s is still locked; the bot goes on without the lock", what)
                    return False
                await asyncio.sleep(POLL_SECONDS)
        except FAULTS as error:
            self._note_fault(error)
            log.warning("Redis cannot lock %s; the bot goes on without the lock: %s", what, error)
            return False
        return True

    async def is_gone(self, name: str) -> bool | None:
        """Return whether the lease of that name has expired; None if that is unknown."""
        if self._hangs:
            return None
        try:
            with cancellable():
                mine, theirs = await self._redis.mget(_alive(self._name), _lease(name))
        except FAULTS as error:
            self._note_fault(error)
            log.warning("Redis cannot say whether %s is there: %s", name, error)
            return None
        # A Redis that has forgotten us has forgotten the other processes, too.
        is_believed = loop_time_s() >= self._believes_from
        return theirs is None if mine is not None and is_believed else None

    async def departure(self) -> None:
        await self._departed.wait()
        self._departed.clear()

    @asynccontextmanager
    async def alive(self) -> AsyncIterator[RedisCoordination]:
        """Keep this process's claims valid until the end of the block."""
        await self._redis.set(_alive(self._name), 1, ex=ALIVE_SECONDS)
        await self._renew_lease()
        beating = asyncio.create_task(self._beat(), name="redis claims")
        try:
            yield self
        finally:
            await ended(beating)
            self._outage_log.close()
            try:
                await self._redis.delete(_alive(self._name))
                if await self._redis.get(_lease(self._instance)) == self._name:
                    await self._redis.delete(_lease(self._instance))
            except FAULTS as error:
                log.warning("Redis was not told that we end: %s", error)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, RENEW_SECONDS) if self._hangs else RENEW_SECONDS)
            try:
                await self._look_around()
            except FAULTS as error:
                self._note_fault(error)
                log.warning("Redis was not told that we are alive: %s", error)
            else:
                self._hangs = False
                self.problem = None
                self._outage_log.over()

    def _note_fault(self, error: Exception) -> None:
        """Note a fault. After a timeout, the next calls do not wait for Redis."""
        self.problem = f"away: {error}"
        if isinstance(error, RedisTimeoutError | TimeoutError):
            self._hangs = True

    async def _look_around(self) -> None:
        """Renew our keys and find ended processes.

        If Redis has lost our key, it has lost the keys of the others too. Then a missing key proves
        nothing, and the others get the usual time to renew theirs.
        """
        mine, now = _alive(self._name), loop_time_s
        await self._renew_lease()
        if not await self._redis.set(mine, 1, xx=True, ex=ALIVE_SECONDS):
            self._believes_from = now() + ALIVE_SECONDS
            await self._redis.set(mine, 1, ex=ALIVE_SECONDS)
        if now() < self._believes_from:
            return
        gone = {one for one in self._others if not await self._redis.exists(_alive(one))}
        if not gone or not await self._redis.exists(mine):
            return  # or it forgot everything between the two requests
        if now() >= self._believes_from:
            self._others -= gone
            self._departed.set()

    async def _renew_lease(self) -> None:
        """Renew the lease. Several processes of the same name share it."""
        if self._instance:
            await self._redis.set(_lease(self._instance), self._name, ex=ALIVE_SECONDS)


async def _try_acquire(lock: Lock, what: str) -> bool:
    acquired = False
    try:
        with cancellable():
            acquired = bool(await lock.acquire())
    except asyncio.CancelledError:
        if acquired:
            await _release(lock, what)
        raise
    return acquired


async def _renew(lock: Lock, what: str) -> None:
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        try:
            await _keep_lock(lock, what)
        except FAULTS as error:
            log.warning("the lock of %s could not be renewed: %s", what, error)


async def _keep_lock(lock: Lock, what: str) -> None:
    try:
        await lock.reacquire()
    except LockNotOwnedError:
        # A restarted Redis has lost the lock; it may still be free.
        if not await lock.do_acquire(lock.local.token):
            log.warning("another process has the lock of %s too", what)


async def _release(lock: Lock, what: str) -> None:
    try:
        await lock.release()
    except FAULTS as error:
        log.warning("the lock of %s was not given back: %s", what, error)


def _is_redis_failure(record: logging.LogRecord) -> bool:
    """Return whether a log record is about a Redis that cannot be reached."""
    gone = (RedisConnectionError, RedisTimeoutError)
    return any(
        isinstance(one, gone)
        or isinstance(one.__cause__, gone)
        or (record.name in REDIS_LOGGERS and isinstance(one, OSError))
        for one in errors_in(record)
    )


def _alive(name: bytes) -> str:
    return f"oshaberi:alive:{name.decode()}"


def _kind_of(error: Exception) -> type[ConfigError]:
    """Return the kind of error: a refusal is permanent, a Redis that is down or loading is not."""
    refuses = isinstance(error, (AuthenticationError, ResponseError))
    return ConfigError if refuses else AddressUnavailableError


def _lease(instance: str) -> str:
    return f"oshaberi:instance:{instance}"


@asynccontextmanager
async def over_redis(url: str, instance: str = "") -> AsyncIterator[RedisCoordination]:
    """Connect to Redis. Raises ConfigError if it cannot be reached at the start."""
    try:
        redis = Redis.from_url(
            url,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
        )
    except ValueError as error:
        raise ConfigError(f"redis_url: {error}") from None
    try:
        try:
            await redis.ping()
        except (RedisError, OSError) as error:
            line = f"redis_url: Redis does not answer there: {error}"
            raise _kind_of(error)(line) from None
        async with (
            RedisStops(redis).listening() as stops,
            RedisCoordination(redis, stops, instance).alive() as shared,
        ):
            yield shared
    finally:
        await redis.aclose()
