"""Decides which session gets which event, and how much of a message it may read."""

from __future__ import annotations

from enum import IntFlag

from discord_stage.world.event_bus import GatewayEvent
from discord_stage.world.records import Json


class Intent(IntFlag):
    GUILDS = 1 << 0
    MEMBERS = 1 << 1
    MODERATION = 1 << 2
    EXPRESSIONS = 1 << 3
    INTEGRATIONS = 1 << 4
    WEBHOOKS = 1 << 5
    INVITES = 1 << 6
    VOICE_STATES = 1 << 7
    PRESENCES = 1 << 8
    GUILD_MESSAGES = 1 << 9
    GUILD_REACTIONS = 1 << 10
    GUILD_TYPING = 1 << 11
    DM_MESSAGES = 1 << 12
    DM_REACTIONS = 1 << 13
    DM_TYPING = 1 << 14
    MESSAGE_CONTENT = 1 << 15
    SCHEDULED_EVENTS = 1 << 16
    AUTOMOD_CONFIGURATION = 1 << 20
    AUTOMOD_EXECUTION = 1 << 21
    GUILD_POLLS = 1 << 24
    DM_POLLS = 1 << 25


KNOWN = sum(Intent)
PRIVILEGED = {
    "members": Intent.MEMBERS,
    "presences": Intent.PRESENCES,
    "message_content": Intent.MESSAGE_CONTENT,
}
_MESSAGES = (Intent.GUILD_MESSAGES, Intent.DM_MESSAGES)
_REACTIONS = (Intent.GUILD_REACTIONS, Intent.DM_REACTIONS)
_GUILDS = (Intent.GUILDS, Intent.GUILDS)
_MEMBERS = (Intent.MEMBERS, Intent.MEMBERS)
_MODERATION = (Intent.MODERATION, Intent.MODERATION)
_EVENTS = (Intent.SCHEDULED_EVENTS, Intent.SCHEDULED_EVENTS)
_AUTOMOD = (Intent.AUTOMOD_CONFIGURATION, Intent.AUTOMOD_CONFIGURATION)
NEEDED: dict[str, tuple[Intent, Intent]] = {
    "CHANNEL_CREATE": _GUILDS,
    "CHANNEL_UPDATE": _GUILDS,
    "CHANNEL_DELETE": _GUILDS,
    "CHANNEL_PINS_UPDATE": (Intent.GUILDS, Intent.DM_MESSAGES),
    "GUILD_CREATE": _GUILDS,
    "GUILD_UPDATE": _GUILDS,
    "GUILD_ROLE_CREATE": _GUILDS,
    "GUILD_ROLE_UPDATE": _GUILDS,
    "GUILD_ROLE_DELETE": _GUILDS,
    "GUILD_MEMBER_ADD": _MEMBERS,
    "GUILD_MEMBER_UPDATE": _MEMBERS,
    "GUILD_MEMBER_REMOVE": _MEMBERS,
    "GUILD_BAN_ADD": _MODERATION,
    "GUILD_BAN_REMOVE": _MODERATION,
    "GUILD_AUDIT_LOG_ENTRY_CREATE": _MODERATION,
    "GUILD_EMOJIS_UPDATE": (Intent.EXPRESSIONS, Intent.EXPRESSIONS),
    "INVITE_CREATE": (Intent.INVITES, Intent.INVITES),
    "INVITE_DELETE": (Intent.INVITES, Intent.INVITES),
    "GUILD_SCHEDULED_EVENT_CREATE": _EVENTS,
    "GUILD_SCHEDULED_EVENT_UPDATE": _EVENTS,
    "GUILD_SCHEDULED_EVENT_DELETE": _EVENTS,
    "AUTO_MODERATION_RULE_CREATE": _AUTOMOD,
    "AUTO_MODERATION_RULE_UPDATE": _AUTOMOD,
    "AUTO_MODERATION_RULE_DELETE": _AUTOMOD,
    "MESSAGE_CREATE": _MESSAGES,
    "MESSAGE_UPDATE": _MESSAGES,
    "MESSAGE_DELETE": _MESSAGES,
    "MESSAGE_DELETE_BULK": _MESSAGES,
    "MESSAGE_REACTION_ADD": _REACTIONS,
    "MESSAGE_REACTION_REMOVE": _REACTIONS,
    "MESSAGE_REACTION_REMOVE_ALL": _REACTIONS,
    "MESSAGE_REACTION_REMOVE_EMOJI": _REACTIONS,
    "MESSAGE_POLL_VOTE_ADD": (Intent.GUILD_POLLS, Intent.DM_POLLS),
    "MESSAGE_POLL_VOTE_REMOVE": (Intent.GUILD_POLLS, Intent.DM_POLLS),
    "THREAD_CREATE": _GUILDS,
    "THREAD_UPDATE": _GUILDS,
    "THREAD_DELETE": _GUILDS,
    "THREAD_MEMBER_UPDATE": _GUILDS,
    "TYPING_START": (Intent.GUILD_TYPING, Intent.DM_TYPING),
    "WEBHOOKS_UPDATE": (Intent.WEBHOOKS, Intent.WEBHOOKS),
}
"""Event → the intent that it needs in a guild, and in a DM. Events that are not listed need
none."""


def wants(intents: int, event: GatewayEvent) -> bool:
    needed = NEEDED.get(event.name)
    if needed is None:
        return True
    in_guild, in_dm = needed
    return bool(intents & (in_dm if event.guild_id is None else in_guild))


def legible(message: Json, bot_id: int) -> bool:
    """Return whether a bot may read a message without the intent: DMs, its own, mentions of it."""
    if "guild_id" not in message or message["author"]["id"] == str(bot_id):
        return True
    return any(user["id"] == str(bot_id) for user in message["mentions"])


def blanked(message: Json) -> Json:
    """Return a message without the fields that need the message content intent."""
    shown = message | {"content": "", "embeds": [], "attachments": [], "components": []}
    replied = message.get("referenced_message")
    return shown | {"referenced_message": blanked(replied)} if replied else shown


def as_seen(event: GatewayEvent, intents: int, bot_id: int) -> Json:
    """Return the event's data as a session with these intents receives it."""
    if event.name not in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
        return event.data
    if intents & Intent.MESSAGE_CONTENT or legible(event.data, bot_id):
        return event.data
    return blanked(event.data)
