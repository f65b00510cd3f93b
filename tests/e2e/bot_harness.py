"""Puts the whole bot on a stage: `bot_harness(...)` runs one, `run_with_bot(...)` is a whole test.

The bot is what `oshaberi run` runs: settings as `config.load` reads them from variables, a data
folder of its own, models that speak their wire formats on loopback.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from discord_stage import Settings as StageSettings
from discord_stage import Stage
from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Say, Step
from discord_stage.model_servers.wire_format import WireFormat
from discord_stage.scaled_loop import run_scaled, scale_of
from discord_stage.testing import staged
from discord_stage.world.records import LINES_OF_DISCORD, Interaction, StageMessage
from oshaberi.bot.config import LoadedSettings, load
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.wiring.bot_wiring import Bot, open_bot
from oshaberi.clocks import utc_now
from oshaberi.errors import ConfigError
from tests.bot.client_harness import MEMBER, OWNER, world
from tests.e2e.model_question import ModelQuestion
from tests.storage.migrated_database import place_database

QUICK: Mapping[str, object] = {
    "humanizer_degree": 1,
    "reply_mode": "first",
    "burst_wait_ms": 0,
    "base_type_speed_ms_per_char": 0,
    "min_visible_typing_duration_ms": 0,
    "max_typing_time_ms": 0,
    "min_random_pause_ms": 0,
    "max_random_pause_ms": 0,
}
FAST = StageSettings(time_scale=200.0, interaction_s=60.0)
READY_S = 60.0
PATIENCE_S = 60.0
"""Of the wall: a busy machine is no fault of the bot's."""
KEY = "sk-of-whoever-runs-the-bot-0001"
PERSONA = {"name": "Oshaberi", "prompt": "You love tea."}

Answer = str | Step | Sequence[Step]
"""A text, a step or the steps of one answer."""


def script(answer: Answer) -> tuple[Step, ...]:
    if isinstance(answer, Step):
        return (answer,)
    return (Say(answer),) if isinstance(answer, str) else tuple(answer)


MENTION = "the bot was mentioned"
"""The usual reason of *Why this turn*."""


