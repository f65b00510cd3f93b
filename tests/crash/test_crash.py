"""The crash test, short: `python -m tests.crash` is the long one."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from discord_stage import Settings, Stage
from oshaberi.bot.storage import Database, SecretVault
from tests.crash.bot_process import BotProcess
from tests.crash.crash_rounds import SETTLE_S, Plan, Played, Round, crash_rounds
from tests.crash.crash_world import CHANNEL, USER, environment, world
from tests.crash.numbered_lines_model import LINES, asked, expected, question_in, serving
from tests.storage.database_servers import postgres_url

KILLS = 2
PLAN = Plan("question 1", alter=True, lines=3, moment_s=0.0)
WHOLE = tuple(expected("question 1"))


@pytest.mark.slow
@pytest.mark.parametrize(("database", "seed"), [("sqlite", 11), ("postgresql", 12)])
def test_after_a_crash_every_message_is_there_once_or_it_is_told(
    tmp_path: Path, database: str, seed: int
) -> None:
    url = postgres_url() if database == "postgresql" else None
    played = asyncio.run(crash_rounds(tmp_path, url, KILLS, seed))
    assert played.kills >= KILLS
    assert played.problems == []


# -- the harness itself ----------------------------------------------------------------------------


def test_what_is_right() -> None:
    assert Round(PLAN, WHOLE).problem is None
    assert Round(PLAN, WHOLE, notices=1).problem is None
    assert Round(PLAN, WHOLE[:3], reports=1).problem is None
    assert Round(PLAN, (), reports=1).problem is None
    assert Played((Round(PLAN, WHOLE),), 0, ()).problems == []


@pytest.mark.parametrize(
    ("told", "reports", "notices", "problem"),
    [
        ((*WHOLE[:3], WHOLE[2]), 1, 0, "does not begin"),
        ((*WHOLE[:3], *WHOLE[4:6]), 1, 0, "does not begin"),
        ((*WHOLE[:3], WHOLE[4], WHOLE[3]), 1, 0, "does not begin"),
        ((*WHOLE, WHOLE[-1]), 0, 0, "does not begin"),
        ((*WHOLE[:3], *WHOLE), 1, 0, "does not begin"),
        (WHOLE[:3], 0, 0, f"only 3 of {LINES} lines, and no word"),
        ((), 0, 0, "and no word"),
        (WHOLE[:3], 2, 0, "told 2 times"),
        (WHOLE, 0, 2, "2 reply notices"),
    ],
)
def test_what_is_wrong(told: tuple[str, ...], reports: int, notices: int, problem: str) -> None:
    assert problem in (Round(PLAN, told, reports, notices).problem or "")


def test_what_was_asked_while_nobody_was_there_is_answered_in_full() -> None:
    away = replace(PLAN, is_away=True)
    assert "nobody interrupted" in (Round(away, WHOLE[:3], 1).problem or "")


def test_what_is_left_and_what_is_logged_are_problems_too() -> None:
    assert Played((Round(PLAN, WHOLE),), 2, ("ERROR oh",)).problems == [
        "2 answers are left in the journal",
        "in the log: ERROR oh",
    ]


class SilentModel:
    """Says nothing to the first who asks, however long they wait."""

    def __init__(self) -> None:
        self.asked = 0

    async def complete(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        if self.asked == 1:
            await asyncio.Event().wait()
        question, _alter = question_in(await request.json())
        delta = {"content": "\n".join(expected(question))}
        text = json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]})
        return web.Response(
            text=f"data: {text}\n\ndata: [DONE]\n\n", content_type="text/event-stream"
        )


@pytest.mark.slow
def test_an_answer_that_had_no_message_is_given_after_a_kill(tmp_path: Path) -> None:
    """The process is killed while the model thinks: nobody saw anything, so nobody is told."""
    database, model = f"sqlite:///{tmp_path}/oshaberi.db", SilentModel()

    async def main() -> None:
        async with (
            Stage(world(), Settings(rate_limits=False)) as stage,
            serving(model.complete) as url,
        ):
            environ = environment(tmp_path, stage, url, database)
            bot = await BotProcess.started(environ, tmp_path / "bot.log")
            text = asked("question 1", bot_id=stage.world.bot.id)
            stage.people.post(CHANNEL, text, user=USER)
            await stage.wait_for(lambda: model.asked == 1, SETTLE_S)
            vault = SecretVault.from_environment_or_file(tmp_path / "secret.key")
            async with Database.open(database, vault) as db, asyncio.timeout(SETTLE_S):
                while not await db.journal.unfinished("main"):
                    await asyncio.sleep(0.05)
            await bot.kill()
            bot = await BotProcess.started(environ, tmp_path / "bot.log")
            try:
                said = stage.world.contents
                await stage.wait_for(
                    lambda: "\n".join(said(CHANNEL)[1:]).split("\n") == expected("question 1"),
                    SETTLE_S,
                )
                await stage.settled(SETTLE_S)
                assert not [one for one in stage.world.history(CHANNEL) if one.embeds]
            finally:
                await bot.kill()

    asyncio.run(main())
    assert model.asked == 2
