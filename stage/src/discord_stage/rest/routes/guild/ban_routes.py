"""Bans: one, many, their list, and the end of one."""

from __future__ import annotations

from discord_stage.payloads import record_payloads
from discord_stage.refusals import RefusalError, refusal
from discord_stage.rest.routes.guild.guild_access import guild_of, require_above
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.rules import field_types
from discord_stage.world.ids import created_at
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Guild, Json
from discord_stage.world_changes import audit_log, member_changes, message_posting
from discord_stage.world_changes.audit_log import AuditAction

routes = RouteTable()
ALL = "/guilds/{guild_id}/bans"
DAY_S = 86_400


def _ban_payload(call: RouteCall, guild: Guild, user_id: int) -> Json:
    user = call.state.world.users[user_id]
    return {"user": record_payloads.user(user), "reason": guild.bans[user_id]}


@routes.on("GET", ALL)
async def bans(call: RouteCall) -> object:
    guild = guild_of(call, Permission.BAN_MEMBERS)
    most = call.number("limit", 1000, 1, 1000)
    before, after = call.optional_id("before"), call.optional_id("after") or 0
    wanted = [u for u in sorted(guild.bans) if u > after and (before is None or u < before)]
    return [_ban_payload(call, guild, user_id) for user_id in wanted[:most]]


@routes.on("GET", ALL + "/{user_id}")
async def one_ban(call: RouteCall) -> object:
    guild = guild_of(call, Permission.BAN_MEMBERS)
    if call.id("user_id") not in guild.bans:
        raise refusal(10026)
    return _ban_payload(call, guild, call.id("user_id"))


@routes.on("PUT", ALL + "/{user_id}")
async def ban(call: RouteCall) -> object:
    guild = guild_of(call, Permission.BAN_MEMBERS)
    _ban(call, guild, call.id("user_id"))
    return None


def _ban(call: RouteCall, guild: Guild, user_id: int) -> None:
    user = call.state.world.find_user(user_id)
    require_above(call, guild, user.id)
    member_changes.ban(call.state, guild, user, call.reason)
    audit_log.note(call.state, guild, AuditAction.MEMBER_BAN_ADD, user.id, call.reason)
    # discord.py sends these in the query, and Discord accepts them there, too.
    asked = dict(call.query) | call.body
    days = field_types.whole(asked, "delete_message_days")
    _forget(call, guild, user.id, field_types.whole(asked, "delete_message_seconds", days * DAY_S))


def _forget(call: RouteCall, guild: Guild, user_id: int, seconds: int) -> None:
    """Remove the recent messages of a banned user."""
    world = call.state.world
    now = created_at(world.snowflakes.new())
    places = [c.id for c in world.channels.values() if c.guild_id == guild.id]
    for place in places if seconds else ():
        for message in list(world.messages.get(place, {}).values()):
            age_s = (now - created_at(message.id)).total_seconds()
            if message.author_id == user_id and age_s <= seconds:
                message_posting.remove(call.state, message)


@routes.on("DELETE", ALL + "/{user_id}")
async def unban(call: RouteCall) -> object:
    guild = guild_of(call, Permission.BAN_MEMBERS)
    user = call.state.world.find_user(call.id("user_id"))
    member_changes.unban(call.state, guild, user)
    audit_log.note(call.state, guild, AuditAction.MEMBER_BAN_REMOVE, user.id, call.reason)
    return None


@routes.on("POST", "/guilds/{guild_id}/bulk-ban")
async def bulk_ban(call: RouteCall) -> object:
    guild = guild_of(call, Permission.BAN_MEMBERS, Permission.MANAGE_GUILD)
    banned: list[str] = []
    failed: list[str] = []
    for number in field_types.ids(call.body, "user_ids"):
        try:
            _ban(call, guild, number)
            banned.append(str(number))
        except RefusalError:
            failed.append(str(number))
    if not banned:
        raise refusal(500000)
    return {"banned_users": banned, "failed_users": failed}
