"""A whole Discord in memory: one bot, its guilds, channels, people and everything they wrote.

`find_*` methods are for requests and refuse with Discord's code; `user`, `channel` and `guild` are
for tests and take a name or an id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Protocol, TypeVar

from discord_stage.errors import StageError
from discord_stage.refusals import refusal
from discord_stage.world import permissions
from discord_stage.world.description import DEFAULT, read_description
from discord_stage.world.ids import Snowflakes
from discord_stage.world.records import (
    LINES_OF_DISCORD,
    THREADS,
    Application,
    Attachment,
    Channel,
    ChannelType,
    Command,
    Emoji,
    Guild,
    Interaction,
    Role,
    StageMessage,
    User,
    Webhook,
)

Key = int | str
"""A name or an id, by which tests name users, channels and so on."""


class NamedRecord(Protocol):
    id: int
    name: str


N = TypeVar("N", bound=NamedRecord)


class World:
    """A world, made by `World.described(...)`. You can inspect it after its stage has closed."""

    def __init__(self, application: Application, snowflakes: Snowflakes) -> None:
        self.application = application
        self.snowflakes = snowflakes
        self.users: dict[int, User] = {application.user.id: application.user}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.messages: dict[int, dict[int, StageMessage]] = {}
        self.webhooks: dict[int, Webhook] = {}
        self.commands: dict[int, Command] = {}
        self.interactions: dict[int, Interaction] = {}
        self.attachments: dict[int, Attachment] = {}
        self.pictures: dict[str, bytes] = {}
        """Avatars and banners of members, by the hash that Discord shows."""
        self.application_emojis: dict[int, Emoji] = {}

    @classmethod
    def described(
        cls, description: Mapping[str, object] | None = None, *, founded: datetime | None = None
    ) -> World:
        """Build a world from its description, or a small one. Raises WorldError.

        With a date in `founded`, the same description always gets the same ids.
        """
        found = read_description(description, founded)
        world = cls(found.application, found.snowflakes)
        world.users |= found.users
        world.guilds |= found.guilds
        world.channels |= found.channels
        return world

    @staticmethod
    def default_description() -> Mapping[str, object]:
        """Return the description of the small world, to start your own from."""
        return DEFAULT

    @property
    def bot(self) -> User:
        return self.application.user

    def user(self, key: Key) -> User:
        return _pick("user", key, self.users.values())

    def guild(self, key: Key) -> Guild:
        return _pick("guild", key, self.guilds.values())

    def channel(self, key: Key) -> Channel:
        return _pick("channel", key, self.channels.values())

    def role(self, key: Key) -> Role:
        return _pick("role", key, [r for g in self.guilds.values() for r in g.roles.values()])

    def history(self, channel: Key) -> list[StageMessage]:
        """Return a channel's messages, oldest first, without ephemeral answers."""
        messages = self.messages.get(self.channel(channel).id, {})
        return [message for message in messages.values() if message.ephemeral_to is None]

    def contents(self, channel: Key) -> list[str]:
        """Return the texts that were written there, without Discord's own messages."""
        written = [m for m in self.history(channel) if m.type not in LINES_OF_DISCORD]
        return [message.content for message in written]

    def find_guild(self, guild_id: int) -> Guild:
        guild = self.guilds.get(guild_id)
        if guild is None:
            raise refusal(10004)
        return guild

    def find_channel(self, channel_id: int) -> Channel:
        channel = self.channels.get(channel_id)
        if channel is None:
            raise refusal(10003)
        return channel

    def find_message(
        self, channel_id: int, message_id: int, *, ephemeral: bool = False
    ) -> StageMessage:
        """Find a message. An ephemeral one is found only through its interaction."""
        message = self.messages.get(channel_id, {}).get(message_id)
        if message is None or (message.ephemeral_to is not None and not ephemeral):
            raise refusal(10008)
        return message

    def find_user(self, user_id: int) -> User:
        user = self.users.get(user_id)
        if user is None:
            raise refusal(10013)
        return user

    def find_webhook(self, webhook_id: int, token: str | None = None) -> Webhook:
        webhook = self.webhooks.get(webhook_id)
        if webhook is None:
            raise refusal(10015)
        if token is not None and token != webhook.token:
            raise refusal(50027)
        return webhook

    def guild_of(self, channel: Channel) -> Guild | None:
        return None if channel.guild_id is None else self.guilds[channel.guild_id]

    def permissions_of(self, user_id: int, channel: Channel) -> int:
        """Return permissions. Threads use their parent's; a DM's two users have all."""
        guild = self.guild_of(channel)
        if guild is None:
            return permissions.ALL if user_id in (self.bot.id, channel.recipient_id) else 0
        place = self.channels.get(channel.parent_id or 0) if channel.thread else channel
        granted = permissions.in_channel(guild, place or channel, user_id)
        return granted if self._sees_thread(user_id, channel, granted) else 0

    def guild_permissions(self, guild: Guild, user_id: int) -> int:
        return permissions.in_guild(guild, user_id)

    def _sees_thread(self, user_id: int, channel: Channel, granted: int) -> bool:
        if channel.type is not ChannelType.PRIVATE_THREAD or channel.thread is None:
            return True
        moderates = bool(granted & permissions.Permission.MANAGE_THREADS)
        return moderates or user_id in channel.thread.members

    def threads_of(self, parent_id: int) -> list[Channel]:
        return [
            channel
            for channel in self.channels.values()
            if channel.type in THREADS and channel.parent_id == parent_id
        ]

    def dm_with(self, user_id: int) -> Channel:
        """Return the bot's DM with a user. It is created when first needed."""
        for channel in self.channels.values():
            if channel.type is ChannelType.DM and channel.recipient_id == user_id:
                return channel
        name = self.users[user_id].name
        channel = Channel(self.snowflakes.new(), ChannelType.DM, f"@{name}", recipient_id=user_id)
        self.channels[channel.id] = channel
        return channel

    def share_guild(self, user_id: int) -> bool:
        return any(user_id in guild.members for guild in self.guilds.values())


def _pick(kind: str, key: Key, items: Iterable[N]) -> N:
    found = [item for item in items if key in (item.id, item.name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise StageError(f"{len(found)} {kind}s are called {key!r}: say which by its id")
    raise StageError(f"this world has no {kind} {key!r}")
