"""Guilds and what they list: channels, members, roles, emoji, webhooks, active threads."""

from __future__ import annotations

from discord_stage.payloads import record_payloads
from discord_stage.refusals import refusal
from discord_stage.rest.routes.guild.guild_access import guild_of
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.rules import field_types
from discord_stage.rules.webhook_names import check_avatar_data
from discord_stage.world.permissions import Permission, in_guild
from discord_stage.world.records import Guild, Member
from discord_stage.world_changes import audit_log, channel_changes
from discord_stage.world_changes.audit_log import AuditAction

routes = RouteTable()


def _guild(call: RouteCall) -> Guild:
    return call.state.world.find_guild(call.id("guild_id"))


def _member(call: RouteCall, guild: Guild) -> Member:
    member = guild.members.get(call.id("user_id"))
    if member is None:
        raise refusal(10007)
    return member


@routes.on("GET", "/guilds/{guild_id}")
async def one_guild(call: RouteCall) -> object:
    guild = _guild(call)
    shown = record_payloads.guild(guild)
    return shown | record_payloads.counts(guild) if call.flag("with_counts") else shown


@routes.on("PATCH", "/guilds/{guild_id}")
async def change_guild(call: RouteCall) -> object:
    guild = guild_of(call, Permission.MANAGE_GUILD)
    body = {key: value for key, value in call.body.items() if key in record_payloads.CHANGEABLE}
    for key in ("icon", "banner", "splash", "discovery_splash", "home_header"):
        if key in body:
            body[key] = check_avatar_data(body[key], key)
    for key, value in body.items():
        if key.endswith("_id") and value is not None:
            body[key] = str(call.state.world.find_channel(int(value)).id)
    guild.name = call.body.get("name", guild.name)
    defaults = record_payloads.CHANGEABLE
    guild.changed |= {k: defaults[k] if v is None else v for k, v in body.items()}
    shown = record_payloads.guild(guild)
    call.state.emit("GUILD_UPDATE", shown, guild_id=guild.id)
    audit_log.note(call.state, guild, AuditAction.GUILD_UPDATE, guild.id, call.reason)
    return shown


@routes.on("GET", "/guilds/{guild_id}/preview")
async def preview(call: RouteCall) -> object:
    return record_payloads.guild_preview(_guild(call))


@routes.on("PATCH", "/guilds/{guild_id}/channels")
async def move_channels(call: RouteCall) -> object:
    guild_of(call, Permission.MANAGE_CHANNELS)
    for entry in call.value if isinstance(call.value, list) else []:
        channel = call.state.world.find_channel(field_types.whole(entry, "id"))
        channel.position = field_types.whole(entry, "position", channel.position)
        if "parent_id" in entry:
            channel.parent_id = field_types.whole(entry, "parent_id") or None
        channel_changes.channel_changed(call.state, channel)
    return None


@routes.on("GET", "/guilds/{guild_id}/channels")
async def channels(call: RouteCall) -> object:
    world, guild = call.state.world, _guild(call)
    places = [c for c in world.channels.values() if c.guild_id == guild.id and c.thread is None]
    return [record_payloads.channel(world, channel) for channel in places]


@routes.on("GET", "/guilds/{guild_id}/threads/active")
async def active_threads(call: RouteCall) -> object:
    world, guild = call.state.world, _guild(call)
    places = [c for c in world.channels.values() if c.guild_id == guild.id]
    threads = [c for c in places if c.thread is not None and not c.thread.archived]
    seen = [c for c in threads if world.permissions_of(world.bot.id, c)]
    mine = [c for c in seen if c.thread and world.bot.id in c.thread.members]
    return {
        "threads": [record_payloads.thread(world, c) for c in seen],
        "members": [record_payloads.thread_member(c, world.bot.id) for c in mine],
        "has_more": False,
    }


@routes.on("GET", "/guilds/{guild_id}/members")
async def members(call: RouteCall) -> object:
    guild = _guild(call)
    most, after = call.number("limit", 1, 1, 1000), call.optional_id("after") or 0
    people = sorted(guild.members.values(), key=lambda member: member.user.id)
    return [record_payloads.member(m) for m in people if m.user.id > after][:most]


@routes.on("GET", "/guilds/{guild_id}/members/{user_id}")
async def one_member(call: RouteCall) -> object:
    return record_payloads.member(_member(call, _guild(call)))


@routes.on("GET", "/guilds/{guild_id}/roles")
async def roles(call: RouteCall) -> object:
    return [record_payloads.role(role) for role in _guild(call).roles.values()]


@routes.on("GET", "/guilds/{guild_id}/emojis")
async def emojis(call: RouteCall) -> object:
    return [record_payloads.emoji(emoji) for emoji in _guild(call).emojis.values()]


@routes.on("GET", "/guilds/{guild_id}/emojis/{emoji_id}")
async def one_emoji(call: RouteCall) -> object:
    emoji = _guild(call).emojis.get(call.id("emoji_id"))
    if emoji is None:
        raise refusal(10014)
    return record_payloads.emoji(emoji)


@routes.on("GET", "/guilds/{guild_id}/webhooks")
async def webhooks(call: RouteCall) -> object:
    world, guild = call.state.world, _guild(call)
    if not in_guild(guild, world.bot.id) & Permission.MANAGE_WEBHOOKS:
        raise refusal(50013)
    mine = [w for w in world.webhooks.values() if w.guild_id == guild.id]
    return [record_payloads.webhook(world, webhook) for webhook in mine]
