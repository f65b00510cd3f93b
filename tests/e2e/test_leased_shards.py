"""The whole bot with `shards = "auto"`: it takes all shards, answers, and gives them back."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import aiohttp
from redis.asyncio import Redis

from discord_stage import Settings
from discord_stage.model_servers.openai_wire import OpenAIWire
from discord_stage.model_servers.scripts import Say
from discord_stage.model_servers.server import ModelServer
from discord_stage.testing import staged
from oshaberi.bot.config import load
from oshaberi.bot.coordination.redis_leases import PREFIX, SINCE
from oshaberi.bot.wiring.bot_wiring import Bot, run
from tests.bot.client_harness import world
from tests.e2e.bot_harness import KEY, PATIENCE_S, BotHarness
from tests.free_ports import free_port
from tests.storage.database_servers import redis_url

SHARDS = 2
STAGE = Settings(time_scale=100.0, shards=SHARDS, max_concurrency=SHARDS, identify_s=5.0)


def environment(folder: Path, token: str, model: str, redis: str, port: int) -> dict[str, str]:
    link = {"provider": "openai", "model": "model-0", "base_url": model, "api_keys": [KEY]}
    given = {
        "data_dir": str(folder),
        "discord_token": token,
        "models": json.dumps([link]),
        "humanizer_degree": "1",
        "shards": "auto",
        "redis_url": redis,
        "health_port": str(port),
    }
    named = {f"OSHABERI_{key.upper()}": value for key, value in given.items()}
    return {"HOME": str(folder), **named}


async def readiness(port: int) -> tuple[int, str | None]:
    url = f"http://127.0.0.1:{port}/ready"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, (await answer.json())["problem"]


def test_a_bot_takes_its_shards_and_gives_them_back(tmp_path: Path) -> None:
    url, port = redis_url(), free_port()

    async def main() -> None:
        redis = Redis.from_url(url)
        async with (
            redis,
            ModelServer(OpenAIWire(), (Say("Tea."),)) as server,
            staged(world(), STAGE) as stage,
        ):
            await redis.set(SINCE, 0)  # this Redis has been there for long
            environ = environment(tmp_path, stage.token, server.url, url, port)
            settings = load(None, environ)
            opened: list[Bot] = []
            running = asyncio.create_task(
                run(settings, environ, on_open=opened.append, guild_ready_timeout=0.1)
            )
            await stage.wait_for(lambda: len(stage.gateway.connected()) == SHARDS)
            async with asyncio.timeout(PATIENCE_S):
                while await readiness(port) != (200, None):
                    await asyncio.sleep(0.05)
            assert len(await redis.keys(f"{PREFIX}lease:*")) == SHARDS
            here = BotHarness(stage, opened[0], [server], settings)
            here.ask("what do you like?")
            await here.says("Tea.")
            os.kill(os.getpid(), signal.SIGTERM)
            await running
            assert await redis.keys(f"{PREFIX}lease:*") == []
            assert not stage.gateway.connected()
            assert stage.gateway.too_early == 0

    asyncio.run(main())
