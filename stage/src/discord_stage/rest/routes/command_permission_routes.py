"""Who may use a command in a guild, as its administrators have set it."""

from __future__ import annotations

from discord_stage.refusals import refusal
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.world.records import Guild, Json

routes = RouteTable()
ALL = "/applications/{application_id}/guilds/{guild_id}/commands"
ONE = ALL + "/{command_id}/permissions"


def _guild(call: RouteCall) -> Guild:
    world = call.state.world
    if call.id("application_id") != world.application.id:
        raise refusal(50001)
    return world.find_guild(call.id("guild_id"))


def _permissions_payload(call: RouteCall, guild: Guild, command_id: int) -> Json:
    return {
        "id": str(command_id),
        "application_id": str(call.state.world.application.id),
        "guild_id": str(guild.id),
        "permissions": guild.command_permissions[command_id],
    }


@routes.on("GET", ALL + "/permissions")
async def every(call: RouteCall) -> object:
    guild = _guild(call)
    return [_permissions_payload(call, guild, number) for number in guild.command_permissions]


@routes.on("GET", ONE)
async def one(call: RouteCall) -> object:
    guild, number = _guild(call), call.id("command_id")
    if number not in guild.command_permissions:
        raise refusal(10066 if number in call.state.world.commands else 10063)
    return _permissions_payload(call, guild, number)


@routes.on("PUT", ONE)
async def put(call: RouteCall) -> object:
    """Set permissions.

    Discord needs a user's OAuth2 token for this; the stage accepts the bot's.
    """
    guild, number = _guild(call), call.id("command_id")
    if number not in call.state.world.commands:
        raise refusal(10063)
    entries = call.body.get("permissions") or []
    guild.command_permissions[number] = [
        {"id": str(entry["id"]), "type": entry["type"], "permission": entry["permission"]}
        for entry in entries
    ]
    shown = _permissions_payload(call, guild, number)
    call.state.emit("APPLICATION_COMMAND_PERMISSIONS_UPDATE", shown, guild_id=guild.id)
    return shown
