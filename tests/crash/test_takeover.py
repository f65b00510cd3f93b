"""Two processes with a shard each: one is killed, and the other settles what it left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from discord_stage import Settings, Stage
from discord_stage.world.records import StageMessage
from oshaberi.bot.recovery.crash_recovery import TITLE
from tests.crash.bot_process import BotProcess
from tests.crash.busy_channels import stored_questions
from tests.crash.crash_rounds import errors_in
from tests.crash.crash_world import CHANNEL, OTHER, USER, environment, settle_in, world
from tests.crash.numbered_lines_model import LINES, STALLED, asked, expected, lined_model
from tests.storage.database_servers import postgres_url, redis_url

SOON_S = 60.0
"""In a quiet place it takes six seconds with PostgreSQL alone, sixteen with Redis."""
SHARDS = 2


class TwoShards:
    """`first` has the shard of the only guild, `second` the other one."""

    def __init__(self, stage: Stage, first: BotProcess, second: BotProcess) -> None:
        self.stage = stage
        self.first = first
        self.second = second

    def ask(self, number: int, user: str, *, alter: bool = False) -> None:
        text = asked(f"question {number}", alter=alter, bot_id=self.stage.world.bot.id)
        self.stage.people.post(CHANNEL, text, user=user)

    def lines(self, number: int) -> list[str]:
        said = "\n".join(one.content for one in self._history)
        return [line for line in said.split("\n") if line.startswith(f"question {number} line")]

    @property
    def notices(self) -> list[str]:
        return [str(embed["title"]) for one in self._history for embed in one.embeds]

    @property
    def _history(self) -> list[StageMessage]:
        return self.stage.world.history(CHANNEL)


async def run_takeover(folder: Path, database: str, redis: str | None) -> None:
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(Stage(world(), Settings(rate_limits=False)))
        model_url = await stack.enter_async_context(lined_model())
        await settle_in(stage, database, folder)
        guild_id = next(iter(stage.world.guilds))
        first = (guild_id >> 22) % SHARDS
        bots = []
        for shard in (first, 1 - first):
            settings = {"shard_ids": str(shard), "shard_count": str(SHARDS)}
            if redis is not None:
                settings["redis_url"] = redis
            environ = environment(folder, stage, model_url, database, **settings)
            bot = await BotProcess.launched(environ, folder / f"{shard}.log")
            stack.push_async_callback(bot.kill)
            bots.append(bot)
        for bot in bots:
            await bot.ready()
        stored = partial(stored_questions, database, folder, f"shards-{first}")
        await _taken_over(TwoShards(stage, *bots), stored)
        for shard in range(SHARDS):
            assert errors_in(folder / f"{shard}.log") == ()


async def _taken_over(here: TwoShards, stored: Callable[[], Awaitable[int]]) -> None:
    here.ask(STALLED, USER)
    await here.stage.wait_for(lambda: len(here.lines(STALLED)) >= 2, SOON_S)
    here.ask(1, OTHER)
    here.ask(2, OTHER, alter=True)
    async with asyncio.timeout(SOON_S):
        while await stored() < 3:
            await asyncio.sleep(0.1)
    await here.first.kill()
    await here.stage.wait_for(lambda: here.notices, SOON_S)
    await here.stage.wait_for(lambda: len(here.lines(2)) >= LINES, SOON_S)
    await here.stage.settled(SOON_S)
    assert here.notices == [TITLE]
    begun = here.lines(STALLED)
    assert begun == expected(f"question {STALLED}")[: len(begun)]
    assert here.lines(1) == expected("question 1")
    assert here.lines(2) == expected("question 2")


@pytest.mark.slow
@pytest.mark.parametrize("with_redis", [False, True])
def test_the_channels_of_a_killed_process_are_settled_within_seconds(
    tmp_path: Path, with_redis: bool
) -> None:
    database = postgres_url()
    asyncio.run(run_takeover(tmp_path, database, redis_url() if with_redis else None))
