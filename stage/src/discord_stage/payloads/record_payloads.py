"""Writes records as Discord's JSON, guilds whole or in part. Ids are strings."""

from __future__ import annotations

from discord_stage.world.records import (
    Channel,
    ChannelType,
    Command,
    Emoji,
    Guild,
    Json,
    Member,
    Role,
    User,
    Webhook,
)
from discord_stage.world.world_state import World

# Writes records as Discord's JSON. Ids are strings; nothing is changed.


LOCALE = "en-US"
_PRIVILEGED_FLAGS = {"presences": 1 << 12, "members": 1 << 14, "message_content": 1 << 18}


def user(person: User) -> Json:
    return {
        "id": str(person.id),
        "username": person.name,
        "global_name": person.display_name,
        "discriminator": f"{person.id % 9999 + 1:04}" if person.bot else "0",
        "avatar": person.avatar,
        "bot": person.bot,
        "public_flags": 0,
        "flags": 0,
        "primary_guild": None,
    }


def own_user(world: World) -> Json:
    private: Json = {"verified": True, "mfa_enabled": True, "email": None, "locale": LOCALE}
    return user(world.bot) | private


def application_flags(world: World) -> int:
    return sum(_PRIVILEGED_FLAGS[name] for name in world.application.privileged)


def application(world: World) -> Json:
    app = world.application
    return {
        "id": str(app.id),
        "name": app.user.name,
        "description": "",
        "icon": app.user.avatar,
        "bot_public": False,
        "bot_require_code_grant": False,
        "owner": user(world.users[app.owner_id]),
        "verify_key": "0" * 64,
        "flags": application_flags(world),
        "flags_new": str(application_flags(world)),
        "team": None,
        "bot": user(app.user),
        "type": None,
        "redirect_uris": [],
        "interactions_endpoint_url": None,
        "role_connections_verification_url": None,
        "approximate_guild_count": len(world.guilds),
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
        "explicit_content_filter": 0,
        "eligible_oauth2_scopes": [],
    }


def member(person: Member, *, with_user: bool = True) -> Json:
    fields: Json = {
        "nick": person.nick,
        "roles": [str(role_id) for role_id in person.roles],
        "joined_at": person.joined_at,
        "avatar": person.avatar,
        "banner": person.banner,
        "premium_since": None,
        "communication_disabled_until": person.timeout_until,
        "deaf": person.deaf,
        "mute": person.mute,
        "flags": 0,
        "pending": False,
    }
    return fields | {"user": user(person.user)} if with_user else fields


def role(item: Role) -> Json:
    tags = {} if item.bot_id is None else {"tags": {"bot_id": str(item.bot_id)}}
    return tags | {
        "id": str(item.id),
        "name": item.name,
        "color": item.color,
        "colors": {"primary_color": item.color, "secondary_color": None, "tertiary_color": None},
        "hoist": item.hoist,
        "icon": None,
        "unicode_emoji": item.unicode_emoji,
        "position": item.position,
        "permissions": str(item.permissions),
        "managed": item.managed,
        "mentionable": item.mentionable,
        "flags": 0,
    }


def emoji(item: Emoji) -> Json:
    return {
        "id": str(item.id),
        "name": item.name,
        "animated": item.animated,
        "available": True,
        "managed": False,
        "require_colons": True,
        "roles": [],
    }


def channel(world: World, item: Channel) -> Json:
    if item.thread is not None:
        return thread(world, item)
    fields: Json = {
        "id": str(item.id),
        "type": int(item.type),
        "flags": 0,
        "last_message_id": _id(item.last_message_id),
    }
    if item.recipient_id is not None:
        return fields | {"recipients": [user(world.users[item.recipient_id])]}
    return fields | _guild_channel(item)


