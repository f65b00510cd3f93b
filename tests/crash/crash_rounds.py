"""Ask, kill the bot at a random moment, start it again, and look at what is in the channel.

In some rounds the bot is killed once more while it recovers, in some it is asked while it is away.
"""

from __future__ import annotations

import asyncio
import random
import re
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from discord_stage import SEND, WEBHOOK, Fault, Settings, Stage
from discord_stage.errors import StageTimeoutError
from discord_stage.world.records import StageMessage
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.discord_io.requests.parameters import is_reply_notice
from tests.crash.bot_process import BotProcess
from tests.crash.crash_world import CHANNEL, USER, environment, settle_in, world
from tests.crash.numbered_lines_model import LINES, PAUSE_S, asked, expected, lined_model

SETTLE_S = 60.0
RECOVERY_S = 0.6
"""About as long as it takes."""
HISTORY = "GET /channels/*/messages"
INSTANCE = "main"

Launch = Callable[[], Awaitable[BotProcess]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens in one round."""

    question: str
    alter: bool
    lines: int
    """So many are awaited before the kill; None of them if it is asked while it is away."""
    moment_s: float
    slow: bool = False
    is_away: bool = False
    again_s: float | None = None
    """So long after it is connected again it is killed once more."""

    def __str__(self) -> str:
        words = [
            self.question,
            "alter" if self.alter else "bot",
            "asked while away" if self.is_away else f"killed after {self.lines} lines",
            *(["slow answers"] if self.slow else []),
            *([f"killed again after {self.again_s:.2f} s"] if self.again_s is not None else []),
        ]
        return ", ".join(words)


def plan(number: int, chance: random.Random) -> Plan:
    is_away = chance.random() < 0.1
    return Plan(
        question=f"question {number}",
        alter=chance.random() < 0.4,
        lines=chance.randint(0, LINES),
        moment_s=chance.uniform(0, 2 * PAUSE_S),
        slow=chance.random() < 0.5,
        is_away=is_away,
        again_s=chance.uniform(0, RECOVERY_S) if chance.random() < 0.3 and not is_away else None,
    )


@dataclass(frozen=True, slots=True)
class Round:
    """What was in the channel after a kill and a restart."""

    plan: Plan
    told: tuple[str, ...]
    reports: int = 0
    notices: int = 0

    @property
    def is_over(self) -> bool:
        return self.reports > 0 or len(self.told) >= LINES

    @property
    def kills(self) -> int:
        return 1 if self.plan.again_s is None else 2

    @property
    def problem(self) -> str | None:
        """What is wrong, or None: every message exactly once and in order, or it is told."""
        wrong = self._wrong(expected(self.plan.question))
        return None if wrong is None else f"{self.plan}: {wrong}"

    def _wrong(self, whole: list[str]) -> str | None:
        if list(self.told) != whole[: len(self.told)]:
            return f"{list(self.told)} does not begin {whole}"
        if len(self.told) < len(whole) and not self.reports:
            return f"only {len(self.told)} of {len(whole)} lines, and no word"
        if self.reports > 1:
            return f"told {self.reports} times that it was interrupted"
        if self.notices > (1 if self.plan.alter else 0):
            return f"{self.notices} reply notices"
        if self.plan.is_away and self.reports:
            return "interrupted, though nobody interrupted it"
        return None


@dataclass(frozen=True, slots=True)
class Played:
    """All rounds, and what was left at the end."""

    rounds: tuple[Round, ...]
    unfinished: int
    errors: tuple[str, ...]

    @property
    def kills(self) -> int:
        return sum(one.kills for one in self.rounds)

    @property
    def problems(self) -> list[str]:
        wrong = [one.problem for one in self.rounds if one.problem]
        if self.unfinished:
            wrong.append(f"{self.unfinished} answers are left in the journal")
        return wrong + [f"in the log: {line}" for line in self.errors]


async def crash_rounds(
    folder: Path,
    database_url: str | None,
    kills: int,
    seed: int,
    module: str = "tests.crash.bot_program",
) -> Played:
    """So many kills, each somewhere in an answer, or while the one before is dealt with."""
    chance = random.Random(seed)
    database_url = database_url or f"sqlite:///{folder / 'bot.db'}"
    async with Stage(world(), Settings(rate_limits=False)) as stage, lined_model() as model_url:
        await settle_in(stage, database_url, folder)
        environ = environment(folder, stage, model_url, database_url)

        def launch() -> Awaitable[BotProcess]:
            return BotProcess.launched(environ, folder / "bot.log", module)

        rounds = await CrashStage(stage, launch, chance).play(kills)
    left = await unfinished(database_url, folder)
    return Played(tuple(rounds), left, errors_in(folder / "bot.log"))


class CrashStage:
    """One stage, on which one bot after the other is killed."""

    def __init__(self, stage: Stage, launch: Launch, chance: random.Random) -> None:
        self._stage = stage
        self._launch = launch
        self._chance = chance

    async def play(self, kills: int) -> list[Round]:
        rounds: list[Round] = []
        bot = await self._restarted()
        try:
            while sum(one.kills for one in rounds) < kills:
                planned = plan(len(rounds) + 1, self._chance)
                question = None if planned.is_away else self._ask(planned)
                if question is not None:
                    await self._until_told(question, planned)
                await bot.kill()
                self._stage.faults.clear()
                question = question or self._ask(planned)
                if planned.again_s is not None:
                    await self._die_recovering(planned.again_s)
                bot = await self._restarted()
                rounds.append(await self._look(question, planned))
            bot.send(signal.SIGTERM)
            await bot.ended()
        finally:
            await bot.kill()
        return rounds

    def _ask(self, planned: Plan) -> StageMessage:
        bot_id = self._stage.world.bot.id
        text = asked(planned.question, alter=planned.alter, bot_id=bot_id)
        if planned.slow:
            self._slow_answers(self._chance.randint(1, LINES))
        return self._stage.people.post(CHANNEL, text, user=USER)

    def _slow_answers(self, call: int) -> None:
        """A message is there before the bot hears of it: the worst moment to die."""
        for route in (SEND, WEBHOOK):
            slow = Fault(kind="delay", route=route, call=call, times=3, after=True, delay_s=0.3)
            self._stage.fault(slow)

    async def _until_told(self, question: StageMessage, planned: Plan) -> None:
        with suppress(StageTimeoutError):
            await self._stage.wait_for(
                lambda: len(self._now(question, planned).told) >= planned.lines, SETTLE_S
            )
        await asyncio.sleep(planned.moment_s)

    async def _die_recovering(self, again_s: float) -> None:
        """Its requests are slow, so that there is something to die in."""
        before = self._stage.gateway.identified
        for route in (SEND, WEBHOOK, HISTORY):
            slow = Fault(kind="delay", route=route, times=None, after=True, delay_s=RECOVERY_S / 3)
            self._stage.fault(slow)
        bot = await self._launch()
        try:
            await self._stage.wait_for(lambda: self._stage.gateway.identified > before, SETTLE_S)
            await asyncio.sleep(again_s)
        finally:
            await bot.kill()
            self._stage.faults.clear()

    async def _restarted(self) -> BotProcess:
        bot = await self._launch()
        try:
            await bot.ready()
        except BaseException:
            await bot.kill()
            raise
        return bot

    async def _look(self, question: StageMessage, planned: Plan) -> Round:
        """When nothing more is to come: the answer is whole, or the bot said that it is not."""
        with suppress(StageTimeoutError):  # then the round itself tells what is missing
            await self._stage.wait_for(lambda: self._now(question, planned).is_over, SETTLE_S)
        await self._stage.settled(SETTLE_S)
        return self._now(question, planned)

    def _now(self, question: StageMessage, planned: Plan) -> Round:
        later = [one for one in self._stage.world.history(CHANNEL) if one.id > question.id]
        # A send that took more than a second has its successors joined.
        told = tuple(line for one in later for line in one.content.split("\n") if _is_line(line))
        reports = sum(bool(one.embeds) for one in later)
        return Round(planned, told, reports, sum(is_reply_notice(one.content) for one in later))


def _is_line(content: str) -> bool:
    return re.fullmatch(r"question \d+ line \d+", content) is not None


async def unfinished(database_url: str, folder: Path) -> int:
    vault = SecretVault.from_environment_or_file(folder / "secret.key")
    async with Database.open(database_url, vault) as db:
        return len(await db.journal.unfinished(INSTANCE))


def errors_in(log: Path) -> tuple[str, ...]:
    """What the bot itself thinks went wrong."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(line for line in lines if re.search(r"\bERROR\b|^Traceback", line))
