"""The bot itself, other users, DMs, and where the gateway is."""

from __future__ import annotations

from discord_stage.payloads import record_payloads
from discord_stage.refusals import refusal
from discord_stage.rest.routing import RouteCall, RouteTable, snowflake
from discord_stage.rules.webhook_names import check_avatar_data
from discord_stage.world.permissions import in_guild

SESSION_STARTS = 1000
"""How many sessions a bot may start in a day."""

routes = RouteTable()


@routes.on("GET", "/users/@me")
async def own_user(call: RouteCall) -> object:
    return record_payloads.own_user(call.state.world)


@routes.on("PATCH", "/users/@me")
async def change_self(call: RouteCall) -> object:
    bot = call.state.world.bot
    bot.name = call.body.get("username") or bot.name
    if "avatar" in call.body:
        bot.avatar = check_avatar_data(call.body["avatar"])
    shown = record_payloads.own_user(call.state.world)
    call.state.emit("USER_UPDATE", shown)
    return shown


@routes.on("GET", "/oauth2/applications/@me")
@routes.on("GET", "/applications/@me")
async def own_application(call: RouteCall) -> object:
    return record_payloads.application(call.state.world)


@routes.on("GET", "/gateway/bot")
async def gateway(call: RouteCall) -> object:
    settings, left = call.state.settings, call.hub.starts_left()
    limit = {
        "total": SESSION_STARTS,
        "remaining": SESSION_STARTS if left is None else left,
        "reset_after": 86_400_000,
        "max_concurrency": settings.max_concurrency,
    }
    url = call.state.url.replace("http", "ws", 1) + "/gw/"
    return {"url": url, "shards": settings.shards, "session_start_limit": limit}


@routes.on("GET", "/gateway")
async def gateway_url(call: RouteCall) -> object:
    return {"url": call.state.url.replace("http", "ws", 1) + "/gw/"}


@routes.on("GET", "/users/@me/guilds")
async def own_guilds(call: RouteCall) -> object:
    world, counted = call.state.world, call.flag("with_counts")
    return [
        record_payloads.partial_guild(guild, owner=False, permissions=in_guild(guild, world.bot.id))
        | (record_payloads.counts(guild) if counted else {})
        for guild in world.guilds.values()
    ]


@routes.on("POST", "/users/@me/channels")
async def open_dm(call: RouteCall) -> object:
    world = call.state.world
    user = world.find_user(snowflake(str(call.body.get("recipient_id", "")), "recipient_id"))
    if user.bot:
        raise refusal(50007)
    return record_payloads.channel(world, world.dm_with(user.id))


@routes.on("GET", "/users/{user_id}")
async def one_user(call: RouteCall) -> object:
    return record_payloads.user(call.state.world.find_user(call.id("user_id")))
