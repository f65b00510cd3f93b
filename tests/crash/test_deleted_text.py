"""A bot in a process of its own: after `/privacy delete` no file of its folder has the text."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing
from pathlib import Path

from discord_stage import Settings, Stage
from discord_stage.world.records import Interaction
from tests.crash.bot_process import BotProcess
from tests.crash.crash_world import CHANNEL, OTHER, USER, environment, settle_in, world
from tests.crash.numbered_lines_model import asked, expected, lined_model
from tests.storage.test_erased_text import files_with

SOON_S = 60.0
SURE = {"sure": "yes, delete it"}


class OneBot:
    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.folder = folder

    async def answered(self, number: int, user: str) -> int:
        """Ask and wait until everything is stored. Return the question's id."""
        text = asked(f"question {number}", bot_id=self.stage.world.bot.id)
        question = self.stage.people.post(CHANNEL, text, user=user)
        last = expected(f"question {number}")[-1]
        await self.stage.wait_for(lambda: self._is_said(last), SOON_S)
        await self.stage.settled(SOON_S)
        async with asyncio.timeout(SOON_S):
            while not self._is_stored(number):
                await asyncio.sleep(0.05)
        return question.id

    async def run(
        self, command: str, user: str, options: Mapping[str, object] | None = None
    ) -> str:
        made = self.stage.people.run(command, options, user=user, channel=CHANNEL)
        await self.stage.wait_for(lambda: self._reply(made), SOON_S)
        return self._reply(made)

    def files_with_question(self, number: int) -> list[str]:
        return files_with(self.folder, f"question {number} line")

    def _is_said(self, line: str) -> bool:
        return any(line in one.content for one in self.stage.world.history(CHANNEL))

    def _is_stored(self, number: int) -> bool:
        with closing(sqlite3.connect(self.folder / "oshaberi.db")) as database:
            found = database.execute(
                "SELECT count(*) FROM exchanges WHERE answered LIKE ?", [f"%question {number} %"]
            )
            return bool(found.fetchone()[0])

    def _reply(self, made: Interaction) -> str:
        said = self.stage.world.messages.get(made.channel_id, {}).get(made.original_id or 0)
        return "" if said is None else said.content


async def _deleted_and_killed(folder: Path) -> None:
    database = f"sqlite:///{folder / 'oshaberi.db'}"
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(Stage(world(), Settings(rate_limits=False)))
        model_url = await stack.enter_async_context(lined_model())
        await settle_in(stage, database, folder)
        environ = environment(folder, stage, model_url, database)
        log = folder.parent / "bot.log"
        bot = await BotProcess.started(environ, log)
        stack.push_async_callback(bot.kill)
        here = OneBot(stage, folder)
        await here.answered(1, USER)
        await here.answered(2, OTHER)
        assert here.files_with_question(1) != []
        told = await here.run("privacy delete", USER, SURE)
        assert told.startswith("Deleted: "), told
        assert "being read" not in told
        assert here.files_with_question(1) == [], "while it runs"
        assert here.files_with_question(2) != [], "of somebody else"
        await here.run("memory forget channel", "kei")
        assert here.files_with_question(2) == [], "short-term memory"
        question_id = await here.answered(4, USER)
        stage.people.delete(question_id)
        async with asyncio.timeout(SOON_S):
            while here.files_with_question(4):
                await asyncio.sleep(0.1)
        await here.answered(3, USER)
        await here.run("privacy delete", USER, SURE)
        await bot.kill()
        assert here.files_with_question(3) == [], "right after kill -9"


def test_deleted_text_is_in_no_file_of_a_running_or_killed_bot(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    asyncio.run(_deleted_and_killed(folder))
