"""Finds what an interaction names (people, roles, channels, files) and collects its `resolved`."""

from __future__ import annotations

import mimetypes
from collections.abc import Collection
from dataclasses import dataclass, field

from discord_stage.errors import StageError
from discord_stage.payloads import message_payloads, record_payloads
from discord_stage.payloads.attachment_urls import AttachmentUrls
from discord_stage.world.records import Attachment, Guild, Json, StageMessage, User
from discord_stage.world.world_state import Key, World


@dataclass(frozen=True, slots=True)
class PostedFile:
    """A file that somebody attaches, with its alt text."""

    name: str
    content: bytes = field(repr=False)
    alt: str | None = None


class ResolvedTargets:
    """Looks up targets. Each method returns the id and notes the target for `resolved`.

    `guild` is where it happens, if in a guild. `user_id` is the user who acts: a channel is sent
    with their permissions in it.
    """

    def __init__(
        self, world: World, urls: AttachmentUrls, guild: Guild | None, user_id: int
    ) -> None:
        self._world = world
        self._user_id = user_id
        self._urls = urls
        self._guild = guild
        self.found: Json = {}
        """The targets as Discord sends them; empty if none was named."""

    def _note(self, kind: str, number: int, shown: Json) -> str:
        self.found.setdefault(kind, {})[str(number)] = shown
        return str(number)

    def user(self, key: Key) -> str:
        user = self._world.user(key)
        member = self._membership(user)
        if member is not None:
            self._note("members", user.id, member)
        return self._note("users", user.id, record_payloads.user(user))

    def _membership(self, user: User) -> Json | None:
        guilds = self._world.guilds.values() if self._guild is None else [self._guild]
        for guild in guilds:
            if user.id in guild.members:
                member = record_payloads.member(guild.members[user.id], with_user=False)
                return member | {"permissions": str(self._world.guild_permissions(guild, user.id))}
        return None

    def role(self, key: Key) -> str:
        role = self._world.role(key)
        return self._note("roles", role.id, record_payloads.role(role))

    def user_or_role(self, key: Key) -> str:
        try:
            return self.user(key)
        except StageError:
            return self.role(key)

    def channel(self, key: Key, types: Collection[int] = ()) -> str:
        channel = self._world.channel(key)
        if types and channel.type not in types:
            wanted = ", ".join(str(kind) for kind in types)
            raise StageError(f"#{channel.name} is of type {int(channel.type)}, not {wanted}")
        granted = self._world.permissions_of(self._user_id, channel)
        shown = record_payloads.channel(self._world, channel) | {"permissions": str(granted)}
        return self._note("channels", channel.id, shown)

    def message(self, item: StageMessage) -> str:
        shown = message_payloads.message(self._world, item, self._urls)
        return self._note("messages", item.id, shown)

    def file(self, file: PostedFile) -> str:
        """Store a file, so that the bot can fetch it, and return its id."""
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        number = self._world.snowflakes.new()
        item = Attachment(number, file.name, file.content, kind, file.alt)
        self._world.attachments[item.id] = item
        return self._note("attachments", item.id, message_payloads.attachment(0, item, self._urls))
