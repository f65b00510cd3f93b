"""The leases on shards in a real Redis. A key that is deleted has expired."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import TypeVar

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from oshaberi.bot.coordination import redis_coordination
from oshaberi.bot.coordination.message_claims import SingleProcess
from oshaberi.bot.coordination.redis_coordination import over_redis
from oshaberi.bot.coordination.redis_leases import (
    COUNT,
    EXPIRY,
    HOLDERS,
    JOINED,
    PREFIX,
    SINCE,
    RedisShardLeases,
)
from oshaberi.bot.coordination.shard_shares import ProcessRank
from oshaberi.errors import ConfigError
from tests.storage.database_servers import OwnRedis, redis_url

T = TypeVar("T")
LONG_S = 600.0
SOON_S = 60.0
Scenario = Callable[[Redis, RedisShardLeases, RedisShardLeases], Awaitable[None]]


def with_leases(scenario: Scenario) -> None:
    url = redis_url()

    async def main() -> None:
        redis = Redis.from_url(url)
        first, second = (RedisShardLeases(redis, name, LONG_S) for name in ("first", "second"))
        try:
            await scenario(redis, first, second)
        finally:
            await redis.aclose()

    asyncio.run(main())


def key(shard_id: int) -> str:
    return f"{PREFIX}lease:{shard_id}"


def test_one_process_has_a_shard() -> None:
    async def scenario(redis: Redis, first: RedisShardLeases, second: RedisShardLeases) -> None:
        assert await first.free(3) == (0, 1, 2)
        assert (await first.take(1), await second.take(1)) == (True, False)
        assert await second.free(3) == (0, 2)
        assert await first.renew([1]) == frozenset()
        assert LONG_S - 60 < await redis.pttl(key(1)) / 1000 <= LONG_S
        await first.give_back(1)
        assert await second.take(1)
        await first.give_back(1)  # it has none any more, so it changes nothing
        assert await second.renew([1]) == frozenset()

    with_leases(scenario)


def test_a_lease_is_renewed_from_now_on() -> None:
    async def scenario(redis: Redis, first: RedisShardLeases, _second: RedisShardLeases) -> None:
        await first.take(0)
        await redis.pexpire(key(0), 60_000)
        await first.renew([0])
        assert await redis.pttl(key(0)) > 60_000

    with_leases(scenario)


def test_an_expired_lease_is_lost_once_somebody_had_it() -> None:
    async def scenario(redis: Redis, first: RedisShardLeases, second: RedisShardLeases) -> None:
        for shard in (0, 1, 2):
            await first.take(shard)
        await redis.delete(key(0), key(1), key(2))
        assert await second.take(1)
        assert await second.take(2)
        await second.give_back(2)
        # 0 was nobody's meanwhile, 1 is another's, and 2 was.
        assert await first.renew([0, 1, 2]) == {1, 2}
        assert await second.free(3) == (2,)
        assert await first.renew([2]) == {2}
        assert await first.take(2)

    with_leases(scenario)


def test_leases_survive_a_redis_that_forgot_everything() -> None:
    async def scenario(redis: Redis, first: RedisShardLeases, second: RedisShardLeases) -> None:
        await first.beat(8)
        await first.take(0)
        await redis.flushall()
        view = await second.beat(8)
        assert not view.remembers
        assert await first.renew([0]) == frozenset()
        assert not await second.take(0)

    with_leases(scenario)


def test_who_is_there_in_the_order_of_joining() -> None:
    async def scenario(redis: Redis, first: RedisShardLeases, second: RedisShardLeases) -> None:
        assert (await first.beat(8)).place == ProcessRank(0, 1)
        await redis.zincrby(JOINED, -1, "first")  # a millisecond earlier than the second
        assert (await second.beat(8)).place == ProcessRank(1, 2)
        assert (await first.beat(8)).place == ProcessRank(0, 2)
        await redis.zadd(EXPIRY, {"first": 1})  # it has not renewed its entry for long
        assert (await second.beat(8)).place == ProcessRank(0, 1)
        await redis.zincrby(JOINED, -1, "second")  # a millisecond before the first comes back
        assert (await first.beat(8)).place == ProcessRank(1, 2)
        assert await second.leave() == 1
        assert (await first.beat(8)).place == ProcessRank(0, 1)

    with_leases(scenario)


def test_the_number_of_shards_is_agreed_on() -> None:
    async def scenario(redis: Redis, first: RedisShardLeases, second: RedisShardLeases) -> None:
        assert await first.agree(4) == 4
        assert await second.agree(8) == 4
        assert (await second.beat(4)).shard_count == 4
        await redis.pexpire(COUNT, 60_000)
        await first.beat(4)
        assert await redis.pttl(COUNT) > 60_000
        await redis.delete(COUNT)  # all processes have ended
        assert await second.agree(8) == 8

    with_leases(scenario)


def test_free_shards_are_not_trusted_before_the_lease_time_has_passed() -> None:
    async def scenario(redis: Redis, first: RedisShardLeases, _second: RedisShardLeases) -> None:
        assert not (await first.beat(8)).remembers
        began_ms = int(await redis.get(SINCE) or 0)
        await redis.set(SINCE, began_ms - round(LONG_S * 1000))
        assert (await first.beat(8)).remembers

    with_leases(scenario)


def test_pauses_hold_for_all_processes() -> None:
    async def scenario(redis: Redis, first: RedisShardLeases, second: RedisShardLeases) -> None:
        assert not await first.is_paused("identify:0")
        assert await first.begin_pause("identify:0", 5.0)
        assert not await second.begin_pause("identify:0", 5.0)
        assert await second.begin_pause("identify:1", 5.0)
        assert await second.is_paused("identify:0")
        assert await first.prolong_pause("identify:0", 60.0)
        assert await redis.pttl(f"{PREFIX}identify:0") > 50_000
        assert not await second.prolong_pause("identify:0", 60.0)
        await redis.delete(f"{PREFIX}identify:0")
        assert not await first.prolong_pause("identify:0", 60.0)
        assert await second.begin_pause("identify:0", 5.0)

    with_leases(scenario)


def test_a_redis_that_is_away_is_an_os_error() -> None:
    async def main() -> None:
        leases = RedisShardLeases(Redis.from_url("redis://127.0.0.1:1/0"), "first")
        for asked in (leases.beat(1), leases.free(1), leases.take(0), leases.leave()):
            with pytest.raises(OSError, match=r"127\.0\.0\.1"):
                await asked

    asyncio.run(main())


async def answered(ask: Callable[[], Awaitable[T]]) -> T:
    """What Redis says as soon as it does so in time: on a busy machine it may be late."""
    async with asyncio.timeout(SOON_S):
        while True:
            with suppress(OSError, RedisError, ConfigError):
                return await ask()


def test_a_redis_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_coordination, "ANSWER_SECONDS", 0.3)
    server = OwnRedis()

    async def main() -> None:
        async with AsyncExitStack() as stack:
            shared = await answered(lambda: stack.enter_async_context(over_redis(server.url)))
            leases = shared.shard_leases()
            await answered(lambda: leases.take(0))
            server.freeze()
            try:
                with pytest.raises(OSError, match="Timeout"):
                    await leases.renew([0])
            finally:
                server.thaw()
            assert await answered(lambda: leases.renew([0])) == frozenset()

    asyncio.run(main())


def test_every_process_has_leases_of_its_own() -> None:
    url = redis_url()

    async def main() -> None:
        async with over_redis(url, "one") as first, over_redis(url, "one") as second:
            assert await first.shard_leases().take(0)
            assert not await second.shard_leases().take(0)
            redis = Redis.from_url(url)
            assert len(await redis.hgetall(HOLDERS)) == 1
            await redis.aclose()
        assert SingleProcess().shard_leases() is None

    asyncio.run(main())
