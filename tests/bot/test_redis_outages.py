"""A Redis that is refused, hangs or is restarted while turns run: they go on, and the processes
hear of each other's changes all the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.crash.redis_proxy import RedisProxy, redis_proxy
from tests.storage.counting import counted
from tests.storage.database_servers import OwnRedis, migrated_postgres_url
from tests.storage.migrated_database import place_database
from tests.turns.cached_turn_harness import ANSWER, LINES, cached_turns
from tests.turns.turn_harness import SERVER, TurnHarness

SOON_S = 60.0
ASKED = ("Redis cannot say", "Redis cannot lock")
"""How the log begins to tell of a question that Redis did not answer."""

Outage = Callable[[OwnRedis, RedisProxy], AbstractAsyncContextManager[None]]


@pytest.fixture
def redis() -> OwnRedis:
    return OwnRedis()


@asynccontextmanager
async def hanging(redis: OwnRedis, _proxy: RedisProxy) -> AsyncIterator[None]:
    redis.freeze()
    try:
        yield
    finally:
        redis.thaw()


@asynccontextmanager
async def refused(_redis: OwnRedis, proxy: RedisProxy) -> AsyncIterator[None]:
    await proxy.cut()
    try:
        yield
    finally:
        await proxy.mend()


@asynccontextmanager
async def restarted(redis: OwnRedis, proxy: RedisProxy) -> AsyncIterator[None]:
    """Connections are lost, and so is what it held."""
    redis.forget()
    await proxy.drop()
    yield


async def blocks(harness: TurnHarness, user_id: int) -> bool:
    return (
        user_id in (await harness.services.settings(harness.turn_channel.path)).turn.blocked_users
    )


async def until_blocked(harness: TurnHarness, user_id: int) -> None:
    async with asyncio.timeout(SOON_S):
        while not await blocks(harness, user_id):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("outage", [hanging, refused, restarted])
def test_answers_go_on(
    outage: Outage, redis: OwnRedis, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place_database(tmp_path / "turns.db")

    async def main() -> None:
        async with (
            redis_proxy(redis.url) as proxy,
            cached_turns(f"sqlite:///{tmp_path}/turns.db", proxy.url) as (harness, _db),
        ):
            harness.models.play(ANSWER, ANSWER, ANSWER)
            async with asyncio.timeout(SOON_S):
                async with outage(redis, proxy):
                    await harness.answer("first")
                    await harness.answer("second")
                await harness.answer("third")
            said = [line for text in harness.turn_channel.contents for line in text.split("\n")]
            assert said[1:] == [f"Line {n}." for n in range(LINES)] * 3

    asyncio.run(main())
    waited = [line for line in caplog.messages if line.startswith(ASKED) and "Timeout" in line]
    assert len(waited) <= 1, "nobody waits twice"


@pytest.mark.slow
@pytest.mark.parametrize("outage", [hanging, refused, restarted])
def test_changes_of_another_process_are_heard_meanwhile_and_afterwards(
    outage: Outage, redis: OwnRedis
) -> None:
    url = migrated_postgres_url()

    async def main() -> None:
        async with (
            redis_proxy(redis.url) as proxy,
            cached_turns(url, proxy.url) as (_one, db),
            cached_turns(url, proxy.url) as (other, _other_db),
        ):
            assert not await blocks(other, 5)
            async with outage(redis, proxy):
                await db.servers.set_config(SERVER, "blocked_users", [5])
                await until_blocked(other, 5)
            await db.servers.set_config(SERVER, "blocked_users", [5, 6])
            await until_blocked(other, 6)

    asyncio.run(main())


@pytest.mark.parametrize("through", ["Redis", "PostgreSQL"])
def test_a_change_of_another_process_is_heard_without_asking(through: str, redis: OwnRedis) -> None:
    url, redis_url = migrated_postgres_url(), redis.url if through == "Redis" else None

    async def main() -> None:
        async with (
            cached_turns(url, redis_url) as (_one, db),
            cached_turns(url, redis_url) as (other, other_db),
        ):
            with counted() as count:
                for _ in range(50):
                    assert not await blocks(other, 5)
            assert count.transactions == 0
            before = other_db.changes.stamp("settings", SERVER)
            await db.servers.set_config(SERVER, "blocked_users", [5])
            async with asyncio.timeout(SOON_S):
                while other_db.changes.stamp("settings", SERVER) == before:
                    await asyncio.sleep(0.01)
            assert await blocks(other, 5)

    asyncio.run(main())