class MovableClock:
    """The wall clock of a bot, which a test can set ahead."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.ahead


class BotHarness:
    """A bot among people, and the models it asks."""

    def __init__(
        self,
        stage: Stage,
        bot: Bot,
        models: Sequence[ModelServer],
        settings: LoadedSettings,
        clock: MovableClock | None = None,
    ) -> None:
        self.clock = clock or MovableClock()
        self.stage = stage
        self.bot = bot
        self.models = models
        self.settings = settings

    @property
    def db(self) -> Database:
        return self.bot.db

    @property
    def model(self) -> ModelServer:
        return self.models[0]

    @property
    def server_id(self) -> int:
        return next(iter(self.stage.world.guilds))

    def id_of(self, channel: str) -> int:
        return self.stage.world.channel(channel).id

    # -- people ----------------------------------------------------------------------------------

    def post(
        self, text: str, *, user: str = MEMBER, channel: str | int = "general", **more: Any
    ) -> int:
        """Somebody writes; the message's id."""
        return self.stage.people.post(channel, text, user=user, **more).id

    def ask(self, text: str, **more: Any) -> int:
        """Somebody mentions the bot."""
        return self.post(f"<@{self.stage.world.bot.id}> {text}", **more)

    async def run(
        self,
        command: str,
        options: Mapping[str, object] | None = None,
        *,
        user: str = OWNER,
        channel: str | int = "general",
    ) -> str:
        """A slash command and its answer, which only the one who asked may see."""
        asked = self.stage.people.run(command, options, user=user, channel=channel)
        return await self.private(asked)

    async def confirmed(
        self, command: str, options: Mapping[str, object] | None = None, *, user: str = OWNER
    ) -> str:
        """A command that asks first, and what it says when its button was pressed."""
        asked = self.stage.people.run(command, options, user=user, channel="general")
        await self.private(asked)
        message = self._reply(asked)
        assert message is not None
        question = message.content
        label = message.components[0]["components"][0]["label"]
        self.stage.people.press(message, label, user=user)
        await self.wait_for(lambda: message.content != question)
        return message.content

    async def choose(self, entry: str, message: int, *, user: str = OWNER) -> str:
        return await self.private(self.stage.people.choose(entry, message, user=user))

    async def form(
        self, command: str, options: Mapping[str, object], values: Mapping[str, str]
    ) -> str:
        """A command that opens a form, filled in."""
        asked = self.stage.people.run(command, options, user=OWNER, channel="general")
        await self.wait_for(lambda: asked.modal)
        return await self.private(self.stage.people.submit(asked, values))

    async def private(self, asked: Interaction) -> str:
        await self.wait_for(lambda: self._reply(asked) is not None)
        message = self._reply(asked)
        assert message is not None
        assert message.ephemeral_to == asked.user_id
        embeds = [str(embed.get("description")) for embed in message.embeds]
        return "\n".join(filter(None, [message.content, *embeds]))

    def _reply(self, asked: Interaction) -> StageMessage | None:
        said = self.stage.world.messages.get(asked.channel_id, {}).get(asked.original_id or 0)
        return said if said is not None and (said.content or said.embeds) else None

    # -- what the bot did ------------------------------------------------------------------------

    async def wait_for(self, predicate: Callable[[], object]) -> None:
        await self.stage.wait_for(predicate, PATIENCE_S)

    async def idle(self) -> None:
        """Until nothing runs or waits any more."""
        async with asyncio.timeout(PATIENCE_S * scale_of(asyncio.get_running_loop())):
            await self.bot.channel_turns.idle()

    def ours(self, channel: str | int = "general") -> list[StageMessage]:
        """What the bot wrote, under whatever name."""
        people = {user.id for user in self.stage.world.users.values() if not user.bot}
        written = [m for m in self.stage.world.history(channel) if m.type not in LINES_OF_DISCORD]
        return [m for m in written if m.author_id not in people]

    def said(self, channel: str | int = "general") -> list[str]:
        return [message.content for message in self.ours(channel)]

    async def says(self, *texts: str, channel: str | int = "general") -> list[StageMessage]:
        """Wait until the bot has said this there, and nothing else."""
        try:
            await self.wait_for(lambda: self.said(channel) == list(texts))
        except TimeoutError:
            assert self.said(channel) == list(texts)
        await self.idle()
        assert self.said(channel) == list(texts)
        return self.ours(channel)

    def notices(self, channel: str = "general") -> list[str]:
        """The titles of embeds."""
        return [str(e.get("title")) for m in self.ours(channel) for e in m.embeds]

    def asked(self, number: int = -1, model: int = 0) -> ModelQuestion:
        return ModelQuestion(self.models[model].requests[number])

    async def asked_times(self, count: int, model: int = 0) -> None:
        await self.wait_for(lambda: len(self.models[model].requests) >= count)

    def reactions(self, message_id: int, channel: str = "general") -> list[str]:
        message = self.stage.world.messages[self.id_of(channel)][message_id]
        return [one.name for one in message.reactions if one.users]

    # -- what is stored --------------------------------------------------------------------------

    async def persona(self, name: str, **more: Any) -> PersonaRecord:
        return await self.db.personas.save(PersonaRecord(self.server_id, name, **more))


async def whys(here: BotHarness, *expected: tuple[int, str]) -> None:
    """What *Why this turn* says about messages. How many seconds passed is the machine's affair."""
    told = [await here.choose("Why this turn", one) for one, _ in expected]
    assert [re.sub(r"\d+ s ago", "N s ago", words) for words in told] == [
        f"Because {why}." for _, why in expected
    ]


BotScenario = Callable[[BotHarness], Awaitable[None]]


def settings_of(folder: Path, environ: Mapping[str, str], **given: object) -> LoadedSettings:
    """As they would be read from the environment."""
    told = {f"OSHABERI_{key.upper()}": _told(value) for key, value in given.items()}
    return load(None, {"HOME": str(folder), "OSHABERI_DATA_DIR": str(folder), **told, **environ})


