"""`/health` and `/ready` of a whole bot while Discord, the database, Redis or a model is away."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from discord_stage import Stage
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import staged
from oshaberi.bot.client.shards import LATE_SECONDS, GatewayState
from oshaberi.bot.config import load
from oshaberi.bot.observability.health import KEPT_SECONDS, ModelHealth
from oshaberi.bot.storage import engine
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.wiring.bot_wiring import Bot, open_bot
from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.stream.context import StreamContext
from oshaberi.stream.model_output import ThoughtLog
from oshaberi.stream.result import StreamResult
from tests.crash.redis_proxy import redis_proxy
from tests.free_ports import free_port
from tests.storage.database_servers import OwnRedis
from tests.storage.migrated_database import place_database

SPEED = 5.0
SOON_S = 60.0
CONTEXT = StreamContext(channel="1")


@dataclass(frozen=True, slots=True)
class WatchedBot:
    """A bot on a stage, and the address at which it tells of its health."""

    stage: Stage
    bot: Bot
    url: str

    async def get(self, path: str) -> tuple[int, str | None]:
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}{path}") as answer:
            return answer.status, json.loads(await answer.text())["problem"]

    def metric(self, name: str, **labels: str) -> float | None:
        return self.bot.bot_metrics.registry.get_sample_value(f"oshaberi_{name}", labels)

    async def until(self, path: str, status: int) -> str | None:
        async with asyncio.timeout(SOON_S * SPEED):
            while (told := await self.get(path))[0] != status:
                await asyncio.sleep(0.02)
        return told[1]

    async def until_well(self, well: bool) -> str:
        async with asyncio.timeout(SOON_S * SPEED):
            while ((told := (await self.get("/health"))[1]) is None) is not well:
                await asyncio.sleep(0.02)
        return told or ""


@asynccontextmanager
async def opened(folder: Path, **more: str) -> AsyncIterator[tuple[WatchedBot, asyncio.Event]]:
    port = free_port()
    place_database(folder / "oshaberi.db")
    async with staged() as stage:
        environ = {
            "OSHABERI_DISCORD_TOKEN": stage.token,
            "OSHABERI_DATA_DIR": str(folder),
            "OSHABERI_HEALTH_PORT": str(port),
            **more,
        }
        ready = asyncio.Event()
        settings = load(None, environ)
        async with open_bot(settings, environ, on_ready=ready.set, guild_ready_timeout=0.1) as bot:
            yield WatchedBot(stage, bot, f"http://127.0.0.1:{port}"), ready


@asynccontextmanager
async def serving(folder: Path, **more: str) -> AsyncIterator[WatchedBot]:
    async with opened(folder, **more) as (watched, ready):
        serving = asyncio.create_task(watched.bot.client.serve(watched.stage.token))
        await ready.wait()
        try:
            yield watched
        finally:
            await watched.bot.client.close()
            await serving


def play(scenario: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario()

    run_scaled(main(), SPEED)


def test_a_bot_is_well_and_ready_while_it_is_connected(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as (watched, ready):
            assert await watched.get("/health") == (503, "gateway: not connected to Discord")
            assert await watched.get("/ready") == (503, "not connected to Discord")
            serving = asyncio.create_task(watched.bot.client.serve(watched.stage.token))
            await ready.wait()
            assert await watched.get("/health") == (200, None)
            assert await watched.get("/ready") == (200, None)
            await watched.bot.channel_turns.shutdown(0)
            assert await watched.get("/health") == (200, None)
            assert await watched.get("/ready") == (503, "the bot is ending")
            await watched.bot.client.close()
            assert await watched.get("/health") == (503, "gateway: the bot has ended")
            await serving
        with pytest.raises(aiohttp.ClientError):
            await watched.get("/health")

    play(scenario)


@pytest.mark.parametrize("code", [None, 1001, 4000])
def test_the_gateway_is_away_and_comes_back(code: int | None, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(tmp_path) as watched:
            gateway = watched.stage.gateway
            gateway.refuses = True
            gateway.drop(code)
            assert await watched.until("/health", 503) == "gateway: not connected to Discord"
            assert watched.bot.client.is_ready()  # so discord.py's word is not enough
            assert (await watched.get("/ready"))[0] == 503
            gateway.refuses = False
            assert await watched.until("/health", 200) is None
            assert await watched.get("/ready") == (200, None)

    play(scenario)


def test_a_gateway_that_hears_nothing_is_away(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(tmp_path) as watched:
            client = watched.bot.client
            ahead_s = 0.0
            state = GatewayState(client, lambda: time.perf_counter() + ahead_s)
            state.note_connected(0)
            assert state.problem() is None
            watched.stage.gateway.acknowledges = False
            ahead_s = watched.stage.settings.heartbeat_ms / 1000 + LATE_SECONDS
            assert state.problem() == "not connected to Discord"

    play(scenario)


def test_one_of_two_shards_is_away(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(tmp_path, OSHABERI_SHARD_COUNT="2") as watched:
            state = watched.bot.client.gateway_state
            assert (state.shard_ids(), state.missing(), state.problem()) == ((0, 1), (), None)
            state.note_lost(1)
            told = "gateway: not connected to Discord (shards 1 of 2)"
            assert await watched.get("/health") == (503, told)
            assert watched.metric("shards") == 2
            assert watched.metric("shards_connected") == 1

    play(scenario)


def test_a_locked_database_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its silence is noticed before SQLite itself gives up."""
    monkeypatch.setattr(engine, "BUSY_SECONDS", 60.0)

    async def scenario() -> None:
        async with serving(tmp_path) as watched:
            other = sqlite3.connect(tmp_path / "oshaberi.db")
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageAwayError):
                await watched.bot.db.servers.set_config(1, "blocked_users", [5])
            status, problem = await watched.get("/health")
            assert status == 200
            assert problem is not None
            assert problem.startswith("database: the database")
            assert watched.metric("database_away") == 1
            assert (watched.metric("database_call_seconds_count", kind="call") or 0) > 0
            assert (watched.metric("database_faults_total", kind="silent") or 0) > 0
            other.close()
            await watched.until_well(True)

    play(scenario)


