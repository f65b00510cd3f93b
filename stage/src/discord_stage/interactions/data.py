"""Builds an interaction's `data`: a command with its options, a button or a menu, a menu entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discord_stage.errors import StageError
from discord_stage.interactions.entered_values import find_option, option_values, selected
from discord_stage.interactions.targets import ResolvedTargets
from discord_stage.payloads.message_payloads import components
from discord_stage.rules.components import BUTTON, LINK, SELECTS, walk
from discord_stage.world.records import Command, Json, StageMessage
from discord_stage.world.world_state import Key, World

SLASH, USER_MENU, MESSAGE_MENU = 1, 2, 3
SUBCOMMAND, GROUP = 1, 2


def component(
    message: StageMessage, wanted: str, values: Sequence[Key] | None, targets: ResolvedTargets
) -> Json:
    """Build the data of a button (label or custom id) or select (custom id or placeholder)."""
    there = list(walk(components(message.components)))
    items = [item for item in there if item.get("custom_id")]
    for item in items:
        if wanted not in (item["custom_id"], item.get("label"), item.get("placeholder")):
            continue
        if item.get("disabled"):
            what = "button" if item["type"] == BUTTON else "menu"
            raise StageError(f"the {what} {wanted!r} is disabled")
        return _used(item, wanted, values, targets)
    if any(i.get("style") == LINK and i.get("label") == wanted for i in there):
        raise StageError(f"{wanted!r} is a link: pressing it tells the bot nothing")
    names = ", ".join(repr(i.get("label") or i["custom_id"]) for i in items if i["type"] == BUTTON)
    raise StageError(f"the message has no button {wanted!r}; it has {names or 'none'}")


def _used(item: Json, wanted: str, values: Sequence[Key] | None, targets: ResolvedTargets) -> Json:
    data: Json = {"custom_id": item["custom_id"], "component_type": item["type"], "id": item["id"]}
    if item["type"] not in SELECTS:
        if values is not None:
            raise StageError(f"{wanted!r} is a button: it takes no values")
        return data
    data["values"] = selected(item, [] if values is None else values, targets, repr(wanted))
    return data | ({"resolved": targets.found} if targets.found else {})


def command_data(
    world: World,
    line: str,
    options: Mapping[str, object],
    targets: ResolvedTargets,
    *,
    focused: str | None = None,
) -> Json:
    name, *path = line.removeprefix("/").split() or [""]
    command = _find(world, name)
    level = command.payload.get("options") or []
    steps: list[Json] = []
    for word in path:
        step = find_option(level, word, f"/{line}")
        steps.append(step)
        level = step.get("options") or []
    if any(option["type"] in (SUBCOMMAND, GROUP) for option in level):
        subs = ", ".join(option["name"] for option in level)
        raise StageError(f"/{line} needs a subcommand: {subs}")
    chosen = option_values(level, options, f"/{line}", targets, focused)
    for step in reversed(steps):
        chosen = [{"type": step["type"], "name": step["name"], "options": chosen}]
    data = _named(command, SLASH) | {"options": chosen}
    return data | ({"resolved": targets.found} if targets.found else {})


def message_menu_data(
    world: World, name: str, message: StageMessage, targets: ResolvedTargets
) -> Json:
    """Build the data of an entry in the context menu of a message."""
    command = _find(world, name, MESSAGE_MENU)
    target = targets.message(message)
    return _named(command, MESSAGE_MENU) | {"target_id": target, "resolved": targets.found}


def user_menu_data(world: World, name: str, person: Key, targets: ResolvedTargets) -> Json:
    """Build the data of an entry in the context menu of a person."""
    command = _find(world, name, USER_MENU)
    target = targets.user(person)
    return _named(command, USER_MENU) | {"target_id": target, "resolved": targets.found}


def _named(command: Command, kind: int) -> Json:
    data: Json = {"id": str(command.id), "name": command.payload["name"], "type": kind}
    if command.guild_id is not None:
        data["guild_id"] = str(command.guild_id)
    return data


def _find(world: World, name: str, kind: int = SLASH) -> Command:
    there = [c for c in world.commands.values() if (c.payload.get("type") or SLASH) == kind]
    for command in there:
        if command.payload["name"] == name:
            return command
    slash = "/" if kind == SLASH else ""
    known = ", ".join(sorted(f"{slash}{c.payload['name']}" for c in there))
    raise StageError(f"no command {slash}{name} is registered; there are {known or 'none'}")
