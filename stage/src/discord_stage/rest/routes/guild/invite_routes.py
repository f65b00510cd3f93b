"""Invites: create for a channel, list, look up, revoke. `people.join` uses one."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta

from discord_stage.payloads import record_payloads
from discord_stage.refusals import refusal
from discord_stage.rest.routes.guild.guild_access import guild_of
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.world.ids import iso
from discord_stage.world.permissions import Permission, in_guild
from discord_stage.world.records import Channel, Guild, Json
from discord_stage.world_changes import audit_log
from discord_stage.world_changes.audit_log import AuditAction

routes = RouteTable()
DAY_S = 86_400
_OF_GUILD = (
    *("id", "name", "splash", "banner", "description", "icon", "features"),
    *("verification_level", "vanity_url_code", "nsfw_level", "nsfw", "premium_subscription_count"),
)


def _new(call: RouteCall, channel: Channel, guild: Guild) -> Json:
    now, body = datetime.now(UTC), call.body
    age_s = DAY_S if body.get("max_age") is None else body["max_age"]
    whole = record_payloads.guild(guild)
    invite: Json = {
        "type": 0,
        "code": secrets.token_urlsafe(6).replace("-", "x").replace("_", "y"),
        "guild": {key: whole[key] for key in _OF_GUILD},
        "guild_id": str(guild.id),
        "channel": {"id": str(channel.id), "type": int(channel.type), "name": channel.name},
        "inviter": record_payloads.user(call.state.world.bot),
        "uses": 0,
        "max_uses": body.get("max_uses") or 0,
        "max_age": age_s,
        "temporary": body.get("temporary") is True,
        "created_at": iso(now),
        "expires_at": iso(now + timedelta(seconds=age_s)) if age_s else None,
    }
    guild.invites[invite["code"]] = invite
    return invite


@routes.on("POST", "/channels/{channel_id}/invites")
async def create(call: RouteCall) -> object:
    channel = call.channel(Permission.CREATE_INSTANT_INVITE)
    guild = call.state.world.guild_of(channel)
    if guild is None:
        raise refusal(50024)
    invite = _new(call, channel, guild)
    data = {"guild_id": str(guild.id), "channel_id": str(channel.id)} | {
        key: invite[key]
        for key in ("code", "created_at", "inviter", "max_age", "max_uses", "temporary", "uses")
    }
    call.state.emit("INVITE_CREATE", data, guild_id=guild.id, channel_id=channel.id)
    audit_log.note(call.state, guild, AuditAction.INVITE_CREATE, channel.id, call.reason)
    return invite


@routes.on("GET", "/channels/{channel_id}/invites")
async def of_channel(call: RouteCall) -> object:
    channel = call.channel(Permission.MANAGE_CHANNELS)
    guild = call.state.world.guild_of(channel)
    there = guild.invites.values() if guild else ()
    return [invite for invite in there if invite["channel"]["id"] == str(channel.id)]


@routes.on("GET", "/guilds/{guild_id}/invites")
async def of_guild(call: RouteCall) -> object:
    return list(guild_of(call, Permission.MANAGE_GUILD).invites.values())


def _find(call: RouteCall) -> tuple[Guild, Json]:
    for guild in call.state.world.guilds.values():
        invite = guild.invites.get(call.path["code"])
        if invite is not None:
            return guild, invite
    raise refusal(10006)


@routes.on("GET", "/invites/{code}")
async def one(call: RouteCall) -> object:
    guild, invite = _find(call)
    return invite | record_payloads.counts(guild) if call.flag("with_counts") else invite


@routes.on("DELETE", "/invites/{code}")
async def revoke(call: RouteCall) -> object:
    guild, invite = _find(call)
    if not in_guild(guild, call.state.world.bot.id) & Permission.MANAGE_GUILD:
        raise refusal(50013)
    del guild.invites[invite["code"]]
    channel_id = invite["channel"]["id"]
    data = {"guild_id": str(guild.id), "channel_id": channel_id, "code": invite["code"]}
    call.state.emit("INVITE_DELETE", data, guild_id=guild.id, channel_id=int(channel_id))
    audit_log.note(call.state, guild, AuditAction.INVITE_DELETE, int(channel_id), call.reason)
    return invite
