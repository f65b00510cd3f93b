"""Application commands: registered in bulk or one by one, globally or for a guild."""

from __future__ import annotations

import re

from discord_stage.payloads import record_payloads
from discord_stage.refusals import FormErrors, bad_form, refusal
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.rules import field_types
from discord_stage.world.records import Command, Json

routes = RouteTable()
COMMANDS_MOST = 100
DESCRIPTION_MOST = 100
OPTIONS_MOST = 25
NAME_MOST = 32
CHAT_INPUT = 1
KINDS = (1, 2, 3, 4)
_SLASH_NAME = re.compile(r"[-_'\w]{1,32}")
EVERYWHERE = "/applications/{application_id}/commands"
IN_GUILD = "/applications/{application_id}/guilds/{guild_id}/commands"


def _scope(call: RouteCall) -> int | None:
    world = call.state.world
    if call.id("application_id") != world.application.id:
        raise refusal(50001)
    return world.find_guild(call.id("guild_id")).id if "guild_id" in call.path else None


def _of(call: RouteCall, guild_id: int | None) -> list[Command]:
    return [c for c in call.state.world.commands.values() if c.guild_id == guild_id]


def _find(call: RouteCall) -> Command:
    guild_id = _scope(call)
    command = call.state.world.commands.get(call.id("command_id"))
    if command is None or command.guild_id != guild_id:
        raise refusal(10063)
    return command


def _check(payload: Json, place: tuple[str | int, ...], errors: FormErrors) -> None:
    name = str(payload.get("name") or "")
    kind = payload.get("type", CHAT_INPUT)
    if not isinstance(kind, int) or kind not in KINDS:
        errors.add((*place, "type"), "BASE_TYPE_CHOICES", f"Value must be one of {KINDS}.")
    if kind == CHAT_INPUT:
        if not _SLASH_NAME.fullmatch(name) or name != name.lower():
            message = "Command name is invalid"
            errors.add((*place, "name"), "APPLICATION_COMMAND_INVALID_NAME", message)
        description = str(payload.get("description") or "")
        errors.bad_length((*place, "description"), description, 1, DESCRIPTION_MOST)
    else:
        errors.bad_length((*place, "name"), name, 1, NAME_MOST)
    _check_options(payload, place, errors)


def _check_options(payload: Json, place: tuple[str | int, ...], errors: FormErrors) -> None:
    """Check that each option has a name and a type, also inside groups and subcommands."""
    options = field_types.objects(payload, "options")
    if len(options) > OPTIONS_MOST:
        message = f"Must be {OPTIONS_MOST} or fewer in length."
        errors.add((*place, "options"), "BASE_TYPE_MAX_LENGTH", message)
    for number, option in enumerate(options):
        inside = (*place, "options", number)
        if not isinstance(option.get("name"), str):
            errors.required((*inside, "name"))
        if not isinstance(option.get("type"), int):
            errors.required((*inside, "type"))
        for at, choice in enumerate(field_types.objects(option, "choices")):
            if "value" not in choice:
                errors.required((*inside, "choices", at, "value"))
        _check_options(option, inside, errors)


def _add(call: RouteCall, guild_id: int | None, payload: Json) -> Command:
    """Add a command. It replaces one of the same name and kind, and keeps its id."""
    kind = payload.get("type", CHAT_INPUT)
    for old in _of(call, guild_id):
        same_kind = old.payload.get("type", CHAT_INPUT) == kind
        if old.payload["name"] == payload["name"] and same_kind:
            old.payload = payload
            return old
    command = Command(call.state.world.snowflakes.new(), guild_id, payload)
    call.state.world.commands[command.id] = command
    call.state.changes.notify()
    return command


@routes.on("PUT", EVERYWHERE)
@routes.on("PUT", IN_GUILD)
async def overwrite(call: RouteCall) -> object:
    guild_id = _scope(call)
    errors = FormErrors()
    if not isinstance(call.value, list):
        raise bad_form((), "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
    entries = field_types.objects({"": call.value}, "")
    for number, payload in enumerate(entries):
        _check(payload, (number,), errors)
    errors.raise_if_any()
    if len(entries) > COMMANDS_MOST:
        raise refusal(30032)
    commands = [_add(call, guild_id, payload) for payload in entries]
    kept = {command.id for command in commands}
    for old in _of(call, guild_id):
        if old.id not in kept:
            del call.state.world.commands[old.id]
    return [record_payloads.command(call.state.world, command) for command in commands]


@routes.on("GET", EVERYWHERE)
@routes.on("GET", IN_GUILD)
async def listed(call: RouteCall) -> object:
    return [record_payloads.command(call.state.world, c) for c in _of(call, _scope(call))]


@routes.on("POST", EVERYWHERE)
@routes.on("POST", IN_GUILD)
async def add(call: RouteCall) -> object:
    guild_id = _scope(call)
    errors = FormErrors()
    _check(call.body, (), errors)
    errors.raise_if_any()
    known = set(call.state.world.commands)
    command = _add(call, guild_id, call.body)
    call.created = command.id not in known
    return record_payloads.command(call.state.world, command)


@routes.on("GET", EVERYWHERE + "/{command_id}")
@routes.on("GET", IN_GUILD + "/{command_id}")
async def one(call: RouteCall) -> object:
    return record_payloads.command(call.state.world, _find(call))


@routes.on("PATCH", EVERYWHERE + "/{command_id}")
@routes.on("PATCH", IN_GUILD + "/{command_id}")
async def change(call: RouteCall) -> object:
    command = _find(call)
    payload = command.payload | call.body
    errors = FormErrors()
    _check(payload, (), errors)
    errors.raise_if_any()
    command.payload = payload
    return record_payloads.command(call.state.world, command)


@routes.on("DELETE", EVERYWHERE + "/{command_id}")
@routes.on("DELETE", IN_GUILD + "/{command_id}")
async def delete(call: RouteCall) -> object:
    del call.state.world.commands[_find(call).id]
    return None