def _told(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def links(
    servers: Sequence[ModelServer],
    keys: Sequence[Sequence[str]] = (),
    price: Mapping[str, float] | None = None,
) -> list[dict[str, object]]:
    """The chain of models: one per server."""
    return [
        ({} if price is None else {"price": price})
        | {
            "provider": server.wire.name,
            "model": f"model-{number}",
            "base_url": server.url,
            "api_keys": list(keys[number]) if number < len(keys) else [KEY],
        }
        for number, server in enumerate(servers)
    ]


@asynccontextmanager
async def serving(settings: LoadedSettings, stage: Stage, **options: Any) -> AsyncIterator[Bot]:
    """The bot, connected and ready; closed in order at the end."""
    ready = asyncio.Event()
    options = {"guild_ready_timeout": 0.1, **options}
    async with open_bot(settings, {}, on_ready=ready.set, **options) as bot:
        task = asyncio.create_task(bot.client.serve(stage.token))
        try:
            await _ready(ready, task)
            yield bot
        finally:
            await bot.channel_turns.shutdown(1.0)
            left = await bot.db.journal.unfinished(settings.instance)
            await bot.client.close()
            task.cancel()
            with suppress(asyncio.CancelledError, ConfigError):
                await task
    assert left == (), "a turn that ended stands in the journal"


async def _ready(ready: asyncio.Event, task: asyncio.Task[None]) -> None:
    waiting = asyncio.create_task(ready.wait())
    done, _ = await asyncio.wait(
        {waiting, task},
        timeout=READY_S * scale_of(asyncio.get_running_loop()),
        return_when=asyncio.FIRST_COMPLETED,
    )
    waiting.cancel()
    if task in done:
        task.result()
    assert waiting in done, "the bot was not ready in time"


@asynccontextmanager
async def prepared(
    *answers: Answer,
    described: Mapping[str, object] | None = None,
    wires: Sequence[WireFormat] | None = None,
    scripts: Sequence[Sequence[Answer]] = (),
    keys: Sequence[Sequence[str]] = (),
    folder: Path | None = None,
    chain: int | None = None,
    **given: object,
) -> AsyncIterator[tuple[Stage, list[ModelServer], LoadedSettings]]:
    """A stage, models and the settings of a bot that is not running yet.

    `answers` are those of the first model, `scripts` those of the others. `chain` is how many of
    them the settings know.
    """
    async with AsyncExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place_database(place / "oshaberi.db")
        servers = [
            await stack.enter_async_context(ModelServer(wire, *map(script, said)))
            for wire, said in zip(
                wires or [OpenAIWire() for _ in range(1 + len(scripts))],
                [answers, *scripts],
                strict=True,
            )
        ]
        stage = await stack.enter_async_context(staged(described or world(), FAST))
        chosen = {**QUICK, "persona": PERSONA, "models": links(servers[:chain], keys), **given}
        yield stage, servers, settings_of(place, {}, **chosen)


@asynccontextmanager
async def bot_harness(*answers: Answer, **options: Any) -> AsyncIterator[BotHarness]:
    """A running bot; the options are those of `prepared`."""
    clock = MovableClock()
    async with (
        prepared(*answers, **options) as (stage, servers, settings),
        serving(settings, stage, clock=clock) as bot,
    ):
        yield BotHarness(stage, bot, servers, settings, clock)


def run_lives(scenarios: Sequence[BotScenario], *answers: Answer, **options: Any) -> None:
    """One scenario after the other on the same stage; the bot is started anew for each."""

    async def main() -> None:
        async with prepared(*answers, **options) as (stage, servers, settings):
            clock = MovableClock()
            for scenario in scenarios:
                async with serving(settings, stage, clock=clock) as bot:
                    await scenario(BotHarness(stage, bot, servers, settings, clock))

    run_scaled(main(), 1.0)


def run_with_bot(
    scenario: BotScenario, *answers: Answer, speed: float = 1.0, **options: Any
) -> None:
    """One scenario from beginning to end. `speed` is for what discord.py itself waits for."""

    async def main() -> None:
        async with bot_harness(*answers, **options) as found:
            await scenario(found)

    run_scaled(main(), speed)
