"""Voice states. The stage has no voice: nobody is ever in a voice channel."""

from __future__ import annotations

from discord_stage.refusals import refusal
from discord_stage.rest.routes.guild.guild_access import guild_of
from discord_stage.rest.routing import RouteCall, RouteTable

routes = RouteTable()
ALL = "/guilds/{guild_id}/voice-states"


@routes.on("GET", ALL + "/{user_id}")
@routes.on("GET", ALL + "/@me")
@routes.on("PATCH", ALL + "/{user_id}")
@routes.on("PATCH", ALL + "/@me")
async def nobody(call: RouteCall) -> object:
    guild_of(call)
    raise refusal(10065)


@routes.on("GET", "/guilds/{guild_id}/regions")
@routes.on("GET", "/voice/regions")
async def regions(_call: RouteCall) -> object:
    region = {"id": "stage", "name": "Stage", "custom": False, "deprecated": False}
    return [region | {"optimal": True}]


@routes.on("GET", "/soundboard-default-sounds")
async def sounds(_call: RouteCall) -> object:
    """Return no sounds. py-cord asks for them before it is ready."""
    return []
