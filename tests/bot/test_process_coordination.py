"""Who may do what, in one process and between several with a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import discord
import pytest
from redis.asyncio import Redis

from discord_stage import Fault
from discord_stage.testing import default_client, logged_in, staged
from oshaberi.bot.coordination import redis_coordination
from oshaberi.bot.coordination.message_claims import ProcessCoordination, SingleProcess
from oshaberi.bot.coordination.redis_coordination import RedisCoordination, over_redis
from oshaberi.bot.wiring.services import shared_state
from oshaberi.discord_io import ClientState
from oshaberi.discord_io.webhooks import alone_anyway
from oshaberi.errors import ConfigError
from oshaberi.virtual_time import run_virtual
from tests.crash.redis_proxy import RedisProxy, redis_proxy
from tests.storage.database_servers import redis_url

SOON_S = 30.0
FAST = {"LOCK_SECONDS": 30, "ALIVE_SECONDS": 30, "RENEW_SECONDS": 0.05, "ANSWER_SECONDS": 60.0}
"""Renewed often, and lasting longer than a busy machine lets a process wait."""
LOCK = "oshaberi:lock:turn:1"
NEARLY_OVER_MS = 20_000


@dataclass
class Pair:
    """Two processes; the line to the second can be cut."""

    first: RedisCoordination
    second: RedisCoordination
    redis: Redis
    line: RedisProxy
    first_life: AsyncExitStack
    """Closed: the first process ends."""


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in FAST.items():
        monkeypatch.setattr(redis_coordination, name, value)


def with_pair(scenario: Callable[[Pair], Awaitable[None]]) -> None:
    url = redis_url()

    async def main() -> None:
        async with (
            redis_proxy(url) as line,
            over_redis(line.url) as second,
            AsyncExitStack() as own,
        ):
            redis = Redis.from_url(url)
            own.push_async_callback(redis.aclose)
            life = await own.enter_async_context(AsyncExitStack())
            first = await life.enter_async_context(over_redis(url))
            await scenario(Pair(first, second, redis, line, life))

    asyncio.run(main())


async def order_of(one: ProcessCoordination, other: ProcessCoordination, what: str) -> list[str]:
    """Both want the same block; what they did in it, in order."""
    done: list[str] = []

    async def work(name: str, shared: ProcessCoordination) -> None:
        for _ in range(3):
            async with shared.alone(what):
                done.append(f"{name} in")
                await asyncio.sleep(0.01)
                done.append(f"{name} out")

    await asyncio.gather(work("one", one), work("other", other))
    return done


def is_orderly(done: list[str]) -> bool:
    pairs = zip(done[::2], done[1::2], strict=True)
    return len(done) == 12 and all(a.split()[0] == b.split()[0] for a, b in pairs)


# -- one process -----------------------------------------------------------------------------------


def test_one_process_takes_a_message_once() -> None:
    async def main() -> None:
        async with shared_state(None) as shared:
            assert isinstance(shared, SingleProcess)
            assert [await shared.claim(1), await shared.claim(2), await shared.claim(1)] == [
                True,
                True,
                False,
            ]

    asyncio.run(main())


def test_one_process_is_alone_in_a_block_and_forgets_its_name() -> None:
    async def main() -> None:
        shared = SingleProcess()
        done = await order_of(shared, shared, "turn:1")
        assert len(done) == 12
        assert all(done[at].endswith("in") for at in range(0, 12, 2)), done
        assert len(shared._keyed_locks) == 0

    run_virtual(main())


# -- several ---------------------------------------------------------------------------------------


def test_of_two_processes_one_gets_a_message() -> None:
    async def scenario(pair: Pair) -> None:
        claims = [(pair.first.claim(n), pair.second.claim(n)) for n in range(20)]
        for both in claims:
            assert sorted(await asyncio.gather(*both)) == [False, True]

    with_pair(scenario)


def test_what_an_ended_process_had_claimed_can_be_had() -> None:
    async def scenario(pair: Pair) -> None:
        assert await pair.first.claim(1)
        assert not await pair.second.claim(1)
        await pair.first_life.aclose()
        async with asyncio.timeout(SOON_S):
            await pair.second.departure()
        assert await pair.second.claim(1)
        assert not await pair.second.claim(1)

    with_pair(scenario)


def test_a_process_that_crashed_is_noticed() -> None:
    async def scenario(pair: Pair) -> None:
        key = "oshaberi:claim:1"
        await pair.redis.set(key, "crashed")  # and never said again that it is alive
        await pair.redis.set("oshaberi:alive:crashed", 1)
        assert not await pair.second.claim(1)
        await pair.redis.pexpire("oshaberi:alive:crashed", 100)
        async with asyncio.timeout(SOON_S):
            await pair.second.departure()
        assert await pair.second.claim(1)

    with_pair(scenario)


def test_a_redis_that_forgot_everything_proves_no_departure() -> None:
    async def scenario(pair: Pair) -> None:
        assert await pair.first.claim(1)
        assert not await pair.second.claim(1)
        await pair.redis.flushall()
        # Nor does it for a while: the other has not had the time to say that it is there.
        await pair.second._look_around()
        await pair.redis.delete(redis_coordination._alive(pair.first._name))
        await pair.second._look_around()
        assert not pair.second._departed.is_set()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await pair.second.departure()

    with_pair(scenario)


def test_two_processes_are_never_in_the_same_block() -> None:
    async def scenario(pair: Pair) -> None:
        assert is_orderly(await order_of(pair.first, pair.second, "turn:1"))

    with_pair(scenario)


def test_a_lock_is_held_longer_than_it_lasts() -> None:
    async def scenario(pair: Pair) -> None:
        async with pair.first.alone("turn:1") as held:
            assert held
            await pair.redis.pexpire(LOCK, NEARLY_OVER_MS)
            async with asyncio.timeout(SOON_S):
                while await pair.redis.pttl(LOCK) <= NEARLY_OVER_MS:
                    await asyncio.sleep(0.01)  # until it was renewed
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3), pair.second.alone("turn:1"):
                    pytest.fail("both are in it")
        async with asyncio.timeout(SOON_S), pair.second.alone("turn:1") as held:
            assert held

    with_pair(scenario)


def test_a_lock_survives_a_redis_that_forgot_it() -> None:
    async def scenario(pair: Pair) -> None:
        async with pair.first.alone("turn:1"):
            await pair.redis.flushall()
            async with asyncio.timeout(SOON_S):
                while not await pair.redis.exists(LOCK):
                    await asyncio.sleep(0.01)  # until it was taken again
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3), pair.second.alone("turn:1"):
                    pytest.fail("both are in it")

    with_pair(scenario)


def test_without_redis_the_bot_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(pair: Pair) -> None:
        async with pair.second.alone("turn:2"):
            await pair.line.cut()
            assert await pair.second.claim(7)
            assert not await pair.second.claim(7)
            async with pair.second.alone("turn:1") as held:
                assert held is False
        await pair.line.mend()
        assert await pair.second.claim(8)
        assert not await pair.first.claim(8)
        async with pair.second.alone("turn:1") as held:
            assert held is True

    with_pair(scenario)
    assert "Redis cannot say who deals with 7" in caplog.text
    assert "Redis cannot lock turn:1" in caplog.text


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("redis://127.0.0.1:1/0", "redis_url: Redis does not answer there"),
        ("unix:///nowhere/redis.sock", "redis_url: Redis does not answer there"),
        ("http://127.0.0.1", "redis_url: Redis URL must specify"),
    ],
)
def test_a_redis_that_is_not_there_is_told_at_the_start(url: str, told: str) -> None:
    async def main() -> None:
        async with shared_state(url):
            pytest.fail("it was opened")

    with pytest.raises(ConfigError, match=told):
        asyncio.run(main())


@pytest.mark.parametrize(("shared", "made"), [(True, 1), (False, 2)])
def test_two_processes_make_one_webhook(
    shared: bool, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(pair: Pair) -> None:
        both_looked = asyncio.Barrier(1 if shared else 2)

        def create_after_both(client: discord.Client) -> None:
            """Without a lock nothing orders them: let both look before one of them makes it."""
            create = client.http.create_webhook

            async def created(*args: Any, **kwargs: Any) -> Any:
                await both_looked.wait()
                return await create(*args, **kwargs)

            monkeypatch.setattr(client.http, "create_webhook", created)

        async with staged() as stage, AsyncExitStack() as stack:
            stage.fault(Fault(kind="delay", route="GET /channels/*/webhooks", delay_s=0.2, times=2))
            sinks = []
            for process in (pair.first, pair.second):
                client = await stack.enter_async_context(logged_in(stage, default_client()))
                create_after_both(client)
                client_state = ClientState(client, process.alone if shared else alone_anyway)
                stack.push_async_callback(client_state.close)
                channel = client.get_channel(stage.world.channel("general").id)
                assert isinstance(channel, discord.TextChannel)
                sinks.append(client_state.sink(channel))
            await asyncio.gather(*(sink.open_webhook() for sink in sinks))
            assert len(stage.world.webhooks) == made

    with_pair(scenario)


# -- leases ----------------------------------------------------------------------------------------


def test_a_lease_lasts_as_long_as_a_process_of_its_name() -> None:
    url = redis_url()

    async def main() -> None:
        async with AsyncExitStack() as own:
            other = await own.enter_async_context(over_redis(url, "other"))
            life = await own.enter_async_context(AsyncExitStack())
            await life.enter_async_context(over_redis(url, "main"))
            async with over_redis(url, "main"):
                assert set(other.leases) == {"redis"}
                assert await other.is_gone("main") is False
                assert await other.is_gone("nobody") is True
                await life.aclose()
                async with asyncio.timeout(SOON_S):
                    while await other.is_gone("main") is not False:
                        await asyncio.sleep(0.01)  # until the one that is left has renewed it
            assert await other.is_gone("main") is True

    asyncio.run(main())


def test_the_lease_of_a_crashed_process_runs_out() -> None:
    async def scenario(pair: Pair) -> None:
        await pair.redis.set("oshaberi:instance:main", "crashed")
        assert await pair.second.is_gone("main") is False
        await pair.redis.pexpire("oshaberi:instance:main", 100)
        async with asyncio.timeout(SOON_S):
            while not await pair.second.is_gone("main"):
                await asyncio.sleep(0.02)

    with_pair(scenario)


def test_a_redis_that_is_away_or_has_forgotten_tells_nothing() -> None:
    async def scenario(pair: Pair) -> None:
        await pair.line.cut()
        assert await pair.second.is_gone("main") is None
        await pair.line.mend()
        assert await pair.second.is_gone("main") is True
        for _ in range(20):
            await pair.redis.flushall()
            assert await pair.second.is_gone("main") is None
            await asyncio.sleep(redis_coordination.RENEW_SECONDS / 10)

    with_pair(scenario)


def test_alone_there_is_no_lease() -> None:
    assert SingleProcess().leases == {}
