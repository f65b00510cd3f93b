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
        questions = [one for _ in range(3) for one in fleet.ask_everywhere()]
        await fleet.answered(questions)
        await fleet.stage.settled(LATER_S)
        assert fleet.problems() == []
        assert fleet.stage.gateway.overlaps == 0

    play(tmp_path, scenario, *names)


@pytest.mark.parametrize("names", ["ab", "abcd"])
def test_the_shards_of_a_killed_process_are_served_again(tmp_path: Path, names: str) -> None:
    async def scenario(fleet: BotFleet) -> None:
        await fleet.answered(fleet.ask_everywhere())
        await fleet.kill("b")
        questions = fleet.ask_everywhere()
        await fleet.all_connected(SERVED_AGAIN_S)
        await fleet.answered(questions, LATER_S)
        await fleet.stage.settled(LATER_S)
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
        await fleet.answered(fleet.asked, LATER_S)
        await fleet.stage.settled(LATER_S)
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
        said = fleet.said(slow)
        later = [fleet.ask(shard, 1) for shard in range(SHARDS)]
        await fleet.answered(later, LATER_S)
        assert fleet.said(slow) == said
        hung.send(signal.SIGCONT)
        assert await hung.ended() == 75
        assert fleet.said(slow) == said
        # Whoever takes the answer over tells that it was cut.
        await fleet.stage.wait_for(lambda: fleet.notices(slow) == 1, LATER_S)
        await fleet.stage.settled(LATER_S)
        assert fleet.problems(may_be_cut=True) == []

    play(tmp_path, scenario, "a", "b", is_slow=True)
