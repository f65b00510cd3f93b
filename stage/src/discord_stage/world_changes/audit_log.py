"""A guild's audit log: what a bot did to it, and why."""

from __future__ import annotations

from enum import IntEnum

from discord_stage.state import StageState
from discord_stage.world.records import Guild, Json

KEPT = 1000


class AuditAction(IntEnum):
    GUILD_UPDATE = 1
    CHANNEL_CREATE = 10
    CHANNEL_UPDATE = 11
    CHANNEL_DELETE = 12
    MEMBER_KICK = 20
    MEMBER_BAN_ADD = 22
    MEMBER_BAN_REMOVE = 23
    MEMBER_UPDATE = 24
    MEMBER_ROLE_UPDATE = 25
    ROLE_CREATE = 30
    ROLE_UPDATE = 31
    ROLE_DELETE = 32
    INVITE_CREATE = 40
    INVITE_DELETE = 42
    WEBHOOK_CREATE = 50
    EMOJI_CREATE = 60
    EMOJI_UPDATE = 61
    EMOJI_DELETE = 62
    SCHEDULED_EVENT_CREATE = 100
    SCHEDULED_EVENT_UPDATE = 101
    SCHEDULED_EVENT_DELETE = 102
    AUTOMOD_RULE_CREATE = 140
    AUTOMOD_RULE_UPDATE = 141
    AUTOMOD_RULE_DELETE = 142


def note(
    state: StageState,
    guild: Guild,
    action: AuditAction,
    target_id: int,
    reason: str | None = None,
    changes: list[Json] | None = None,
) -> None:
    """Add an action of the bot to the guild's audit log. Only the newest entries are kept."""
    entry: Json = {
        "id": str(state.world.snowflakes.new()),
        "action_type": int(action),
        "user_id": str(state.world.bot.id),
        "target_id": str(target_id),
        "changes": changes or [],
    }
    if reason:
        entry["reason"] = reason
    guild.audit_log.append(entry)
    del guild.audit_log[:-KEPT]
    data = entry | {"guild_id": str(guild.id)}
    state.emit("GUILD_AUDIT_LOG_ENTRY_CREATE", data, guild_id=guild.id)
