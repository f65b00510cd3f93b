"""Stops over a real Redis: from process to process, past garbage, through an outage."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from oshaberi.stream import redis_stops
from oshaberi.stream.redis_stops import TOPIC, RedisStops
from oshaberi.stream.stops import StopRequest
from tests.crash.redis_proxy import RedisProxy, redis_proxy
from tests.storage.database_servers import redis_url

CHANNEL, USER, OTHER = "1", "77", "88"
SOON_S = 60.0


@dataclass
class Pair:
    """Two processes, as far as stops are concerned. The line to the second can be cut."""

    first: RedisStops
    second: RedisStops
    redis: Redis
    line: RedisProxy


@asynccontextmanager
async def client(url: str) -> AsyncIterator[Redis]:
    redis = Redis.from_url(url, retry=Retry(NoBackoff(), 0))
    try:
        yield redis
    finally:
        await redis.aclose()


def play(act: Callable[[Pair], Awaitable[None]]) -> None:
    url = redis_url()

    async def main() -> None:
        async with (
            redis_proxy(url) as line,
            client(url) as direct,
            client(line.url) as through_line,
            RedisStops(direct).listening() as first,
            RedisStops(through_line).listening() as second,
        ):
            await act(Pair(first, second, direct, line))

    asyncio.run(main())


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON_S):
        while not holds():
            await asyncio.sleep(0.01)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the other process may take its time."""
    monkeypatch.setattr(redis_stops, "ANSWER_SECONDS", SOON_S)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("by", "may_manage"), [(USER, False), (OTHER, True)])
def test_the_process_that_runs_it_stops_it(by: str, may_manage: bool) -> None:
    async def act(pair: Pair) -> None:
        with pair.second.active(CHANNEL, USER):
            asked = pair.first.request_stop_anywhere(CHANNEL, by, may_manage=may_manage)
            assert await asked == "stopped"
            assert pair.second.peek(CHANNEL) == StopRequest(by)

    play(act)


def test_the_process_that_runs_it_knows_whose_it_is() -> None:
    async def act(pair: Pair) -> None:
        with pair.second.active(CHANNEL, USER):
            answer = "idle"
            async with asyncio.timeout(SOON_S):
                while answer == "idle":  # its answer came too late
                    asked = pair.first.request_stop_anywhere(CHANNEL, OTHER, may_manage=False)
                    answer = await asked
            assert answer == "not_yours"
            assert pair.second.peek(CHANNEL) is None

    play(act)


def test_nothing_runs_anywhere() -> None:
    async def act(pair: Pair) -> None:
        with pair.second.active("2", USER):
            assert await pair.first.request_stop_anywhere(CHANNEL, USER) == "idle"
            assert pair.second.peek("2") is None

    play(act)


def test_a_turn_here_that_waits_for_one_there_and_both_are_stopped() -> None:
    async def act(pair: Pair) -> None:
        with pair.first.active(CHANNEL, USER), pair.second.active(CHANNEL, USER) as there:
            assert await pair.first.request_stop_anywhere(CHANNEL, USER) == "stopped"
            assert pair.first.consume(CHANNEL) == StopRequest(USER)
            await until(lambda: there.pending is not None)
            # Our own request comes back to us too: it must not stop what begins now.
            assert pair.first.peek(CHANNEL) is None

    play(act)


@pytest.mark.usefixtures("patient")
def test_somebody_elses_turn_here_does_not_hide_ones_own_there() -> None:
    async def act(pair: Pair) -> None:
        with pair.first.active(CHANNEL, OTHER), pair.second.active(CHANNEL, USER):
            asked = pair.first.request_stop_anywhere(CHANNEL, USER, may_manage=False)
            assert await asked == "stopped"
            assert pair.first.peek(CHANNEL) is None

    play(act)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff\xfe",
        b"",
        b"stop!",
        b"[]",
        b"7",
        b"null",
        b'{"channel": "1"}',
        b'{"channel": ["1"], "by": {}}',
        b"[" * 100_000,
    ],
)
def test_garbage_on_the_topic(garbage: bytes) -> None:
    async def act(pair: Pair) -> None:
        with pair.second.active(CHANNEL, USER):
            await pair.redis.publish(TOPIC, garbage)
            assert pair.second.peek(CHANNEL) is None
            assert await pair.first.request_stop_anywhere(CHANNEL, USER) == "stopped"

    play(act)


def test_a_dashboard_may_publish_a_stop() -> None:
    async def act(pair: Pair) -> None:
        with pair.first.active(CHANNEL, USER) as here:
            said = {"channel": int(CHANNEL), "by": 456, "answer_to": "oshaberi:lock:turn:1"}
            await pair.redis.publish(TOPIC, json.dumps(said))
            await until(lambda: here.pending is not None)
            assert here.pending == StopRequest("456")
            # An answer goes nowhere but where answers belong.
            assert not await pair.redis.exists("oshaberi:lock:turn:1")

    play(act)


def test_a_redis_that_goes_away_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_stops, "RETRY_SECONDS", 0.05)

    async def act(pair: Pair) -> None:
        with pair.second.active(CHANNEL, USER) as there:
            await pair.line.cut()
            assert await pair.first.request_stop_anywhere(CHANNEL, USER) == "idle"
            # Here it can still be stopped.
            assert await pair.second.request_stop_anywhere(CHANNEL, USER) == "stopped"
            assert there.consume() == StopRequest(USER)
            await pair.line.mend()
            async with asyncio.timeout(SOON_S):
                while await pair.first.request_stop_anywhere(CHANNEL, USER) != "stopped":
                    pass
            assert there.pending == StopRequest(USER)

    play(act)


def test_a_connection_that_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_stops, "RETRY_SECONDS", 0.05)

    async def act(pair: Pair) -> None:
        with pair.second.active(CHANNEL, USER):
            await pair.redis.client_kill_filter(_type="pubsub")
            async with asyncio.timeout(SOON_S):
                while await pair.first.request_stop_anywhere(CHANNEL, USER) != "stopped":
                    pass

    play(act)
