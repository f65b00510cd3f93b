"""A stage, a logged-in client and its client state; plays streams into its channels."""

from __future__ import annotations

import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import discord

from discord_stage import Settings, Stage, StageMessage
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import logged_in, staged
from oshaberi.chunks import Chunk
from oshaberi.discord_io import BanGuard, ClientState, MentionPolicy, RequestTrace
from oshaberi.events import Table
from oshaberi.render.grid import Picture
from oshaberi.stream import (
    ScriptedProvider,
    Step,
    StopRegistry,
    StreamConfig,
    StreamContext,
    StreamResult,
    stream_to_sink,
)
from oshaberi.text.config import TextConfig

SPEED = 10.0
"""How much faster than the wall the loop runs: the waits of a retry are real ones."""
QUICK: dict[str, Any] = {
    "base_type_speed_ms_per_char": 0,
    "min_visible_typing_duration_ms": 1,
    "max_typing_time_ms": 2,
    "min_random_pause_ms": 0,
    "max_random_pause_ms": 1,
}


class SinkClient(discord.Client):
    """Does nothing but notice what arrives."""

    client_state: ClientState

    def __init__(
        self,
        intents: discord.Intents | None = None,
        *,
        watched: bool = True,
        guard: BanGuard | None = None,
    ) -> None:
        options: dict[str, Any] = {"http_trace": RequestTrace(guard)} if watched else {}
        wanted = intents or discord.Intents.all()
        super().__init__(intents=wanted, guild_ready_timeout=0.1, **options)

    async def setup_hook(self) -> None:
        self.client_state = ClientState(self)

    async def on_message(self, message: discord.Message) -> None:
        await self.client_state.on_message(message)


class TinyRenderer:
    """Draws one real pixel per table."""

    def pictures(self, _table: Table) -> list[Picture]:
        return [Picture(tiny_png(), 1, 1)]

    def alt_text(self, table: Table) -> str:
        return "; ".join(", ".join(row) for row in (table.header, *table.rows))

    def as_code(self, table: Table, _max_length: int) -> list[str]:
        return [f"```\n{table.source}\n```"]


def tiny_png() -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(b"\0\xff\x80\0"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + pixels + chunk(b"IEND", b"")


@dataclass
class SinkHarness:
    """Everything a test needs."""

    stage: Stage
    bot: SinkClient

    def channel(self, name: str) -> Any:
        """discord.py's own object; a DM by the user's name with an @."""
        found = self.bot.get_channel(self.stage.world.channel(name).id)
        assert found is not None, name
        return found

    async def asked(self, name: str, text: str, user: str = "mika") -> discord.Message:
        """Somebody writes; the message as the bot gets it."""
        posted = self.stage.people.post(name, text, user=user)
        there: discord.Message = await self.channel(name).fetch_message(posted.id)
        return there

    def messages(self, name: str) -> list[StageMessage]:
        """What the bot and its webhooks wrote there."""
        place = self.stage.world.channel(name)
        bot_id = self.stage.world.bot.id
        there = self.stage.world.history(place.id)
        return [m for m in there if m.author_id == bot_id or m.webhook_id is not None]

    def contents(self, name: str) -> list[str]:
        return [message.content for message in self.messages(name)]

    async def play(
        self,
        channel: Any,
        *steps: str | Step,
        degree: int = 1,
        answering: discord.Message | None = None,
        mentions: MentionPolicy | None = None,
        text: Mapping[str, Any] | None = None,
        stops: StopRegistry | None = None,
        **settings: Any,
    ) -> StreamResult:
        place = self.channel(channel) if isinstance(channel, str) else channel
        stops = stops or StopRegistry()
        key = str(place.id)
        script = [Chunk("text", step) if isinstance(step, str) else step for step in steps]
        provider = ScriptedProvider(script, stops=stops, channel=key)
        words = TextConfig(humanizer_degree=degree, **(text or {}))
        config = StreamConfig(text=words, **(QUICK | settings))
        context = StreamContext(
            channel=key, reply_to=answering is not None, stops=stops, renderer=TinyRenderer()
        )
        sink = self.bot.client_state.sink(place, answering, mentions)
        result = await stream_to_sink(provider, None, config, context, sink)
        assert result.ledger.problems() == []
        return result


@asynccontextmanager
async def sink_harness(
    world: Mapping[str, object] | None = None,
    settings: Settings | None = None,
    intents: discord.Intents | None = None,
    *,
    watched: bool = True,
    guard: BanGuard | None = None,
) -> AsyncIterator[SinkHarness]:
    bot = SinkClient(intents, watched=watched, guard=guard)
    async with staged(world, settings) as stage, logged_in(stage, bot):
        try:
            yield SinkHarness(stage, bot)
        finally:
            await bot.client_state.close()


def run_with_sinks(
    scenario: Callable[[SinkHarness], Awaitable[None]],
    *,
    world: Mapping[str, object] | None = None,
    settings: Settings | None = None,
    intents: discord.Intents | None = None,
    watched: bool = True,
    guard: BanGuard | None = None,
    speed: float = SPEED,
) -> None:
    async def main() -> None:
        async with sink_harness(world, settings, intents, watched=watched, guard=guard) as harness:
            await scenario(harness)

    run_scaled(main(), speed)


def guild(*channels: object, **more: object) -> dict[str, object]:
    """A world of one guild."""
    described: dict[str, object] = {
        "name": "Stage",
        "members": ["mika", "ren"],
        "channels": list(channels),
    }
    return {"guilds": [described | more]}


def words(messages: Iterable[StageMessage]) -> list[str]:
    """Every line that can be read there, in order; a picture reads as its alt text."""
    lines: list[str] = []
    for message in messages:
        lines += message.content.splitlines()
        lines += [file.description or "" for file in message.attachments]
    return lines
