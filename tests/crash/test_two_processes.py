"""Two processes of one bot with PostgreSQL and Redis, both of which hear everything."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from discord_stage import Settings, Stage
from discord_stage.world.records import Interaction, StageMessage
from tests.crash.bot_process import BotProcess
from tests.crash.crash_rounds import errors_in
from tests.crash.crash_world import CHANNEL, MODERATOR, OTHER, USER, environment, settle_in, world
from tests.crash.numbered_lines_model import SLOW, STALLED, asked, expected, lined_model
from tests.storage.database_servers import postgres_url, redis_url

pytestmark = pytest.mark.slow

SOON_S = 60.0
PROGRAM = "tests.crash.patient_bot_program"
QUIET_CHANNEL = "quiet"


class Pair:
    """Both are up. Who takes something is decided by holding the other one for a moment."""

    def __init__(self, stage: Stage, redis: Redis, first: BotProcess, second: BotProcess) -> None:
        self.stage = stage
        self.first = first
        self.second = second
        self._redis = redis

    async def ask(
        self,
        number: int,
        *,
        of: BotProcess,
        channel: str = CHANNEL,
        user: str = USER,
        alter: bool = False,
    ) -> StageMessage:
        bot_id = self.stage.world.bot.id
        text = asked(f"question {number}", alter=alter, bot_id=bot_id)
        post = self.stage.people.post
        said: StageMessage = await self._taken(of, lambda: post(channel, text, user=user))
        return said

    async def stop(self, *, at: BotProcess, user: str = USER, channel: str = CHANNEL) -> str:
        """What the command answers."""
        run = self.stage.people.run
        begun = await self._taken(at, lambda: run("stop", channel=channel, user=user))
        return await self.stage.wait_for(lambda: self._answer(begun), SOON_S)

    async def _taken(self, by: BotProcess, scenario: Callable[[], Any]) -> Any:
        other = self.second if by is self.first else self.first
        other.send(signal.SIGSTOP)
        try:
            done = scenario()
            async with asyncio.timeout(SOON_S):
                while not await self._redis.exists(f"oshaberi:claim:{done.id}"):
                    await asyncio.sleep(0.01)
        finally:
            other.send(signal.SIGCONT)
        return done

    def _answer(self, begun: Interaction) -> str:
        there = self.stage.world.messages.get(begun.channel_id, {})
        said = there.get(begun.original_id or 0)
        return "" if said is None else said.content

    def told(self, channel: str = CHANNEL) -> list[str]:
        """By line: a send that took more than a second has its successors joined."""
        said = "\n".join(one.content for one in self.stage.world.history(channel))
        return [line for line in said.split("\n") if " line " in line]

    async def answered(self, *numbers: int, channel: str = CHANNEL) -> None:
        """Each of them in full, once, and none in the middle of another."""
        wanted = Counter(line for one in numbers for line in expected(f"question {one}"))
        here = self.told
        await self.stage.wait_for(lambda: not wanted - Counter(here(channel)), SOON_S)
        await self.stage.settled(SOON_S)
        runs = [list(run) for _name, run in groupby(here(channel), lambda line: line.split()[1])]
        assert sorted(runs) == sorted(expected(f"question {one}") for one in numbers)


@asynccontextmanager
async def pair_on(stage: Stage, folder: Path, database: str, redis: str) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        model_url = await stack.enter_async_context(lined_model())
        await settle_in(stage, database, folder)
        bots = []
        for name in ("first", "second"):
            settings = {"redis_url": redis, "instance": name, "follow_up_policy": "queue"}
            environ = environment(folder, stage, model_url, database, **settings)
            bot = await BotProcess.launched(environ, folder / f"{name}.log", PROGRAM)
            stack.push_async_callback(bot.kill)
            bots.append(bot)
        for bot in bots:
            await bot.ready()
        client = Redis.from_url(redis)
        stack.push_async_callback(client.aclose)
        yield Pair(stage, client, *bots)


def with_pair(folder: Path, scenario: Callable[[Pair], Awaitable[None]]) -> None:
    database, redis = postgres_url(), redis_url()

    async def main() -> None:
        settings = Settings(rate_limits=False, interaction_s=SOON_S)
        async with Stage(world(CHANNEL, QUIET_CHANNEL), settings) as stage:
            async with pair_on(stage, folder, database, redis) as pair:
                await scenario(pair)
            stage.check()

    asyncio.run(main())
    for name in ("first", "second"):
        log = folder / f"{name}.log"
        assert errors_in(log) == ()
        assert "too late" not in log.read_text(encoding="utf-8")  # a command, answered by both


def test_two_processes_keep_out_of_each_others_way(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        stage, first, second = pair.stage, pair.first, pair.second
        # In one channel answers wait for each other, whoever gives them, and each is given once.
        await pair.ask(SLOW, of=first)
        await pair.ask(1, of=second, user=OTHER, alter=True)
        await pair.ask(2, of=first, alter=True)
        await pair.ask(3, of=second)
        await pair.answered(SLOW, 1, 2, 3)
        assert len(stage.world.webhooks) == 1
        # Nobody helps: whoever is quicker takes it, and one does.
        for number in range(4, 10):
            text = asked(f"question {number}", bot_id=stage.world.bot.id)
            stage.people.post(QUIET_CHANNEL, text, user=USER)
        await pair.answered(*range(4, 10), channel=QUIET_CHANNEL)
        # A stop reaches the process that runs the turn, which knows whose it is.
        await pair.ask(STALLED, of=first)
        await stage.wait_for(lambda: f"question {STALLED} line 1" in pair.told(), SOON_S)
        assert "Manage Messages" in await pair.stop(at=second, user=OTHER)
        assert await pair.stop(at=second, user=USER) == "Stopped."
        await pair.ask(STALLED + 1, of=second)
        await stage.wait_for(lambda: f"question {STALLED + 1} line 1" in pair.told(), SOON_S)
        assert await pair.stop(at=first, user=MODERATOR) == "Stopped."

    with_pair(tmp_path, scenario)


def test_a_rolling_restart(tmp_path: Path) -> None:
    async def scenario(pair: Pair) -> None:
        stage, first, second = pair.stage, pair.first, pair.second
        await pair.ask(SLOW, of=first)
        await pair.ask(1, of=first)  # waits there, and is not begun any more
        await stage.wait_for(lambda: len(pair.told()) >= 2, SOON_S)
        first.send(signal.SIGTERM)
        assert await first.ended() == 0
        assert pair.told() == expected(f"question {SLOW}")
        text = asked("question 2", bot_id=stage.world.bot.id)
        stage.people.post(QUIET_CHANNEL, text, user=OTHER)
        await pair.answered(2, channel=QUIET_CHANNEL)
        await pair.answered(SLOW, 1)
        second.send(signal.SIGTERM)
        assert await second.ended() == 0

    with_pair(tmp_path, scenario)
