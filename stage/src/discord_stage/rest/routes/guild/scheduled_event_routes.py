"""Scheduled events: create, change, delete, and who is interested (on the stage nobody is)."""

from __future__ import annotations

from discord_stage.payloads import record_payloads
from discord_stage.refusals import bad_form, refusal
from discord_stage.rest.routes.guild.guild_access import guild_of
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Guild, Json
from discord_stage.world_changes import audit_log
from discord_stage.world_changes.audit_log import AuditAction

routes = RouteTable()
ALL = "/guilds/{guild_id}/scheduled-events"
ONE = ALL + "/{event_id}"
EXTERNAL = 3
_KEYS = (
    *("name", "description", "channel_id", "image", "scheduled_start_time"),
    *("scheduled_end_time", "status", "entity_type", "privacy_level", "entity_metadata"),
    "recurrence_rule",
)


def _event(call: RouteCall, guild: Guild) -> Json:
    event = guild.scheduled_events.get(call.id("event_id"))
    if event is None:
        raise refusal(10070)
    return event


def _apply(event: Json, body: Json) -> None:
    event |= {key: body[key] for key in _KEYS if key in body}
    if event["channel_id"] is not None:
        event["channel_id"] = str(event["channel_id"])
    event["image"] = None
    if event["entity_type"] == EXTERNAL:
        _check_external(event)


def _check_external(event: Json) -> None:
    if event["scheduled_end_time"] is None:
        message = "This field is required"
        raise bad_form(("scheduled_end_time",), "BASE_TYPE_REQUIRED", message)


def _announce(call: RouteCall, what: str, guild: Guild, event: Json) -> None:
    shown = {key: value for key, value in event.items() if key != "creator"}
    call.state.emit(f"GUILD_SCHEDULED_EVENT_{what}", shown, guild_id=guild.id)


@routes.on("GET", ALL)
async def events(call: RouteCall) -> object:
    counted = {"user_count": 0} if call.flag("with_user_count") else {}
    return [event | counted for event in guild_of(call).scheduled_events.values()]


@routes.on("POST", ALL)
async def create(call: RouteCall) -> object:
    world, guild = call.state.world, guild_of(call, Permission.CREATE_EVENTS)
    number = world.snowflakes.new()
    event: Json = {
        "id": str(number),
        "guild_id": str(guild.id),
        "creator_id": str(world.bot.id),
        "creator": record_payloads.user(world.bot),
        "description": None,
        "channel_id": None,
        "scheduled_end_time": None,
        "status": 1,
        "entity_id": None,
        "entity_metadata": None,
        "recurrence_rule": None,
        "guild_scheduled_event_exceptions": [],
    }
    event["entity_type"] = call.body["entity_type"]
    _apply(event, call.body)
    guild.scheduled_events[number] = event
    _announce(call, "CREATE", guild, event)
    audit_log.note(call.state, guild, AuditAction.SCHEDULED_EVENT_CREATE, number, call.reason)
    return event


@routes.on("GET", ONE)
async def one(call: RouteCall) -> object:
    return _event(call, guild_of(call))


@routes.on("PATCH", ONE)
async def change(call: RouteCall) -> object:
    guild = guild_of(call, Permission.MANAGE_EVENTS)
    event = _event(call, guild)
    _apply(event, call.body)
    _announce(call, "UPDATE", guild, event)
    number = int(event["id"])
    audit_log.note(call.state, guild, AuditAction.SCHEDULED_EVENT_UPDATE, number, call.reason)
    return event


@routes.on("DELETE", ONE)
async def delete(call: RouteCall) -> object:
    guild = guild_of(call, Permission.MANAGE_EVENTS)
    event = _event(call, guild)
    number = int(event["id"])
    del guild.scheduled_events[number]
    _announce(call, "DELETE", guild, event)
    audit_log.note(call.state, guild, AuditAction.SCHEDULED_EVENT_DELETE, number, call.reason)
    return None


@routes.on("GET", ONE + "/users")
async def interested(call: RouteCall) -> object:
    _event(call, guild_of(call))
    return []
