"""Roles: create, change, move, delete."""

from __future__ import annotations

from collections import Counter

from discord_stage.payloads import record_payloads
from discord_stage.refusals import refusal
from discord_stage.rest.routes.guild.guild_access import guild_of
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.rules import field_types
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Guild, Json, Role
from discord_stage.world_changes import audit_log
from discord_stage.world_changes.audit_log import AuditAction
from discord_stage.world_changes.member_changes import top_position

routes = RouteTable()
ALL = "/guilds/{guild_id}/roles"
ROLES_MOST = 250


def _announce(call: RouteCall, name: str, guild: Guild, role: Role) -> Json:
    shown = record_payloads.role(role)
    call.state.emit(name, {"guild_id": str(guild.id), "role": shown}, guild_id=guild.id)
    return shown


def _role(call: RouteCall, guild: Guild) -> Role:
    role = guild.roles.get(call.id("role_id"))
    if role is None:
        raise refusal(10011)
    return role


def _changeable(call: RouteCall, guild: Guild) -> Role:
    """Return a role that the bot may change: one below its own highest role."""
    role = _role(call, guild)
    if role.position >= top_position(guild, call.state.world.bot.id):
        raise refusal(50013)
    return role


def _apply(role: Role, body: Json) -> None:
    if body.get("name") is not None:
        role.name = body["name"]
    role.permissions = field_types.whole(body, "permissions", role.permissions)
    colors = body.get("colors") or {}
    role.color = field_types.whole(
        body, "color", field_types.whole(colors, "primary_color", role.color)
    )
    role.hoist = bool(body.get("hoist", role.hoist))
    role.mentionable = bool(body.get("mentionable", role.mentionable))
    if "unicode_emoji" in body:
        role.unicode_emoji = body["unicode_emoji"]


@routes.on("POST", ALL)
async def create(call: RouteCall) -> object:
    guild = guild_of(call, Permission.MANAGE_ROLES)
    if len(guild.roles) >= ROLES_MOST:
        raise refusal(30005)
    everyone = guild.roles[guild.id]
    role = Role(call.state.world.snowflakes.new(), "new role", everyone.permissions, 1)
    for other in guild.roles.values():
        other.position += 1 if other.position >= 1 else 0
    _apply(role, call.body)
    guild.roles[role.id] = role
    audit_log.note(call.state, guild, AuditAction.ROLE_CREATE, role.id, call.reason)
    return _announce(call, "GUILD_ROLE_CREATE", guild, role)


@routes.on("GET", ALL + "/member-counts")
async def member_counts(call: RouteCall) -> object:
    guild = guild_of(call)
    held = Counter(role for member in guild.members.values() for role in member.roles)
    return {str(role): held[role] for role in guild.roles if role != guild.id}


@routes.on("GET", ALL + "/{role_id}")
async def one(call: RouteCall) -> object:
    return record_payloads.role(_role(call, guild_of(call)))


@routes.on("PATCH", ALL + "/{role_id}")
async def change(call: RouteCall) -> object:
    guild = guild_of(call, Permission.MANAGE_ROLES)
    role = _changeable(call, guild)
    _apply(role, call.body)
    audit_log.note(call.state, guild, AuditAction.ROLE_UPDATE, role.id, call.reason)
    return _announce(call, "GUILD_ROLE_UPDATE", guild, role)


@routes.on("PATCH", ALL)
async def move(call: RouteCall) -> object:
    guild = guild_of(call, Permission.MANAGE_ROLES)
    entries = call.value if isinstance(call.value, list) else []
    for entry in entries:
        role = guild.roles.get(field_types.whole(entry, "id"))
        if role is None:
            raise refusal(10011)
        role.position = field_types.whole(entry, "position", role.position)
        _announce(call, "GUILD_ROLE_UPDATE", guild, role)
    return [record_payloads.role(role) for role in guild.roles.values()]


@routes.on("DELETE", ALL + "/{role_id}")
async def delete(call: RouteCall) -> object:
    guild = guild_of(call, Permission.MANAGE_ROLES)
    role = _changeable(call, guild)
    if role.managed or role.id == guild.id:
        raise refusal(50028)
    del guild.roles[role.id]
    for member in guild.members.values():
        member.roles = [number for number in member.roles if number != role.id]
    data: Json = {"guild_id": str(guild.id), "role_id": str(role.id)}
    call.state.emit("GUILD_ROLE_DELETE", data, guild_id=guild.id)
    audit_log.note(call.state, guild, AuditAction.ROLE_DELETE, role.id, call.reason)
    return None
