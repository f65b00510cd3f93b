"""The first checks of the routes of a guild: which guild it is, and whether the bot may do this."""

from __future__ import annotations

from discord_stage.refusals import refusal
from discord_stage.rest.routing import RouteCall
from discord_stage.world.permissions import Permission, in_guild
from discord_stage.world.records import Guild, Member
from discord_stage.world_changes.member_changes import top_position


def guild_of(call: RouteCall, *needed: Permission) -> Guild:
    """Return the guild in the path, if the bot has the permission there."""
    guild = call.state.world.find_guild(call.id("guild_id"))
    granted = in_guild(guild, call.state.world.bot.id)
    if any(not granted & permission for permission in needed):
        raise refusal(50013)
    return guild


def may_manage(call: RouteCall, guild: Guild, permission: Permission) -> bool:
    return bool(in_guild(guild, call.state.world.bot.id) & permission)


def member_of(call: RouteCall, guild: Guild) -> Member:
    member = guild.members.get(call.id("user_id"))
    if member is None:
        raise refusal(10007)
    return member


def require_above(call: RouteCall, guild: Guild, user_id: int) -> None:
    """Refuse to moderate the owner, or a member whose highest role is not below the bot's."""
    bot_id = call.state.world.bot.id
    if user_id != bot_id and top_position(guild, user_id) >= top_position(guild, bot_id):
        raise refusal(50013)
