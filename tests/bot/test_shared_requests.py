"""Discord's limits are one budget for all processes that share a Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis

from oshaberi.bot.coordination import redis_leases
from oshaberi.bot.coordination.message_claims import SingleProcess
from oshaberi.bot.coordination.redis_coordination import over_redis
from oshaberi.bot.coordination.redis_leases import RedisAllowance, SharedRefusals
from oshaberi.discord_io import BanGuard, RequestBudget
from oshaberi.discord_io.requests import limits
from tests.bot.test_redis_outages import SOON_S, Outage, hanging, refused, restarted
from tests.crash.redis_proxy import redis_proxy
from tests.storage.database_servers import OwnRedis, redis_url

FORBIDDEN = 403


def with_redis(scenario: Callable[[Redis], Awaitable[None]]) -> None:
    async def main() -> None:
        redis = Redis.from_url(redis_url())
        try:
            await redis.flushdb()
            await scenario(redis)
        finally:
            await redis.aclose()

    asyncio.run(main())


async def took(budgets: list[RequestBudget], requests: int) -> float:
    """Seconds until so many requests of each have left."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.gather(*(budget.turn() for budget in budgets for _ in range(requests)))
    return loop.time() - began


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine this Redis may take its time, and is not away."""
    monkeypatch.setattr(redis_leases, "ANSWER_SECONDS", 60.0)


@pytest.mark.usefixtures("patient")
def test_two_processes_have_one_budget() -> None:
    async def scenario(redis: Redis) -> None:
        budgets = [RequestBudget(20), RequestBudget(20)]
        for budget in budgets:
            budget.shared = RedisAllowance(redis, per_second=20)
        assert await took(budgets, 15) >= 1.0, "each alone would have been done at once"
        assert [budget.waiting for budget in budgets] == [0, 0]

    with_redis(scenario)


@pytest.mark.usefixtures("patient")
def test_an_allowance_gives_no_more_than_it_has() -> None:
    async def scenario(redis: Redis) -> None:
        allowance, now = RedisAllowance(redis, per_second=10), asyncio.get_running_loop().time
        took_s = 1.0
        while took_s >= 1.0:  # else it was not the same second any more
            await redis.flushdb()
            began_s = now()
            assert (await allowance.take(7))[0] == 7
            given, again_s = await allowance.take(7)
            took_s = now() - began_s
        assert given == 3
        assert 0 < again_s <= 1

    with_redis(scenario)


@pytest.mark.parametrize("outage", [hanging, refused, restarted])
def test_a_redis_that_is_away_costs_no_message(
    outage: Outage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limits, "RETRY_SECONDS", 600.0)
    redis = OwnRedis()

    async def main() -> None:
        async with redis_proxy(redis.url) as proxy, over_redis(proxy.url) as shared:
            guard, budget = BanGuard(), RequestBudget()
            async with shared.share_requests(guard, budget):
                await budget.turn()
                async with outage(redis, proxy), asyncio.timeout(SOON_S):
                    await took([budget], 10)
            assert budget.shared is None
            await budget.close()

    asyncio.run(main())
    waited = [line for line in caplog.messages if "is not shared for now" in line]
    assert len(waited) <= 1, "nobody waits twice"


def test_refusals_of_all_processes_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_leases, "SYNC_SECONDS", 0.01)

    async def scenario(redis: Redis) -> None:
        one, other = BanGuard(limit=100), BanGuard(limit=100)
        counts = [SharedRefusals(redis, guard) for guard in (one, other)]
        for _ in range(20):
            one.note(FORBIDDEN)
            other.note(FORBIDDEN)
        assert one.allows_courtesies
        for _ in range(2):
            for count in counts:
                await count.sync()
        assert (one.count, other.count) == (40, 40)
        assert (one.count_here, other.count_here) == (20, 20)
        assert not one.allows_courtesies
        assert not other.allows_courtesies

    with_redis(scenario)


def test_one_process_needs_nothing() -> None:
    async def main() -> None:
        budget = RequestBudget()
        async with SingleProcess().share_requests(BanGuard(), budget):
            assert budget.shared is None

    asyncio.run(main())
