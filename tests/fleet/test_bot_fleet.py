"""Two and four processes that share the shards by leases, with real Redis and PostgreSQL."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.crash.crash_rounds import errors_in
from tests.crash.numbered_lines_model import SLOW
from tests.fleet.bot_fleet import SHARDS, BotFleet, bot_fleet
from tests.storage.database_servers import postgres_url, redis_url

pytestmark = pytest.mark.slow

SERVED_AGAIN_S = 15.0
LATER_S = 120.0


def play(
    folder: Path,
    scenario: Callable[[BotFleet], Awaitable[None]],
    *names: str,
    is_slow: bool = False,
) -> None:
    database, redis = postgres_url(), redis_url()

    async def main() -> None:
        async with bot_fleet(folder, database, redis, *names, is_slow=is_slow) as fleet:
            await scenario(fleet)

    asyncio.run(main())
    for log in folder.glob("*.log"):
        assert errors_in(log) == ()


@pytest.mark.parametrize("names", ["ab", "abcd"])
def test_each_question_is_answered_once(tmp_path: Path, names: str) -> None:
    async def scenario(fleet: BotFleet) -> None:
        assert [SHARDS // len(names)] * len(names) == fleet.shares()
        for _ in range(3):
            fleet.ask_everywhere()
        await fleet.answered(LATER_S)
        assert fleet.problems() == []
        assert fleet.stage.gateway.overlaps == 0

    play(tmp_path, scenario, *names)


@pytest.mark.parametrize("names", ["ab", "abcd"])
def test_the_shards_of_a_killed_process_are_served_again(tmp_path: Path, names: str) -> None:
    async def scenario(fleet: BotFleet) -> None:
        fleet.ask_everywhere()
        await fleet.answered(LATER_S)
        await fleet.kill("b")
        fleet.ask_everywhere()
        await fleet.all_connected(SERVED_AGAIN_S)
        await fleet.answered(LATER_S)
        assert fleet.problems() == []
        assert fleet.stage.gateway.overlaps == 0

    play(tmp_path, scenario, *names)


def test_a_rolling_restart_of_all_under_load(tmp_path: Path) -> None:
    async def scenario(fleet: BotFleet) -> None:
        async with fleet.under_load():
            for name in "abcd":
                assert await fleet.end(name) == 0
                await fleet.all_connected()
                await fleet.start(name)
                await fleet.balanced()
        await fleet.answered(LATER_S)
        assert fleet.problems() == []
        assert fleet.stage.gateway.overlaps == 0

    play(tmp_path, scenario, *"abcd")


def test_a_process_that_hung_says_nothing_any_more(tmp_path: Path) -> None:
    async def scenario(fleet: BotFleet) -> None:
        mine = min(fleet.shards_of("a"))
        slow = fleet.ask(mine, question=SLOW)
        await fleet.stage.wait_for(lambda: len(fleet.said(slow)) >= 2, LATER_S)
        hung = fleet.processes.pop("a")
        hung.send(signal.SIGSTOP)
        said, messages = fleet.said(slow), fleet.messages(slow)
        for shard in range(SHARDS):
            fleet.ask(shard, 1)
        await fleet.stage.wait_for(lambda: set(fleet.unanswered()) == {slow}, LATER_S)
        assert fleet.said(slow) == said
        hung.send(signal.SIGCONT)
        assert await hung.ended() == 75
        assert fleet.said(slow) == said
        # Whoever takes the answer over sends the one message that was under way (several lines, if
        # they were joined), and tells that the answer was cut.
        await fleet.answered(LATER_S)
        assert fleet.notices(slow.channel) == 1
        assert fleet.messages(slow)[: len(messages)] == messages
        assert len(fleet.messages(slow)) <= len(messages) + 1
        assert fleet.problems(may_be_cut=True) == []

    play(tmp_path, scenario, "a", "b", is_slow=True)
