"""The audit log, newest first."""

from __future__ import annotations

from discord_stage.payloads import record_payloads
from discord_stage.rest.routes.guild.guild_access import guild_of
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.world.ids import number_in
from discord_stage.world.permissions import Permission

routes = RouteTable()


@routes.on("GET", "/guilds/{guild_id}/audit-logs")
async def audit_log(call: RouteCall) -> object:
    guild, world = guild_of(call, Permission.VIEW_AUDIT_LOG), call.state.world
    before, after = call.optional_id("before"), call.optional_id("after")
    entries = [
        entry
        for entry in guild.audit_log
        if (before is None or int(entry["id"]) < before)
        and (after is None or int(entry["id"]) > after)
        and call.query.get("user_id", entry["user_id"]) == entry["user_id"]
        and call.query.get("action_type", str(entry["action_type"])) == str(entry["action_type"])
    ]
    newest = entries[::-1] if after is None else entries
    picked = newest[: call.number("limit", 50, 1, 100)]
    named = {number_in(entry[key]) for entry in picked for key in ("user_id", "target_id")}
    return {
        "audit_log_entries": picked,
        "users": [record_payloads.user(u) for u in world.users.values() if u.id in named],
        "integrations": [],
        "webhooks": [],
        "guild_scheduled_events": [],
        "threads": [],
        "application_commands": [],
        "auto_moderation_rules": [],
    }