def test_a_redis_that_is_away_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            redis_proxy(OwnRedis().url) as proxy,
            serving(tmp_path, OSHABERI_REDIS_URL=proxy.url) as watched,
        ):
            assert await watched.get("/health") == (200, None)
            await proxy.cut()
            assert (await watched.until_well(False)).startswith("redis: away: ")
            assert (await watched.get("/health"))[0] == 200
            assert watched.metric("redis_away") == 1
            await proxy.mend()
            await watched.until_well(True)
            assert watched.metric("redis_away") == 0

    play(scenario)


def failed(kind: ErrorType, model: str = "m") -> StreamResult:
    log = ThoughtLog(provider="openai", model=model)
    return StreamResult("error", data=ProviderError(kind, "no"), thought_log=log)


def test_a_model_fails_until_it_answers() -> None:
    now_s = 0.0
    model_health = ModelHealth(lambda: now_s)
    assert model_health.problem() is None
    model_health.ended(CONTEXT, failed("auth"))
    model_health.ended(CONTEXT, failed("provider_overloaded", "n"))
    assert model_health.problem() == "openai m: auth; openai n: provider_overloaded"
    whole = StreamResult("completed", thought_log=ThoughtLog(provider="openai", model="m"))
    model_health.ended(CONTEXT, whole)
    assert model_health.problem() == "openai n: provider_overloaded"
    now_s = KEPT_SECONDS
    assert model_health.problem() is None


@pytest.mark.parametrize("kind", ["content_blocked", "context_length"])
def test_what_a_question_causes_is_no_fault_of_the_model(kind: ErrorType) -> None:
    model_health = ModelHealth()
    model_health.ended(CONTEXT, failed(kind))
    assert model_health.problem() is None
