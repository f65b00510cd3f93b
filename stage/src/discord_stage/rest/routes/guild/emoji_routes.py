"""Emoji of a guild and of the application: create, rename, delete."""

from __future__ import annotations

import re

from discord_stage.payloads import record_payloads
from discord_stage.refusals import bad_form, refusal
from discord_stage.rest.routes.guild.guild_access import guild_of
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.rules.webhook_names import check_avatar_data
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Emoji, Guild, Json
from discord_stage.world_changes import audit_log
from discord_stage.world_changes.audit_log import AuditAction

routes = RouteTable()
IN_GUILD = "/guilds/{guild_id}/emojis"
OWN = "/applications/{application_id}/emojis"
GUILD_MOST, OWN_MOST = 50, 2000
_NAME = re.compile(r"\w{2,32}", re.ASCII)


def _new(call: RouteCall, there: dict[int, Emoji], most: int) -> Emoji:
    body = call.body
    _check_name(body)
    check_avatar_data(body["image"], "image")
    if len(there) >= most:
        raise refusal(30008)
    animated = str(body["image"]).startswith("data:image/gif")
    emoji = Emoji(call.state.world.snowflakes.new(), body["name"], animated)
    there[emoji.id] = emoji
    return emoji


def _check_name(body: Json) -> None:
    if "name" in body and not _NAME.fullmatch(body["name"]):
        message = "String value did not match validation regex."
        raise bad_form(("name",), "STRING_TYPE_REGEX", message)


def _emoji_payload(call: RouteCall, emoji: Emoji) -> Json:
    return record_payloads.emoji(emoji) | {"user": record_payloads.user(call.state.world.bot)}


def _one(call: RouteCall, there: dict[int, Emoji]) -> Emoji:
    emoji = there.get(call.id("emoji_id"))
    if emoji is None:
        raise refusal(10014)
    return emoji


def _announce(call: RouteCall, guild: Guild) -> None:
    shown = [record_payloads.emoji(emoji) for emoji in guild.emojis.values()]
    data: Json = {"guild_id": str(guild.id), "emojis": shown}
    call.state.emit("GUILD_EMOJIS_UPDATE", data, guild_id=guild.id)


@routes.on("POST", IN_GUILD)
async def create(call: RouteCall) -> object:
    guild = guild_of(call, Permission.CREATE_EXPRESSIONS)
    emoji = _new(call, guild.emojis, GUILD_MOST)
    _announce(call, guild)
    audit_log.note(call.state, guild, AuditAction.EMOJI_CREATE, emoji.id, call.reason)
    return _emoji_payload(call, emoji)


@routes.on("PATCH", IN_GUILD + "/{emoji_id}")
async def change(call: RouteCall) -> object:
    guild = guild_of(call, Permission.MANAGE_EXPRESSIONS)
    emoji = _one(call, guild.emojis)
    _check_name(call.body)
    emoji.name = call.body.get("name", emoji.name)
    _announce(call, guild)
    audit_log.note(call.state, guild, AuditAction.EMOJI_UPDATE, emoji.id, call.reason)
    return _emoji_payload(call, emoji)


@routes.on("DELETE", IN_GUILD + "/{emoji_id}")
async def delete(call: RouteCall) -> object:
    guild = guild_of(call, Permission.MANAGE_EXPRESSIONS)
    emoji = _one(call, guild.emojis)
    del guild.emojis[emoji.id]
    _announce(call, guild)
    audit_log.note(call.state, guild, AuditAction.EMOJI_DELETE, emoji.id, call.reason)
    return None


def _own(call: RouteCall) -> dict[int, Emoji]:
    world = call.state.world
    if call.id("application_id") != world.application.id:
        raise refusal(50001)
    return world.application_emojis


@routes.on("GET", OWN)
async def own_emojis(call: RouteCall) -> object:
    return {"items": [_emoji_payload(call, emoji) for emoji in _own(call).values()]}


@routes.on("POST", OWN)
async def create_own(call: RouteCall) -> object:
    return _emoji_payload(call, _new(call, _own(call), OWN_MOST))


@routes.on("GET", OWN + "/{emoji_id}")
async def one_own(call: RouteCall) -> object:
    return _emoji_payload(call, _one(call, _own(call)))


@routes.on("PATCH", OWN + "/{emoji_id}")
async def change_own(call: RouteCall) -> object:
    emoji = _one(call, _own(call))
    _check_name(call.body)
    emoji.name = call.body.get("name", emoji.name)
    return _emoji_payload(call, emoji)


@routes.on("DELETE", OWN + "/{emoji_id}")
async def delete_own(call: RouteCall) -> object:
    there = _own(call)
    del there[_one(call, there).id]
    return None
