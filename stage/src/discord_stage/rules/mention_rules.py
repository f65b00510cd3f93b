"""Decides whom a message mentions, with `allowed_mentions` applied (facts: Messages)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from discord_stage.refusals import FormErrors
from discord_stage.world.ids import number_in
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Channel, Json, StageMessage
from discord_stage.world.world_state import World

_CODE = re.compile(r"```.*?```|``.*?``|`[^`]*`", re.DOTALL)
_USER = re.compile(r"<@!?(\d{1,20})>")
_ROLE = re.compile(r"<@&(\d{1,20})>")
_EVERYONE = re.compile(r"@(?:everyone|here)\b")
_KINDS = ("users", "roles", "everyone")
IDS_MOST = 100


@dataclass(frozen=True, slots=True)
class AllowedMentions:
    """The allowed mentions. Without them all are allowed, the replied-to user included."""

    parse: frozenset[str] = frozenset(_KINDS)
    users: frozenset[int] = field(default=frozenset())
    roles: frozenset[int] = field(default=frozenset())
    replied_user: bool = True

    @classmethod
    def read(cls, value: object, errors: FormErrors) -> AllowedMentions | None:
        if not isinstance(value, dict):
            return None
        parse = value.get("parse")
        parse = [str(kind) for kind in parse] if isinstance(parse, list) else []
        place = "allowed_mentions"
        for number, kind in enumerate(parse):
            if kind not in _KINDS:
                message = f"Value must be one of {_KINDS}."
                errors.add((place, "parse", number), "BASE_TYPE_CHOICES", message)
        for key in ("users", "roles"):
            if key in parse and value.get(key):
                message = f'parse:["{key}"] and {key}: [ids...] are mutually exclusive.'
                errors.add((place,), "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", message)
            if len(_ids(value.get(key))) > IDS_MOST:
                message = f"Must be {IDS_MOST} or fewer in length."
                errors.add((place, key), "BASE_TYPE_MAX_LENGTH", message)
        return cls(
            frozenset(parse),
            _ids(value.get("users")),
            _ids(value.get("roles")),
            value.get("replied_user") is True,
        )

    def user(self, user_id: int) -> bool:
        return "users" in self.parse or user_id in self.users

    def role(self, role_id: int) -> bool:
        return "roles" in self.parse or role_id in self.roles


def _ids(value: object) -> frozenset[int]:
    entries = value if isinstance(value, list) else []
    numbers = (number_in(str(entry)) for entry in entries)
    return frozenset(number for number in numbers if number is not None)


def apply(
    world: World, message: StageMessage, allowed: AllowedMentions | None, granted: int
) -> None:
    """Set whom the message mentions. `granted` are its author's permissions in the channel."""
    allowed = allowed or AllowedMentions()
    channel = world.channels[message.channel_id]
    guild = world.guild_of(channel)
    text = _CODE.sub("", message.content)
    users = _numbers(_USER, text)
    message.mentions = [u for u in users if u in world.users and allowed.user(u)]
    message.mention_roles = []
    message.mention_everyone = False
    loud = bool(granted & Permission.MENTION_EVERYONE)
    if guild is not None:
        message.mention_everyone = bool(
            loud and "everyone" in allowed.parse and _EVERYONE.search(text)
        )
        roles = [guild.roles[r] for r in _numbers(_ROLE, text) if r in guild.roles]
        pingable = [r.id for r in roles if (r.mentionable or loud) and allowed.role(r.id)]
        message.mention_roles = pingable
    replied = _replied_to(world, message.reference)
    if replied is not None and allowed.replied_user and replied not in message.mentions:
        message.mentions.append(replied)


def notified(world: World, message: StageMessage, channel: Channel) -> list[int]:
    """Return the users that a new message notifies."""
    guild = world.guild_of(channel)
    if guild is None:
        others = {world.bot.id, channel.recipient_id} - {message.author_id, None}
        return sorted(other for other in others if other is not None)
    reached = set(message.mentions)
    for member in guild.members.values():
        if message.mention_everyone or set(member.roles) & set(message.mention_roles):
            reached.add(member.user.id)
    return sorted(reached - {message.author_id})


def _numbers(pattern: re.Pattern[str], text: str) -> list[int]:
    return list(dict.fromkeys(int(found) for found in pattern.findall(text)))


def _replied_to(world: World, reference: Json | None) -> int | None:
    if reference is None or "message_id" not in reference or reference.get("type") == 1:
        return None
    place, number = int(reference["channel_id"]), int(reference["message_id"])
    message = world.messages.get(place, {}).get(number)
    return None if message is None or message.webhook_id else message.author_id