def _guild_channel(item: Channel) -> Json:
    fields: Json = {
        "guild_id": str(item.guild_id),
        "name": item.name,
        "topic": item.topic,
        "position": item.position,
        "parent_id": _id(item.parent_id),
        "nsfw": False,
        "rate_limit_per_user": item.slowmode_s,
        "permission_overwrites": [
            {
                "id": str(overwrite.id),
                "type": int(overwrite.for_member),
                "allow": str(overwrite.allow),
                "deny": str(overwrite.deny),
            }
            for overwrite in item.overwrites.values()
        ],
    }
    fields |= item.details
    if item.type is ChannelType.VOICE:
        fields = {"bitrate": 64000, "user_limit": 0, "rtc_region": None} | fields
    if item.type is ChannelType.FORUM:
        fields |= {"available_tags": [_tag(tag.id, tag.name) for tag in item.tags]}
        fields = {"default_reaction_emoji": None, "default_sort_order": None} | fields
    return fields


def _tag(tag_id: int, name: str) -> Json:
    return {
        "id": str(tag_id),
        "name": name,
        "moderated": False,
        "emoji_id": None,
        "emoji_name": None,
    }


def thread(world: World, item: Channel) -> Json:
    state = item.thread
    assert state is not None
    fields: Json = {
        "id": str(item.id),
        "type": int(item.type),
        "guild_id": str(item.guild_id),
        "parent_id": str(item.parent_id),
        "owner_id": str(state.owner_id),
        "name": item.name,
        "flags": 0,
        "last_message_id": _id(item.last_message_id),
        "rate_limit_per_user": item.slowmode_s,
        "message_count": state.message_count,
        "total_message_sent": state.sent_in_all,
        "member_count": min(50, len(state.members)),
        "applied_tags": [str(tag_id) for tag_id in state.tags],
        "thread_metadata": {
            "archived": state.archived,
            "locked": state.locked,
            "invitable": state.invitable,
            "auto_archive_duration": state.archive_minutes,
            "archive_timestamp": state.changed_at,
            "create_timestamp": state.created_at,
        },
    }
    if world.bot.id in state.members:
        fields["member"] = thread_member(item, world.bot.id)
    return fields


def thread_member(item: Channel, user_id: int) -> Json:
    assert item.thread is not None
    return {
        "id": str(item.id),
        "user_id": str(user_id),
        "join_timestamp": item.thread.members[user_id],
        "flags": 0,
    }


def webhook(world: World, item: Webhook, *, with_user: bool = True) -> Json:
    fields: Json = {
        "id": str(item.id),
        "type": 1,
        "guild_id": str(item.guild_id),
        "channel_id": str(item.channel_id),
        "name": item.name,
        "avatar": item.avatar,
        "application_id": _id(item.application_id),
        "token": item.token,
    }
    return fields | {"user": user(world.users[item.creator_id])} if with_user else fields


def command(world: World, item: Command) -> Json:
    ids: Json = {"id": str(item.id), "application_id": str(world.application.id), "version": "1"}
    if item.guild_id is not None:
        ids["guild_id"] = str(item.guild_id)
    kind = item.payload.get("type") or 1
    fields = {key: value for key, value in item.payload.items() if value is not None}
    allowed = fields.get("default_member_permissions")
    fields["default_member_permissions"] = None if allowed is None else str(allowed)
    given: Json = {"description": "", "nsfw": False, "dm_permission": True}
    given |= {"contexts": None, "integration_types": [0]}
    return given | fields | {"type": kind} | ids


def _id(snowflake: int | None) -> str | None:
    return None if snowflake is None else str(snowflake)


# Guilds as JSON: whole, as in a list, and as in GUILD_CREATE.


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
    "preferred_locale": LOCALE,
    "premium_progress_bar_enabled": False,
    "features": [],
}
"""The fields that a PATCH can change, with their initial values."""


def guild(item: Guild) -> Json:
    own: Json = {
        "id": str(item.id),
        "name": item.name,
        "owner_id": str(item.owner_id),
        "roles": [role(r) for r in item.roles.values()],
        "emojis": [emoji(e) for e in item.emojis.values()],
    }
    return CHANGEABLE | item.changed | _LIMITS | _PREMIUM | _UNUSED | own


def counts(item: Guild) -> Json:
    """Return the counts that `with_counts` requests."""
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
        "members": [member(m) for m in people],
        "channels": [channel(world, c) for c in places if c.thread is None],
        "threads": [thread(world, c) for c in seen if c.thread and not c.thread.archived],
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "guild_scheduled_events": list(item.scheduled_events.values()),
        "soundboard_sounds": [],
    }
