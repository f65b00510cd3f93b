"""Ask, kill the bot at a random moment, start it again, and look at what is in the channel."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from oshaberi.stage import SEND, WEBHOOK, Fault, Settings, Stage
from oshaberi.stage.errors import StageTimeoutError
from oshaberi.stage.model import Message
from oshaberi.stage.runner import TOKEN_VARIABLE, URL_VARIABLE
from oshaberi.storage import Database, Vault
from oshaberi.storage.records import PersonaRecord, SpriteRecord
from tests.crash.model import LINES, PAUSE_S, PERSONA, SPRITE, expected, lined_model
from tests.crash.process import BotProcess

CHANNEL = "general"
USER = "mika"
SETTLE_S = 30.0
WORLD = {
    "bot": {"name": PERSONA},
    "guilds": [{"name": "Stage", "members": [USER], "channels": [CHANNEL]}],
}


@dataclass(frozen=True, slots=True)
class Round:
    """What was in the channel after a kill and a restart."""

    question: str
    killed_after: int
    """So many messages, and a moment."""
    told: tuple[str, ...]
    reported: bool

    @property
    def is_over(self) -> bool:
        return self.reported or len(self.told) >= LINES

    @property
    def problem(self) -> str | None:
        """What is wrong, or None: every message exactly once and in order, or it is told."""
        whole = expected(self.question)
        if list(self.told) != whole[: len(self.told)]:
            return f"{self.question}: {list(self.told)} does not begin {whole}"
        if len(self.told) < len(whole) and not self.reported:
            return f"{self.question}: only {len(self.told)} of {len(whole)} lines, and no word"
        return None


async def crash_rounds(
    folder: Path, database_url: str | None, kills: int, seed: int
) -> list[Round]:
    """So many questions, each with a kill somewhere in its answer."""
    chance = random.Random(seed)
    settings = Settings(rate_limits=False)
    async with Stage(WORLD, settings) as stage, lined_model() as model_url:
        database_url = database_url or f"sqlite:///{folder / 'bot.db'}"
        await _give_faces(stage, database_url, folder)
        environ = _environ(folder, stage, model_url, database_url)
        rounds = []
        bot = await BotProcess.started(environ, folder / "bot.log")
        try:
            for number in range(1, kills + 1):
                question = f"question {number}"
                asked = stage.people.post(CHANNEL, f"<@{stage.world.bot.id}> {question}", user=USER)
                if chance.random() < 0.5:
                    _slow_answers(stage, chance)
                lines = chance.randint(0, LINES)
                await _until_told(stage, asked, question, lines)
                await asyncio.sleep(chance.uniform(0, 2 * PAUSE_S))
                await bot.kill()
                stage.faults.clear()
                bot = await BotProcess.started(environ, folder / "bot.log")
                rounds.append(await _look(stage, asked, question, lines))
        finally:
            await bot.kill()
        return rounds


def _environ(folder: Path, stage: Stage, model_url: str, database_url: str) -> Mapping[str, str]:
    model = {"provider": "openai", "model": "lines", "base_url": model_url, "api_keys": ["none"]}
    return {
        URL_VARIABLE: stage.url,
        TOKEN_VARIABLE: stage.token,
        "OSHABERI_DISCORD_TOKEN": stage.token,
        "OSHABERI_DATA_DIR": str(folder),
        "OSHABERI_DATABASE_URL": database_url,
        "OSHABERI_MODELS": json.dumps([model]),
        "OSHABERI_HUMANIZER_DEGREE": "1",
    }


async def _give_faces(stage: Stage, database_url: str, folder: Path) -> None:
    """Half of the lines go through a webhook, the other half are the bot's own."""
    server_id = next(iter(stage.world.guilds))
    sprite = SpriteRecord(SPRITE, f"{stage.url}/cdn/{SPRITE}.png")
    vault = Vault.from_environment_or_file(folder / "secret.key")
    async with Database.open(database_url, vault) as db:
        persona = PersonaRecord(server_id, PERSONA, sprites=(sprite,), is_default=True)
        await db.personas.save(persona)


def _slow_answers(stage: Stage, chance: random.Random) -> None:
    """A message is there before the bot hears of it: the worst moment to die."""
    call = chance.randint(1, LINES)
    for route in (SEND, WEBHOOK):
        stage.fault(Fault(kind="delay", route=route, call=call, times=3, after=True, delay_s=0.3))


async def _until_told(stage: Stage, asked: Message, question: str, lines: int) -> None:
    with suppress(StageTimeoutError):
        await stage.wait_for(
            lambda: len(_now(stage, asked, question, lines).told) >= lines, timeout_s=SETTLE_S
        )


async def _look(stage: Stage, asked: Message, question: str, lines: int) -> Round:
    """When nothing more is to come: the answer is whole, or the bot said that it is not."""
    with suppress(StageTimeoutError):  # then the round itself tells what is missing
        await stage.wait_for(
            lambda: _now(stage, asked, question, lines).is_over, timeout_s=SETTLE_S
        )
    await stage.settled()
    return _now(stage, asked, question, lines)


def _now(stage: Stage, asked: Message, question: str, lines: int) -> Round:
    later = [one for one in stage.world.history(CHANNEL) if one.id > asked.id]
    told = tuple(one.content for one in later if _is_line(one.content))
    return Round(question, lines, told, any(one.embeds for one in later))


def _is_line(content: str) -> bool:
    return re.fullmatch(r"question \d+ line \d+", content) is not None
