"""Guilds and what they list: channels, members, roles, emoji, webhooks, active threads."""

from __future__ import annotations

from oshaberi.stage.payloads import record_payloads
from oshaberi.stage.rest.route_table import RouteCall, RouteTable
from oshaberi.stage.rules.api_refusals import refusal
from oshaberi.stage.world.discord_records import Guild, Member
from oshaberi.stage.world.permissions import Permission, in_guild

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
    return record_payloads.guild(_guild(call))


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


@routes.on("PATCH", "/guilds/{guild_id}/members/@me")
async def rename_self(call: RouteCall) -> object:
    guild = _guild(call)
    member = guild.members[call.state.world.bot.id]
    if not in_guild(guild, member.user.id) & Permission.CHANGE_NICKNAME:
        raise refusal(50013)
    if "nick" in call.body:
        member.nick = call.body["nick"] or None
    data = record_payloads.member(member)
    call.state.emit("GUILD_MEMBER_UPDATE", data | {"guild_id": str(guild.id)}, guild_id=guild.id)
    return data


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
