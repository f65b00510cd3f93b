"""Members: search, nickname, roles, timeout, kick, and the bot's own profile in a guild."""

from __future__ import annotations

from discord_stage.payloads import record_payloads
from discord_stage.refusals import refusal
from discord_stage.requests.rate_limits import OWN_PICTURES_LIMIT
from discord_stage.rest.routes.guild.guild_access import guild_of, member_of, require_above
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.rules import field_types
from discord_stage.rules.image_data import image_data, picture_hash
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Guild, Member
from discord_stage.world_changes import audit_log, member_changes
from discord_stage.world_changes.audit_log import AuditAction
from discord_stage.world_changes.member_changes import top_position

routes = RouteTable()
ONE = "/guilds/{guild_id}/members/{user_id}"
_NEEDED = {
    "nick": Permission.MANAGE_NICKNAMES,
    "roles": Permission.MANAGE_ROLES,
    "communication_disabled_until": Permission.MODERATE_MEMBERS,
    "mute": Permission.MUTE_MEMBERS,
    "deaf": Permission.DEAFEN_MEMBERS,
}


@routes.on("GET", "/guilds/{guild_id}/members/search")
async def search(call: RouteCall) -> object:
    """Find members by the beginning of a name or nickname."""
    guild = guild_of(call)
    start, most = call.query["query"].lower(), call.number("limit", 1, 1, 1000)
    people = [m for m in guild.members.values() if _called(m, start)]
    return [record_payloads.member(member) for member in people[:most]]


def _called(member: Member, start: str) -> bool:
    names = (member.nick, member.user.display_name, member.user.name)
    return any(name is not None and name.lower().startswith(start) for name in names)


@routes.on("PATCH", "/guilds/{guild_id}/members/@me")
async def change_self(call: RouteCall) -> object:
    """Change how the bot looks in this guild. Only the nickname needs a permission."""
    body = call.body
    guild = guild_of(call, *([Permission.CHANGE_NICKNAME] if "nick" in body else []))
    member = guild.members[call.state.world.bot.id]
    given = {key: image_data(body[key], key) for key in ("avatar", "banner") if key in body}
    if given:
        call.state.limits.enter_hidden(OWN_PICTURES_LIMIT, str(guild.id), 0)
    for key, content in given.items():
        setattr(member, key, _kept_picture(call, content))
    member.nick = (body["nick"] or None) if "nick" in body else member.nick
    member.bio = (body["bio"] or None) if "bio" in body else member.bio
    return member_changes.changed(call.state, guild, member)


def _kept_picture(call: RouteCall, content: bytes | None) -> str | None:
    if content is None:
        return None
    number = picture_hash(content)
    call.state.world.pictures[number] = content
    return number


@routes.on("PATCH", ONE)
async def change(call: RouteCall) -> object:
    needed = [permission for key, permission in _NEEDED.items() if key in call.body]
    guild = guild_of(call, *needed)
    member = member_of(call, guild)
    require_above(call, guild, member.user.id)
    if call.body.get("channel_id") is not None:
        raise refusal(40032)
    _apply(call, guild, member)
    action = AuditAction.MEMBER_ROLE_UPDATE if "roles" in call.body else AuditAction.MEMBER_UPDATE
    audit_log.note(call.state, guild, action, member.user.id, call.reason)
    return member_changes.changed(call.state, guild, member)


def _apply(call: RouteCall, guild: Guild, member: Member) -> None:
    body = call.body
    if "roles" in body:
        wanted = field_types.ids(body, "roles")
        for number in wanted:
            _assignable(call, guild, number, held=number in member.roles)
        member.roles = list(dict.fromkeys(wanted))
    if "nick" in body:
        member.nick = body["nick"] or None
    if "communication_disabled_until" in body:
        member.timeout_until = body["communication_disabled_until"]
    member.mute = bool(body.get("mute", member.mute))
    member.deaf = bool(body.get("deaf", member.deaf))


def _assignable(call: RouteCall, guild: Guild, role_id: int, *, held: bool = False) -> None:
    role = guild.roles.get(role_id)
    if role is None:
        raise refusal(10011)
    above = role.position >= top_position(guild, call.state.world.bot.id)
    if not held and (above or role.managed):
        raise refusal(50013)


@routes.on("DELETE", ONE)
async def kick(call: RouteCall) -> object:
    guild = guild_of(call, Permission.KICK_MEMBERS)
    member = member_of(call, guild)
    require_above(call, guild, member.user.id)
    member_changes.leave(call.state, guild, member.user.id)
    audit_log.note(call.state, guild, AuditAction.MEMBER_KICK, member.user.id, call.reason)
    return None


@routes.on("PUT", ONE + "/roles/{role_id}")
async def give_role(call: RouteCall) -> object:
    guild, member, number = _role_change(call)
    if number not in member.roles:
        member.roles.append(number)
    member_changes.changed(call.state, guild, member)
    return None


@routes.on("DELETE", ONE + "/roles/{role_id}")
async def take_role(call: RouteCall) -> object:
    guild, member, number = _role_change(call)
    if number in member.roles:
        member.roles.remove(number)
    member_changes.changed(call.state, guild, member)
    return None


def _role_change(call: RouteCall) -> tuple[Guild, Member, int]:
    guild = guild_of(call, Permission.MANAGE_ROLES)
    member, number = member_of(call, guild), call.id("role_id")
    _assignable(call, guild, number)
    audit_log.note(call.state, guild, AuditAction.MEMBER_ROLE_UPDATE, member.user.id, call.reason)
    return guild, member, number
