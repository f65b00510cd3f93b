"""Reads the short description of a world. An error names its place and its reason."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from discord_stage.world import permissions
from discord_stage.world.described_values import (
    DescribedValue,
    by_name,
    choices,
    fresh_name,
    id_of,
    items_of,
    name_of_node,
    overwrite_of,
    permission_bits,
    texts_of_node,
)
from discord_stage.world.ids import Snowflakes, now_iso
from discord_stage.world.records import (
    NAME_MOST,
    USERNAME_MOST,
    Application,
    Channel,
    ChannelType,
    Emoji,
    ForumTag,
    Guild,
    Member,
    Role,
    ThreadState,
    User,
)

DEFAULT: dict[str, object] = {
    "guilds": [
        {
            "name": "Stage",
            "members": ["mika", "ren"],
            "channels": ["general", "random"],
            "emojis": ["wave"],
        }
    ]
}
PRIVILEGED = ("members", "presences", "message_content")
BOT_NAME = "Stagehand"
BOT_KEYS = frozenset({"name", "token", "intents", "permissions", "id"})
KINDS = {
    "text": ChannelType.TEXT,
    "news": ChannelType.NEWS,
    "voice": ChannelType.VOICE,
    "category": ChannelType.CATEGORY,
    "forum": ChannelType.FORUM,
}
SLOWMODE_MOST_S = 21_600


@dataclass(frozen=True, slots=True)
class DescribedWorld:
    """What a new world begins with."""

    application: Application
    snowflakes: Snowflakes
    users: dict[int, User] = field(default_factory=dict)
    guilds: dict[int, Guild] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)

    @property
    def bot(self) -> User:
        return self.application.user


def read_description(
    description: Mapping[str, object] | None, founded: datetime | None = None
) -> DescribedWorld:
    value = DEFAULT if description is None else dict(description)
    return _WorldBuilder(DescribedValue(value, "world"), Snowflakes(founded)).world


class _WorldBuilder:
    def __init__(self, root: DescribedValue, ids: Snowflakes) -> None:
        self._ids = ids
        self._fixed: set[int] = set()
        fields = root.fields({"bot", "guilds", "users"})
        self.world = DescribedWorld(self._application(fields.get("bot")), self._ids)
        self._bot_permissions = _bot_permissions(fields.get("bot"))
        for entry in fields["users"].items() if "users" in fields else []:
            self._user(entry, set())
        if "guilds" not in fields or not fields["guilds"].items():
            root.fail("describes no guild; give at least one in `guilds`")
        seen: set[str] = set()
        for entry in fields["guilds"].items():
            self._guild(entry, seen)
        ids.begin()

    def _new_id(self, fields: Mapping[str, DescribedValue]) -> int:
        """Return the id that the description sets, or the next free one."""
        fixed = id_of(fields)
        if fixed is None:
            return self._ids.new()
        if fixed in self._fixed:
            fields["id"].fail(f"{fixed} is there twice")
        self._fixed.add(fixed)
        return fixed

    def _application(self, node: DescribedValue | None) -> Application:
        fields = node.fields(BOT_KEYS) if node else {}
        name = name_of_node(fields["name"], USERNAME_MOST) if "name" in fields else BOT_NAME
        token = fields["token"].text() if "token" in fields else ""
        intents = choices(fields.get("intents"), PRIVILEGED, PRIVILEGED)
        user = User(self._new_id(fields), name, bot=True)
        token = token or _token(user.id)
        return Application(user.id, user, token, user.id, frozenset(intents))

    def _guild(self, node: DescribedValue, seen: set[str]) -> None:
        allowed = {"name", "owner", "everyone", "roles", "members", "channels", "emojis"}
        allowed |= {"automod", "harmful_links", "id", "system_channel", "locale"}
        fields = node.fields(allowed, ("name", "members", "channels"))
        name = fresh_name(fields["name"], seen, NAME_MOST)
        guild = Guild(self._new_id(fields), name, 0)
        guild.automod_words = texts_of_node(fields.get("automod"))
        guild.harmful_links = texts_of_node(fields.get("harmful_links"))
        if "locale" in fields:
            guild.changed["preferred_locale"] = fields["locale"].text()
        self._roles(guild, fields)
        self._members(guild, fields["members"], fields.get("owner"))
        self._emojis(guild, fields.get("emojis"))
        self.world.guilds[guild.id] = guild
        names: set[str] = set()
        for position, entry in enumerate(fields["channels"].items()):
            self._channel(guild, entry, position, names)
        self._system_channel(guild, fields.get("system_channel"))

    def _system_channel(self, guild: Guild, node: DescribedValue | None) -> None:
        """Set where Discord announces joins: the first text channel, another, or (null) none."""
        own = {c.id: c for c in self.world.channels.values() if c.guild_id == guild.id}
        texts = {number: c for number, c in own.items() if c.type == ChannelType.TEXT}
        if node is None:
            chosen = next(iter(texts.values()), None)
        else:
            chosen = None if node.value is None else by_name(texts, node, "text channel")
        if chosen is not None:
            guild.changed["system_channel_id"] = str(chosen.id)

    def _roles(self, guild: Guild, fields: Mapping[str, DescribedValue]) -> None:
        everyone = permission_bits(fields.get("everyone"), permissions.EVERYONE)
        guild.roles[guild.id] = Role(guild.id, "@everyone", everyone, 0)
        seen = {"@everyone"}
        for position, node in enumerate(items_of(fields.get("roles")), 1):
            entry = node.fields({"name", "permissions", "color", "mentionable", "id"}, ("name",))
            role = Role(
                self._new_id(entry),
                fresh_name(entry["name"], seen, NAME_MOST),
                permission_bits(entry.get("permissions"), permissions.Permission(0)),
                position,
                entry["color"].whole(0, 0xFFFFFF) if "color" in entry else 0,
                "mentionable" in entry and entry["mentionable"].flag(),
            )
            guild.roles[role.id] = role

    def _members(self, guild: Guild, node: DescribedValue, owner: DescribedValue | None) -> None:
        seen: set[str] = set()
        for entry in node.items():
            user, fields = self._user(entry, seen)
            roles = [by_name(guild.roles, role, "role") for role in items_of(fields.get("roles"))]
            nick = fields["nick"].optional_text() if "nick" in fields else None
            guild.members[user.id] = Member(user, now_iso(), nick, [r.id for r in roles])
        if not guild.members:
            node.fail("has nobody in it; a guild needs an owner")
        owners = {user.id: user for user in (m.user for m in guild.members.values())}
        guild.owner_id = by_name(owners, owner, "member").id if owner else next(iter(owners))
        if self.world.application.owner_id == self.world.bot.id:
            self.world.application.owner_id = guild.owner_id
        self._add_bot(guild)

    def _add_bot(self, guild: Guild) -> None:
        bot = self.world.bot
        role = Role(self._ids.new(), bot.name, self._bot_permissions, len(guild.roles))
        role.managed, role.bot_id = True, bot.id
        guild.roles[role.id] = role
        guild.members[bot.id] = Member(bot, now_iso(), roles=[role.id])

    def _user(self, node: DescribedValue, seen: set[str]) -> tuple[User, dict[str, DescribedValue]]:
        """Read a user. The same name in two guilds is one person."""
        if isinstance(node.value, str):
            fields = {"name": node}
        else:
            allowed = {"name", "display_name", "nick", "roles", "bot", "avatar", "dms", "id"}
            allowed |= {"locale"}
            fields = node.fields(allowed, ("name",))
        name = fresh_name(fields["name"], seen, USERNAME_MOST)
        if name == self.world.bot.name:
            fields["name"].fail("is the bot's name; the bot is a member of every guild anyway")
        known = [user for user in self.world.users.values() if user.name == name]
        user = known[0] if known else User(self._new_id(fields), name)
        self.world.users[user.id] = user
        if "display_name" in fields:
            user.display_name = fields["display_name"].optional_text()
        if "avatar" in fields:
            user.avatar = fields["avatar"].optional_text()
        user.locale = fields["locale"].text() if "locale" in fields else user.locale
        user.bot = fields["bot"].flag() if "bot" in fields else user.bot
        user.dms_open = fields["dms"].flag() if "dms" in fields else user.dms_open
        return user, fields

    def _emojis(self, guild: Guild, node: DescribedValue | None) -> None:
        seen: set[str] = set()
        for entry in items_of(node):
            plain = isinstance(entry.value, str)
            fields = (
                {"name": entry} if plain else entry.fields({"name", "animated", "id"}, ("name",))
            )
            name = fresh_name(fields["name"], seen, USERNAME_MOST)
            if len(name) < 2 or not name.replace("_", "a").isalnum() or not name.isascii():
                fields["name"].fail(f"{name!r}: an emoji's name is 2-32 letters, digits and _")
            animated = "animated" in fields and fields["animated"].flag()
            emoji = Emoji(self._new_id(fields), name, animated)
            guild.emojis[emoji.id] = emoji

    def _channel(self, guild: Guild, node: DescribedValue, position: int, names: set[str]) -> None:
        allowed = {"name", "type", "topic", "category", "slowmode_s", "slowmode_binds_bots"}
        allowed |= {"overwrites", "threads", "tags", "id", "nsfw"}
        plain = isinstance(node.value, str)
        fields = {"name": node} if plain else node.fields(allowed, ("name",))
        name = fresh_name(fields["name"], names, NAME_MOST)
        kind = KINDS[fields["type"].one_of(tuple(KINDS)) if "type" in fields else "text"]
        channel = Channel(self._new_id(fields), kind, name, guild.id, position=position)
        self._details(guild, channel, fields)
        self.world.channels[channel.id] = channel
        for thread in items_of(fields.get("threads")):
            self._thread(guild, channel, thread, names)

    def _details(
        self, guild: Guild, channel: Channel, fields: Mapping[str, DescribedValue]
    ) -> None:
        if "topic" in fields:
            channel.topic = fields["topic"].optional_text()
        if "slowmode_s" in fields:
            channel.slowmode_s = fields["slowmode_s"].whole(0, SLOWMODE_MOST_S)
        if "slowmode_binds_bots" in fields:
            channel.slowmode_binds_bots = fields["slowmode_binds_bots"].flag()
        if "nsfw" in fields:
            channel.details["nsfw"] = fields["nsfw"].flag()
        if "category" in fields:
            places = {c.id: c for c in self.world.channels.values() if c.guild_id == guild.id}
            categories = {i: c for i, c in places.items() if c.type is ChannelType.CATEGORY}
            channel.parent_id = by_name(categories, fields["category"], "category above it").id
        for tag in items_of(fields.get("tags")):
            if channel.type is not ChannelType.FORUM:
                tag.fail("only a forum has tags")
            channel.tags.append(ForumTag(self._ids.new(), name_of_node(tag, 20)))
        for entry in items_of(fields.get("overwrites")):
            overwrite = overwrite_of(guild, entry)
            channel.overwrites[overwrite.id] = overwrite

    def _thread(self, guild: Guild, parent: Channel, node: DescribedValue, names: set[str]) -> None:
        plain = isinstance(node.value, str)
        allowed = {"name", "archived", "locked", "private", "owner", "id"}
        fields = {"name": node} if plain else node.fields(allowed, ("name",))
        if parent.type not in (ChannelType.TEXT, ChannelType.NEWS, ChannelType.FORUM):
            node.fail(f"a {parent.type.name.lower()} channel has no threads")
        people = {member.user.id: member.user for member in guild.members.values()}
        owner = guild.owner_id
        if "owner" in fields:
            owner = by_name(people, fields["owner"], "member").id
        now = now_iso()
        state = ThreadState(owner, now, now, members={owner: now})
        state.archived = "archived" in fields and fields["archived"].flag()
        state.locked = "locked" in fields and fields["locked"].flag()
        private = "private" in fields and fields["private"].flag()
        kind = ChannelType.PRIVATE_THREAD if private else ChannelType.PUBLIC_THREAD
        name = fresh_name(fields["name"], names, NAME_MOST)
        number = self._new_id(fields)
        thread = Channel(number, kind, name, guild.id, parent_id=parent.id, thread=state)
        self.world.channels[thread.id] = thread


def _token(bot_id: int) -> str:
    """Return a token like Discord's: some libraries read the bot's id from its first part."""
    head = base64.urlsafe_b64encode(str(bot_id).encode()).decode().rstrip("=")
    return f"{head}.stage.{secrets.token_urlsafe(24)}"


def _bot_permissions(node: DescribedValue | None) -> int:
    fields = node.fields(BOT_KEYS) if node else {}
    return permission_bits(fields.get("permissions"), permissions.BOT)
