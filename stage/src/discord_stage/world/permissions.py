"""Computes permissions: base permissions, then a channel's overwrites. Threads inherit."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import IntFlag

from discord_stage.world.records import Channel, Guild, Member, Overwrite


class Permission(IntFlag):
    CREATE_INSTANT_INVITE = 1 << 0
    KICK_MEMBERS = 1 << 1
    BAN_MEMBERS = 1 << 2
    ADMINISTRATOR = 1 << 3
    MANAGE_CHANNELS = 1 << 4
    MANAGE_GUILD = 1 << 5
    ADD_REACTIONS = 1 << 6
    VIEW_AUDIT_LOG = 1 << 7
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    USE_EXTERNAL_EMOJIS = 1 << 18
    CONNECT = 1 << 20
    SPEAK = 1 << 21
    MUTE_MEMBERS = 1 << 22
    DEAFEN_MEMBERS = 1 << 23
    CHANGE_NICKNAME = 1 << 26
    MANAGE_NICKNAMES = 1 << 27
    MANAGE_ROLES = 1 << 28
    MANAGE_WEBHOOKS = 1 << 29
    MANAGE_EXPRESSIONS = 1 << 30
    USE_APPLICATION_COMMANDS = 1 << 31
    MANAGE_EVENTS = 1 << 33
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    SEND_MESSAGES_IN_THREADS = 1 << 38
    MODERATE_MEMBERS = 1 << 40
    CREATE_EXPRESSIONS = 1 << 43
    CREATE_EVENTS = 1 << 44
    BYPASS_SLOWMODE = 1 << 52


ALL = (1 << 53) - 1
NAMES = {permission.name.lower(): permission for permission in Permission if permission.name}

EVERYONE = (
    Permission.ADD_REACTIONS
    | Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.USE_EXTERNAL_EMOJIS
    | Permission.CONNECT
    | Permission.SPEAK
    | Permission.CHANGE_NICKNAME
    | Permission.USE_APPLICATION_COMMANDS
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
)
"""What the @everyone role of a described guild may do, unless the description says otherwise."""
BOT = EVERYONE | Permission.MANAGE_WEBHOOKS | Permission.MANAGE_THREADS
"""What the bot's own role may do, unless the description says otherwise."""


_IN_TIMEOUT = Permission.VIEW_CHANNEL | Permission.READ_MESSAGE_HISTORY


def in_guild(guild: Guild, user_id: int) -> int:
    """Return a member's permissions before the overwrites of a channel."""
    member = guild.members.get(user_id)
    if member is None:
        return 0
    if guild.owner_id == user_id:
        return ALL
    granted = guild.roles[guild.id].permissions
    for role_id in member.roles:
        role = guild.roles.get(role_id)
        granted |= role.permissions if role else 0
    if granted & Permission.ADMINISTRATOR:
        return ALL
    return granted & _IN_TIMEOUT if is_timed_out(member) else granted


def is_timed_out(member: Member) -> bool:
    if member.timeout_until is None:
        return False
    return datetime.fromisoformat(member.timeout_until) > datetime.now(UTC)


def in_channel(guild: Guild, channel: Channel, user_id: int) -> int:
    """Return a member's permissions in a channel. For a thread, pass its parent."""
    granted = in_guild(guild, user_id)
    if granted == ALL or user_id not in guild.members:
        return granted
    granted = _apply(granted, channel.overwrites.get(guild.id))
    granted = _apply_roles(granted, channel, guild.members[user_id].roles)
    granted = _apply(granted, channel.overwrites.get(user_id))
    if is_timed_out(guild.members[user_id]):
        granted &= _IN_TIMEOUT
    # Somebody who cannot see a channel has no other permission in it.
    return granted if granted & Permission.VIEW_CHANNEL else 0


def _apply(granted: int, overwrite: Overwrite | None) -> int:
    if overwrite is None:
        return granted
    return granted & ~overwrite.deny | overwrite.allow


def _apply_roles(granted: int, channel: Channel, role_ids: list[int]) -> int:
    allow = deny = 0
    for role_id in role_ids:
        overwrite = channel.overwrites.get(role_id)
        if overwrite is not None:
            allow |= overwrite.allow
            deny |= overwrite.deny
    return granted & ~deny | allow
