"""The bot itself, other users, DMs, and where the gateway is."""

from __future__ import annotations

from oshaberi.stage import payloads
from oshaberi.stage.permissions import in_guild
from oshaberi.stage.refusals import refusal
from oshaberi.stage.rest.routes import Call, Routes, snowflake

routes = Routes()


@routes.on("GET", "/users/@me")
async def own_user(call: Call) -> object:
    return payloads.own_user(call.core.world)


@routes.on("GET", "/oauth2/applications/@me")
@routes.on("GET", "/applications/@me")
async def own_application(call: Call) -> object:
    return payloads.application(call.core.world)


@routes.on("GET", "/gateway/bot")
async def gateway(call: Call) -> object:
    limit = {"total": 1000, "remaining": 1000, "reset_after": 86_400_000, "max_concurrency": 1}
    url = call.core.url.replace("http", "ws", 1) + "/gw/"
    return {"url": url, "shards": 1, "session_start_limit": limit}


@routes.on("GET", "/users/@me/guilds")
async def own_guilds(call: Call) -> object:
    world = call.core.world
    return [
        payloads.guild(guild) | {"owner": False, "permissions": str(in_guild(guild, world.bot.id))}
        for guild in world.guilds.values()
    ]


@routes.on("POST", "/users/@me/channels")
async def open_dm(call: Call) -> object:
    world = call.core.world
    user = world.find_user(snowflake(str(call.body.get("recipient_id", "")), "recipient_id"))
    if user.bot:
        raise refusal(50007)
    return payloads.channel(world, world.dm_with(user.id))


@routes.on("GET", "/users/{user_id}")
async def one_user(call: Call) -> object:
    return payloads.user(call.core.world.find_user(call.id("user_id")))
