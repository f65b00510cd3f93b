"""The bot ends in the middle of many answers, and as many questions wait behind them.

After the restart each question is answered in full, or the channel is told; nothing is said twice.
"""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from discord_stage import Settings, Stage
from discord_stage.errors import StageTimeoutError
from oshaberi.bot.recovery.crash_recovery import TITLE as INTERRUPTED
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.turns.notices import RESTARTED
from tests.crash.bot_process import BotProcess
from tests.crash.crash_rounds import INSTANCE, errors_in, unfinished
from tests.crash.crash_world import OTHER, USER, environment, settle_in, world
from tests.crash.gated_model import gated_model
from tests.crash.numbered_lines_model import asked, expected

Ending = Literal["kill", "term"]
ENDINGS: tuple[Ending, ...] = ("kill", "term")
ENDING_NAMES = {"kill": "kill -9", "term": "SIGTERM"}

SETTLE_S = 240.0
GRACE_S = "1"
WAITING = 10_000
"""From this number on questions are asked while another one is answered."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question, and what its channel holds of its answer."""

    question: str
    ending: Ending
    is_waiting: bool
    told: tuple[str, ...]
    reports: int
    halves: tuple[str, ...] = ()
    """Messages that end in mid-word."""

    @property
    def is_whole(self) -> bool:
        return list(self.told) == expected(self.question)

    @property
    def is_over(self) -> bool:
        may_be_told = self.ending == "kill" and not self.is_waiting
        return self.is_whole or (may_be_told and self.reports > 0)

    @property
    def problem(self) -> str | None:
        wrong = self._wrong()
        return None if wrong is None else f"{self.question}, {self.ending}: {wrong}"

    def _wrong(self) -> str | None:
        whole = expected(self.question)
        if list(self.told) != whole[: len(self.told)]:
            return f"{list(self.told)} does not begin {whole}"
        if self.halves:
            return f"ends in mid-word: {self.halves}"
        if self.is_whole:
            return None if self.reports <= 1 else f"told {self.reports} times"
        if self.is_waiting:
            return f"waited, and got {len(self.told)} lines"
        if self.ending == "term":
            return f"did not go on after {len(self.told)} lines"
        return None if self.reports == 1 else f"{len(self.told)} lines, told {self.reports} times"


@dataclass(frozen=True, slots=True)
class BusyChannelsResult:
    """All questions after the restart, and what was left."""

    questions: tuple[AskedQuestion, ...]
    left: int
    errors: tuple[str, ...]

    @property
    def problems(self) -> list[str]:
        wrong = [one.problem for one in self.questions if one.problem]
        if self.left:
            wrong.append(f"{self.left} questions or answers are left in the database")
        return wrong + [f"in the log: {line}" for line in self.errors]

    def __str__(self) -> str:
        whole = sum(one.is_whole for one in self.questions)
        fine = sum(one.problem is None for one in self.questions)
        return (
            f"{fine} of {len(self.questions)} answered or told, {whole} of them answered in full; "
            f"{len(self.problems)} problems"
        )


async def end_with_busy_channels(
    folder: Path, database_url: str | None, channels: int, ending: Ending
) -> BusyChannelsResult:
    """So many running and so many waiting questions when the bot ends."""
    names = [f"c{number}" for number in range(channels)]
    database = database_url or f"sqlite:///{folder / 'bot.db'}"
    async with Stage(world(*names), Settings(rate_limits=False)) as stage, gated_model() as gated:
        model, url = gated
        await settle_in(stage, database, folder)
        environ = environment(folder, stage, url, database, shutdown_grace_s=GRACE_S)
        busy = BusyChannels(stage, names, ending)
        bot = await BotProcess.started(environ, folder / "bot.log")
        try:
            await busy.ask(lambda: stored_questions(database, folder))
            await _end(bot, ending)
            model.gate.set()
            bot = await BotProcess.started(environ, folder / "bot.log")
            questions = await busy.answered()
            bot.send(signal.SIGTERM)
            await bot.ended()
        finally:
            await bot.kill()
    left = await stored_questions(database, folder) + await unfinished(database, folder)
    return BusyChannelsResult(questions, left, errors_in(folder / "bot.log"))


async def _end(bot: BotProcess, ending: Ending) -> None:
    if ending == "kill":
        await bot.kill()
    else:
        bot.send(signal.SIGTERM)
        assert await bot.ended() == 0


async def stored_questions(database_url: str, folder: Path, instance: str = INSTANCE) -> int:
    """Ending many there are."""
    vault = SecretVault.from_environment_or_file(folder / "secret.key")
    async with Database.open(database_url, vault) as db:
        return len(await db.questions.left_by(instance))


class BusyChannels:
    """In every channel one person asks and gets the beginning of an answer, another one waits."""

    def __init__(self, stage: Stage, channels: Sequence[str], ending: Ending) -> None:
        self._stage = stage
        self._channels = channels
        self._ending: Ending = ending

    async def ask(self, stored: Callable[[], Awaitable[int]]) -> None:
        """Until all of them are asked, the answers to half of them begun, the others waiting."""
        for number, channel in enumerate(self._channels):
            self._post(number, channel, USER)
        await self._stage.wait_for(lambda: all(map(self._is_begun, self._channels)), SETTLE_S)
        for number, channel in enumerate(self._channels):
            self._post(WAITING + number, channel, OTHER)
        async with asyncio.timeout(SETTLE_S):
            while await stored() < 2 * len(self._channels):
                await asyncio.sleep(0.2)

    async def answered(self) -> tuple[AskedQuestion, ...]:
        with suppress(StageTimeoutError):  # then the questions themselves tell what is missing
            await self._stage.wait_for(lambda: all(one.is_over for one in self._now()), SETTLE_S)
        await self._stage.settled(SETTLE_S)
        return self._now()

    def _post(self, number: int, channel: str, user: str) -> None:
        text = asked(f"question {number}", bot_id=self._stage.world.bot.id)
        self._stage.people.post(channel, text, user=user)

    def _is_begun(self, channel: str) -> bool:
        return any(" line " in line for line in self._lines(channel))

    def _lines(self, channel: str) -> list[str]:
        """By line: a send that took more than a second has its successors joined."""
        said = "\n".join(one.content for one in self._stage.world.history(channel))
        return said.split("\n")

    def _now(self) -> tuple[AskedQuestion, ...]:
        return tuple(
            self._question(number + first, channel)
            for number, channel in enumerate(self._channels)
            for first in (0, WAITING)
        )

    def _question(self, number: int, channel: str) -> AskedQuestion:
        question = f"question {number}"
        lines = [line for line in self._lines(channel) if line.startswith(f"{question} ")]
        told = tuple(line for line in lines if re.fullmatch(rf"{question} line \d+", line))
        halves = tuple(line for line in lines if line not in told)
        is_waiting = number >= WAITING
        reports = 0 if is_waiting else self._reports(channel)
        return AskedQuestion(question, self._ending, is_waiting, told, reports, halves)

    def _reports(self, channel: str) -> int:
        titles = [
            embed.get("title") for one in self._stage.world.history(channel) for embed in one.embeds
        ]
        return sum(title in (INTERRUPTED, RESTARTED) for title in titles)
