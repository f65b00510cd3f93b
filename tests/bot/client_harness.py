"""The bot's client on a stage, with a real database, and people who give it commands."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import discord

from discord_stage import Settings as StageSettings
from discord_stage import Stage
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import logged_in, staged
from discord_stage.world.records import Interaction, StageMessage
from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.commands import bot_command_tree
from oshaberi.bot.config import LoadedSettings, effective
from oshaberi.bot.conversation.messages import ChannelPath, IncomingMessage, TurnChannel
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.faces.kept_pictures import Faces
from oshaberi.bot.faces.own_face import OwnFaces
from oshaberi.bot.faces.pictures import LARGEST_BYTES
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.picture_files import PictureFiles
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.channel_queue import Arrival
from oshaberi.bot.turns.admission.rules import UnaddressedMessage
from oshaberi.bot.turns.channel_turns import ChannelTurns
from oshaberi.bot.turns.services.adapter_pool import AdapterPool
from oshaberi.bot.turns.services.model_access import NOBODY_YET, OperatorChoices, OperatorModel
from oshaberi.public_fetching import PublicWeb
from tests.storage.migrated_database import database_url
from tests.turns.shared_services import SwitchedSettings, shared_services

SPEED = 5.0
FAST = StageSettings(time_scale=100.0, interaction_s=60.0)
"""On a loop that runs faster, a slow import must not count as a slow answer."""
OWNER, ADMIN, MODERATOR, MEMBER = "mika", "kei", "aya", "ren"


def world(*channels: object, **more: object) -> dict[str, object]:
    """One server: mika owns it and the bot, kei manages the server, aya its messages."""
    guild: dict[str, object] = {
        "name": "Stage",
        "roles": [
            {"name": "admins", "permissions": ["manage_guild"]},
            {"name": "mods", "permissions": ["manage_messages"]},
        ],
        "members": [
            OWNER,
            {"name": ADMIN, "roles": ["admins"]},
            {"name": MODERATOR, "roles": ["mods"]},
            {"name": MEMBER, "display_name": "Ren", "nick": "Renny"},
        ],
        "channels": list(channels) or ["general", "logs"],
        "emojis": ["wave"],
    }
    return {"bot": {"name": "Oshaberi"}, "guilds": [guild | more]}


class NotedChannelTurns(ChannelTurns):
    """Real ones that also note what they were given. `answering` off: nobody says anything."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self.heard: list[tuple[IncomingMessage, TurnChannel]] = []
        self.ignored: list[tuple[int, str]] = []
        """Messages that were not for the bot, and why."""
        self.answering = True

    async def submit(
        self,
        incoming: IncomingMessage,
        turn_channel: TurnChannel,
        arrival: Arrival = "new",
        stored_why: str = "",
    ) -> str:
        self.heard.append((incoming, turn_channel))
        if not self.answering:
            return "noted"
        return await super().submit(incoming, turn_channel, arrival, stored_why)

    async def why_ignored(self, message: UnaddressedMessage) -> str | None:
        reason = await super().why_ignored(message) if self.answering else None
        if reason is not None:
            self.ignored.append((message.id, reason))
        return reason


