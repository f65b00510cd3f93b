"""Builds an interaction's `data`: command and options, button, or modal fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oshaberi.stage.payloads import message_payloads, record_payloads
from oshaberi.stage.rules.component_rules import BUTTON, LABEL, LINK, ROW, walk
from oshaberi.stage.stage_errors import StageError
from oshaberi.stage.world.discord_records import Command, Json, StageMessage
from oshaberi.stage.world.world_state import Key, World

SLASH, MESSAGE_MENU = 1, 3
SUBCOMMAND, GROUP = 1, 2
STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, MENTIONABLE, NUMBER = 3, 4, 5, 6, 7, 8, 9, 10
_PLAIN: dict[int, tuple[type, ...]] = {
    STRING: (str,),
    INTEGER: (int,),
    BOOLEAN: (bool,),
    NUMBER: (int, float),
}


def component(message: StageMessage, wanted: str, values: Sequence[str] | None) -> Json:
    """A button by its label or custom id. A disabled one cannot be pressed."""
    items = [item for item in walk(message.components) if item.get("custom_id")]
    for item in items:
        if wanted not in (item["custom_id"], item.get("label")):
            continue
        if item.get("disabled"):
            raise StageError(f"the button {wanted!r} is disabled")
        data: Json = {"custom_id": item["custom_id"], "component_type": item["type"]}
        return data if values is None else data | {"values": list(values)}
    links = [i for i in walk(message.components) if i.get("style") == LINK]
    if any(link.get("label") == wanted for link in links):
        raise StageError(f"{wanted!r} is a link: pressing it tells the bot nothing")
    names = ", ".join(repr(i.get("label") or i["custom_id"]) for i in items if i["type"] == BUTTON)
    raise StageError(f"the message has no button {wanted!r}; it has {names or 'none'}")


def command_data(
    world: World, line: str, options: Mapping[str, object], *, focused: str | None = None
) -> Json:
    name, *path = line.removeprefix("/").split() or [""]
    command = _find(world, name)
    resolved: Json = {}
    level = command.payload.get("options") or []
    steps: list[Json] = []
    for word in path:
        step = _option(level, word, f"/{line}")
        steps.append(step)
        level = step.get("options") or []
    if any(option["type"] in (SUBCOMMAND, GROUP) for option in level):
        subs = ", ".join(option["name"] for option in level)
        raise StageError(f"/{line} needs a subcommand: {subs}")
    chosen = _values(world, level, options, f"/{line}", resolved, focused)
    for step in reversed(steps):
        chosen = [{"type": step["type"], "name": step["name"], "options": chosen}]
    data: Json = {"id": str(command.id), "name": name, "type": 1, "options": chosen}
    if command.guild_id is not None:
        data["guild_id"] = str(command.guild_id)
    return data | ({"resolved": resolved} if resolved else {})


def menu_data(world: World, name: str, message: StageMessage, url: str) -> Json:
    """An entry of the menu that opens on a message."""
    command = _find(world, name, MESSAGE_MENU)
    shown = message_payloads.message(world, message, url)
    return {
        "id": str(command.id),
        "name": name,
        "type": MESSAGE_MENU,
        "target_id": str(message.id),
        "resolved": {"messages": {str(message.id): shown}},
    }


def _find(world: World, name: str, kind: int = SLASH) -> Command:
    there = [c for c in world.commands.values() if c.payload.get("type", SLASH) == kind]
    for command in there:
        if command.payload["name"] == name:
            return command
    slash = "/" if kind == SLASH else ""
    known = ", ".join(sorted(f"{slash}{c.payload['name']}" for c in there))
    raise StageError(f"no command {slash}{name} is registered; there are {known or 'none'}")


def _option(level: Sequence[Json], name: str, where: str) -> Json:
    for option in level:
        if option["name"] == name:
            return option
    known = ", ".join(option["name"] for option in level)
    raise StageError(f"{where}: no option {name!r}; there are {known or 'none'}")


def _values(
    world: World,
    level: Sequence[Json],
    options: Mapping[str, object],
    where: str,
    resolved: Json,
    focused: str | None,
) -> list[Json]:
    chosen = []
    for name, value in options.items():
        option = _option(level, name, where)
        entry: Json = {"name": name, "type": option["type"]}
        if name == focused:
            entry |= {"value": value, "focused": True}
        else:
            entry["value"] = _value(world, option, value, where, resolved)
        chosen.append(entry)
    missing = [o["name"] for o in level if o.get("required") and o["name"] not in options]
    if missing and focused is None:
        raise StageError(f"{where}: needs {', '.join(missing)}")
    return chosen


def _value(world: World, option: Json, value: object, where: str, resolved: Json) -> object:
    kind, name = option["type"], option["name"]
    if kind in _PLAIN:
        boolean_for_number = isinstance(value, bool) and kind != BOOLEAN
        if not isinstance(value, _PLAIN[kind]) or boolean_for_number:
            raise StageError(f"{where}: {name} cannot be {value!r}")
        choices = [choice["value"] for choice in option.get("choices") or []]
        if choices and value not in choices:
            raise StageError(f"{where}: {name} must be one of {choices}")
        return value
    if not isinstance(value, int | str):
        raise StageError(f"{where}: {name} must be a name or an id")
    return _resolve(world, kind, value, where, resolved)


def _resolve(world: World, kind: int, key: Key, where: str, resolved: Json) -> str:
    if kind == USER:
        user = world.user(key)
        resolved.setdefault("users", {})[str(user.id)] = record_payloads.user(user)
        for guild in world.guilds.values():
            if user.id in guild.members:
                member = record_payloads.member(guild.members[user.id], with_user=False)
                resolved.setdefault("members", {})[str(user.id)] = member | {"permissions": "0"}
        return str(user.id)
    if kind == CHANNEL:
        channel = world.channel(key)
        shown = record_payloads.channel(world, channel) | {"permissions": "0"}
        resolved.setdefault("channels", {})[str(channel.id)] = shown
        return str(channel.id)
    if kind in (ROLE, MENTIONABLE):
        role = world.role(key)
        resolved.setdefault("roles", {})[str(role.id)] = record_payloads.role(role)
        return str(role.id)
    raise StageError(f"{where}: the stage cannot fill in options of type {kind}")


def modal_data(modal: Json, values: Mapping[str, str]) -> Json:
    """The modal as submitted: same shape, with a value in each field."""
    left = dict(values)
    rows = [_filled(row, left) for row in modal.get("components") or []]
    if left:
        raise StageError(f"the modal has no field {', '.join(map(repr, left))}")
    return {"custom_id": modal["custom_id"], "components": [row for row in rows if row]}


def _filled(row: Json, left: dict[str, str]) -> Json | None:
    if row.get("type") == LABEL:
        field = _field(row["component"], row.get("label"), left)
        return {"type": LABEL, "component": field}
    if row.get("type") == ROW:
        fields = [_field(item, item.get("label"), left) for item in row.get("components") or []]
        return {"type": ROW, "components": fields}
    return None


def _field(item: Json, label: object, left: dict[str, str]) -> Json:
    for name in (item["custom_id"], label):
        if isinstance(name, str) and name in left:
            return {"type": item["type"], "custom_id": item["custom_id"], "value": left.pop(name)}
    if item.get("required", True) and not item.get("value"):
        raise StageError(f"the modal needs {label or item['custom_id']!r}")
    return {
        "type": item["type"],
        "custom_id": item["custom_id"],
        "value": item.get("value") or "",
    }
