"""Rules of automatic moderation. Rules that block keywords apply to what people write."""

from __future__ import annotations

from discord_stage.refusals import not_found
from discord_stage.rest.routes.guild.guild_access import guild_of
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Guild, Json
from discord_stage.world_changes import audit_log
from discord_stage.world_changes.audit_log import AuditAction

routes = RouteTable()
ALL = "/guilds/{guild_id}/auto-moderation/rules"
ONE = ALL + "/{rule_id}"
_METADATA: dict[int, Json] = {
    1: {"keyword_filter": [], "regex_patterns": [], "allow_list": []},
    3: {},
    4: {"allow_list": [], "presets": []},
    5: {"mention_total_limit": 20, "mention_raid_protection_enabled": False},
    6: {"keyword_filter": [], "regex_patterns": [], "allow_list": []},
}
"""The metadata of each kind of trigger."""


def _rule(call: RouteCall, guild: Guild) -> Json:
    rule = guild.automod_rules.get(call.id("rule_id"))
    if rule is None:
        raise not_found()
    return rule


def _apply(rule: Json, body: Json) -> None:
    for key in ("name", "event_type", "enabled"):
        if body.get(key) is not None:
            rule[key] = body[key]
    for key in ("exempt_roles", "exempt_channels"):
        if body.get(key) is not None:
            rule[key] = [str(number) for number in body[key]]
    if body.get("actions") is not None:
        rule["actions"] = [
            {"type": action["type"], "metadata": _metadata(action)} for action in body["actions"]
        ]
    known = _METADATA[rule["trigger_type"]]
    given = body.get("trigger_metadata") or {}
    rule["trigger_metadata"] |= {key: given[key] for key in known if given.get(key) is not None}


def _metadata(action: Json) -> Json:
    given = action.get("metadata") or {}
    return {k: str(v) if k == "channel_id" else v for k, v in given.items() if v is not None}


def _announce(call: RouteCall, what: str, guild: Guild, rule: Json) -> None:
    call.state.emit(f"AUTO_MODERATION_RULE_{what}", dict(rule), guild_id=guild.id)
    action = AuditAction[f"AUTOMOD_RULE_{what}"]
    audit_log.note(call.state, guild, action, int(rule["id"]), call.reason)


@routes.on("GET", ALL)
async def rules(call: RouteCall) -> object:
    return list(guild_of(call, Permission.MANAGE_GUILD).automod_rules.values())


@routes.on("POST", ALL)
async def create(call: RouteCall) -> object:
    world, guild = call.state.world, guild_of(call, Permission.MANAGE_GUILD)
    number, kind = world.snowflakes.new(), call.body["trigger_type"]
    rule: Json = {
        "id": str(number),
        "guild_id": str(guild.id),
        "creator_id": str(world.bot.id),
        "trigger_type": kind,
        "enabled": False,
        "exempt_roles": [],
        "exempt_channels": [],
        "actions": [{"type": 1, "metadata": {}}],
        "trigger_metadata": dict(_METADATA[kind]),
    }
    _apply(rule, call.body)
    guild.automod_rules[number] = rule
    _announce(call, "CREATE", guild, rule)
    return rule


@routes.on("GET", ONE)
async def one(call: RouteCall) -> object:
    return _rule(call, guild_of(call, Permission.MANAGE_GUILD))


@routes.on("PATCH", ONE)
async def change(call: RouteCall) -> object:
    guild = guild_of(call, Permission.MANAGE_GUILD)
    rule = _rule(call, guild)
    _apply(rule, call.body)
    _announce(call, "UPDATE", guild, rule)
    return rule


@routes.on("DELETE", ONE)
async def delete(call: RouteCall) -> object:
    guild = guild_of(call, Permission.MANAGE_GUILD)
    rule = _rule(call, guild)
    del guild.automod_rules[int(rule["id"])]
    _announce(call, "DELETE", guild, rule)
    return None