class ClientHarness:
    """Everything a test needs."""

    def __init__(
        self, stage: Stage, client: OshaberiClient, channel_turns: NotedChannelTurns
    ) -> None:
        self.stage = stage
        self.client = client
        self.channel_turns = channel_turns

    @property
    def db(self) -> Database:
        return self.client.context.db

    @property
    def server_id(self) -> int:
        return next(iter(self.stage.world.guilds))

    def id_of(self, channel: str) -> int:
        return self.stage.world.channel(channel).id

    def channel(self, name: str = "general") -> Any:
        found = self.client.get_channel(self.id_of(name))
        assert found is not None, name
        return found

    def turn_channel(
        self, name: str = "general", message: discord.Message | None = None
    ) -> DiscordTurnChannel:
        return self.client.turn_channel(self.channel(name), message)

    async def heard(self, count: int) -> list[IncomingMessage]:
        await self.stage.wait_for(lambda: len(self.channel_turns.heard) >= count)
        return [incoming for incoming, _turn_channel in self.channel_turns.heard]

    async def answer(self, asked: Interaction) -> StageMessage:
        """What the bot said to it, once it is there in full."""
        await self.stage.wait_for(lambda: self._answer(asked) is not None)
        said = self._answer(asked)
        assert said is not None
        return said

    async def run(
        self,
        command: str,
        options: Mapping[str, object] | None = None,
        *,
        user: str = OWNER,
        channel: str = "general",
    ) -> str:
        """A command's answer, which must be for the one who asked alone."""
        asked = self.stage.people.run(command, options, user=user, channel=channel)
        return await self.private(asked)

    async def confirmed(
        self,
        command: str,
        options: Mapping[str, object] | None = None,
        *,
        user: str = OWNER,
        button: str = "Delete",
    ) -> str:
        """A command that asks first, and what stands in the place of its question afterwards."""
        asked = self.stage.people.run(command, options, user=user, channel="general")
        message = await self.answer(asked)
        assert "cannot be undone" in message.content
        labels = [part["label"] for row in message.components for part in row["components"]]
        label = next(label for label in labels if label.startswith(button))
        self.stage.people.press(message, label, user=user)
        await self.stage.wait_for(lambda: "cannot be undone" not in message.content)
        assert not message.components
        return message.content

    async def choose(self, entry: str, message: int, *, user: str = OWNER) -> str:
        return await self.private(self.stage.people.choose(entry, message, user=user))

    async def private(self, asked: Interaction) -> str:
        message = await self.answer(asked)
        assert message.ephemeral_to == asked.user_id
        assert not message.mentions
        embeds = [str(embed.get("description")) for embed in message.embeds]
        return "\n".join(filter(None, [message.content, *embeds]))

    async def form(
        self,
        command: str,
        options: Mapping[str, object],
        values: Mapping[str, str],
        *,
        user: str = OWNER,
    ) -> str:
        """A command that opens a form, filled in."""
        asked = self.stage.people.run(command, options, user=user, channel="general")
        await self.stage.wait_for(lambda: asked.reply)
        assert asked.modal is not None, await self.private(asked)
        return await self.private(self.stage.people.submit(asked, values))

    async def choices(
        self,
        command: str,
        option: str,
        typed: str = "",
        *,
        options: Mapping[str, object] | None = None,
        user: str = OWNER,
    ) -> list[str]:
        """The values that are offered."""
        people = self.stage.people
        asked = people.complete(command, option, typed, options=options, user=user)
        await self.stage.wait_for(lambda: asked.reply)
        return [str(choice["value"]) for choice in asked.choices]

    def _answer(self, asked: Interaction) -> StageMessage | None:
        there = self.stage.world.messages.get(asked.channel_id, {})
        said = there.get(asked.original_id or 0)
        return said if said is not None and (said.content or said.embeds) else None


ClientScenario = Callable[[ClientHarness], Awaitable[None]]


@asynccontextmanager
async def context_of(
    own: LoadedSettings | None = None,
    *,
    models: Sequence[OperatorModel] = (),
    adapters: AdapterPool | None = None,
    persona: PersonaRecord = NOBODY_YET,
    pictures: PublicWeb | None = None,
    answering: bool = False,
    **services: Any,
) -> AsyncIterator[tuple[BotContext, NotedChannelTurns]]:
    own = own or LoadedSettings(turn=TurnConfig(burst_wait_ms=0))
    vault = SecretVault([SecretVault.new_key()])
    with database_url() as url:
        async with Database.open(url, vault) as db:

            async def settings_of(path: ChannelPath) -> EffectiveSettings:
                stored = await db.servers.settings(path.server_id)
                return effective(own, *stored.layers(path.ids))

            pool = AdapterPool() if adapters is None else adapters
            operator = OperatorChoices(tuple(models), persona, own.turn, own.allow_local_models)
            settings = SwitchedSettings(settings_of)
            web = pictures or PublicWeb(max_bytes=LARGEST_BYTES)
            folder = tempfile.TemporaryDirectory()

            async def chosen(server_id: int) -> int:
                return (await settings_of(ChannelPath(server_id, 0))).turn.picture_channel_id

            faces = Faces(db, PictureFiles(Path(folder.name)), web, chosen)
            services.setdefault("usable_faces", faces.usable)
            shared = shared_services(settings, db, operator, pool, **services)
            channel_turns = NotedChannelTurns.over(shared)
            channel_turns.answering = answering
            try:
                own_faces = OwnFaces(db, faces, channel_turns.persona_cache.default_of)
                yield (
                    BotContext(db, channel_turns, shared, faces, own_faces, lambda: own),
                    channel_turns,
                )
                await own_faces.aclose()
            finally:
                await channel_turns.shutdown(0.1)
                await pool.aclose()
                await faces.close()
                folder.cleanup()


@asynccontextmanager
async def client_harness(
    described: Mapping[str, object] | None = None,
    *,
    client: Mapping[str, Any] | None = None,
    settings: StageSettings = FAST,
    **context: Any,
) -> AsyncIterator[ClientHarness]:
    async with (
        context_of(**context) as (place, channel_turns),
        staged(described or world(), settings) as stage,
    ):
        bot = OshaberiClient(place, bot_command_tree, guild_ready_timeout=0.1, **(client or {}))
        async with logged_in(stage, bot):
            yield ClientHarness(stage, bot, channel_turns)


def run_with_client(
    scenario: ClientScenario,
    described: Mapping[str, object] | None = None,
    *,
    speed: float = SPEED,
    **options: Any,
) -> None:
    async def main() -> None:
        async with client_harness(described, **options) as harness:
            await scenario(harness)

    run_scaled(main(), speed)
