"""Guilds as JSON: whole, as in a list, and as in GUILD_CREATE."""

from __future__ import annotations

from oshaberi.stage.payloads import record_payloads
from oshaberi.stage.world.discord_records import Guild, Json
from oshaberi.stage.world.world_state import World

_LIMITS: Json = {
    "max_presences": None,
    "max_members": 500_000,
    "max_stage_video_channel_users": 50,
    "max_video_channel_users": 25,
}
_PREMIUM: Json = {
    "premium_tier": 0,
    "premium_subscription_count": 0,
    "vanity_url_code": None,
}
_UNUSED: Json = {
    "application_id": None,
    "widget_enabled": False,
    "widget_channel_id": None,
    "mfa_level": 0,
    "nsfw": False,
    "nsfw_level": 0,
    "incidents_data": None,
    "stickers": [],
}
CHANGEABLE: Json = {
    "description": None,
    "icon": None,
    "banner": None,
    "splash": None,
    "discovery_splash": None,
    "home_header": None,
    "region": "deprecated",
    "afk_channel_id": None,
    "afk_timeout": 300,
    "system_channel_id": None,
    "system_channel_flags": 0,
    "rules_channel_id": None,
    "safety_alerts_channel_id": None,
    "public_updates_channel_id": None,
    "verification_level": 0,
    "default_message_notifications": 0,
    "explicit_content_filter": 0,
    "preferred_locale": record_payloads.LOCALE,
    "premium_progress_bar_enabled": False,
    "features": [],
}
"""The fields that a PATCH can change, with their initial values."""


def guild(item: Guild) -> Json:
    own: Json = {
        "id": str(item.id),
        "name": item.name,
        "owner_id": str(item.owner_id),
        "roles": [record_payloads.role(r) for r in item.roles.values()],
        "emojis": [record_payloads.emoji(e) for e in item.emojis.values()],
    }
    return CHANGEABLE | item.changed | _LIMITS | _PREMIUM | _UNUSED | own


def counts(item: Guild) -> Json:
    """Return the counts that `with_counts` asks for."""
    here = len(item.members)
    return {"approximate_member_count": here, "approximate_presence_count": here}


def partial_guild(item: Guild, *, owner: bool, permissions: int) -> Json:
    """Return a guild as it is in the list of a bot's guilds."""
    shown = guild(item)
    kept = {key: shown[key] for key in ("id", "name", "icon", "banner", "features")}
    return kept | {"owner": owner, "permissions": str(permissions)}


def guild_preview(item: Guild) -> Json:
    keys = ("id", "name", "icon", "splash", "discovery_splash", "home_header", "description")
    shown = guild(item)
    kept = {key: shown[key] for key in (*keys, "features", "emojis", "stickers")}
    return kept | counts(item)


def guild_create(world: World, item: Guild, *, all_members: bool) -> Json:
    """Return the whole guild. Without the members intent the bot is its only member."""
    places = [c for c in world.channels.values() if c.guild_id == item.id]
    people = [m for m in item.members.values() if all_members or m.user.id == world.bot.id]
    seen = [c for c in places if world.permissions_of(world.bot.id, c)]
    return guild(item) | {
        "unavailable": False,
        "large": len(item.members) > 250,
        "joined_at": item.members[world.bot.id].joined_at,
        "member_count": len(item.members),
        "members": [record_payloads.member(m) for m in people],
        "channels": [record_payloads.channel(world, c) for c in places if c.thread is None],
        "threads": [
            record_payloads.thread(world, c) for c in seen if c.thread and not c.thread.archived
        ],
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "guild_scheduled_events": list(item.scheduled_events.values()),
        "soundboard_sounds": [],
    }
