"""Checks what a user enters: options of a command, choices of a menu, fields of a modal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discord_stage.errors import StageError
from discord_stage.interactions.targets import PostedFile, ResolvedTargets
from discord_stage.rules.components import (
    CHANNEL_SELECT,
    CHECKBOX,
    CHECKBOX_GROUP,
    FILE_UPLOAD,
    LABEL,
    MENTIONABLE_SELECT,
    RADIO_GROUP,
    ROLE_SELECT,
    ROW,
    SELECTS,
    TEXT_INPUT,
    USER_SELECT,
)
from discord_stage.world.records import Json
from discord_stage.world.world_state import Key

# Checks the values of a slash command's options, as Discord's client does before it sends them.


STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, MENTIONABLE, NUMBER, ATTACHMENT = range(3, 12)
OPTION_TEXT_MOST = 6000
EXACT_MOST = 2**53
_PLAIN: dict[int, tuple[type, ...]] = {
    STRING: (str,),
    INTEGER: (int,),
    BOOLEAN: (bool,),
    NUMBER: (int, float),
}


def find_option(level: Sequence[Json], name: str, where: str) -> Json:
    for option in level:
        if option["name"] == name:
            return option
    known = ", ".join(option["name"] for option in level)
    raise StageError(f"{where}: no option {name!r}; there are {known or 'none'}")


def option_values(
    level: Sequence[Json],
    options: Mapping[str, object],
    where: str,
    targets: ResolvedTargets,
    focused: str | None,
) -> list[Json]:
    """Return the options as sent. While the user types into one, no option is required."""
    chosen = []
    for name, value in options.items():
        option = find_option(level, name, where)
        entry: Json = {"name": name, "type": option["type"]}
        if name == focused:
            entry |= {"value": value, "focused": True}
        else:
            entry["value"] = _value(option, value, where, targets)
        chosen.append(entry)
    missing = [o["name"] for o in level if o.get("required") and o["name"] not in options]
    if missing and focused is None:
        raise StageError(f"{where}: needs {', '.join(missing)}")
    return chosen


def _value(option: Json, value: object, where: str, targets: ResolvedTargets) -> object:
    kind, name = option["type"], option["name"]
    if kind in _PLAIN:
        value = _choice(option, value, where)
        boolean_for_number = isinstance(value, bool) and kind != BOOLEAN
        if not isinstance(value, _PLAIN[kind]) or boolean_for_number:
            raise StageError(f"{where}: {name} cannot be {value!r}")
        return _within(option, value, where)
    if kind == ATTACHMENT:
        if not isinstance(value, PostedFile):
            raise StageError(f"{where}: {name} must be a file")
        return targets.file(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise StageError(f"{where}: {name} must be a name or an id")
    match kind:
        case 6:
            return targets.user(value)
        case 7:
            return targets.channel(value, option.get("channel_types") or ())
        case 8:
            return targets.role(value)
        case 9:
            return targets.user_or_role(value)
        case _:
            raise StageError(f"{where}: the stage cannot fill in options of type {kind}")


def _choice(option: Json, value: object, where: str) -> object:
    """Return the value of a choice, given by its value or by the name that the client shows."""
    choices = option.get("choices") or []
    if not choices:
        return value
    for choice in choices:
        if value in (choice["value"], choice["name"]):
            return choice["value"]
    known = [choice["value"] for choice in choices]
    raise StageError(f"{where}: {option['name']} must be one of {known}")


def _within(option: Json, value: object, where: str) -> object:
    name = option["name"]
    if isinstance(value, str):
        least, most = option.get("min_length") or 0, option.get("max_length") or OPTION_TEXT_MOST
        if not least <= len(value) <= most:
            raise StageError(f"{where}: {name} must have {least} to {most} characters")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        least, most = option.get("min_value"), option.get("max_value")
        least, most = _or(least, -EXACT_MOST), _or(most, EXACT_MOST)
        if not least <= value <= most:
            raise StageError(f"{where}: {name} must be from {least} to {most}")
    return value


def _or(limit: float | None, default: int) -> float:
    return default if limit is None else limit


# Checks what a user chooses in a menu or fills into a modal, as Discord's client does.


MODAL_TEXT_MOST = 4000


def selected(item: Json, given: object, targets: ResolvedTargets, name: str) -> list[str]:
    """Return the values of a select: options by value or label, people and places by name or id."""
    keys = _keys(given, name)
    least, most = _amount(item)
    if not least <= len(keys) <= most:
        raise StageError(f"{name}: choose {least} to {most}, not {len(keys)}")
    if len(set(keys)) < len(keys):
        raise StageError(f"{name}: nothing can be chosen twice")
    return [_target(item, key, targets, name) for key in keys]


def _keys(given: object, name: str) -> list[Key]:
    """Return the keys as a list; one key may be given alone."""
    if isinstance(given, str) or (isinstance(given, int) and not isinstance(given, bool)):
        return [given]
    if isinstance(given, Sequence) and all(isinstance(one, int | str) for one in given):
        return list(given)
    raise StageError(f"{name}: must be a list of names or ids")


def _amount(item: Json) -> tuple[int, int]:
    least, most = item.get("min_values"), item.get("max_values")
    optional = item.get("required") is False
    return (0 if optional else 1) if least is None else least, 1 if most is None else most


def _target(item: Json, key: Key, targets: ResolvedTargets, name: str) -> str:
    kind = item["type"]
    if kind == USER_SELECT:
        return targets.user(key)
    if kind == ROLE_SELECT:
        return targets.role(key)
    if kind == MENTIONABLE_SELECT:
        return targets.user_or_role(key)
    if kind == CHANNEL_SELECT:
        return targets.channel(key, item.get("channel_types") or ())
    return option_value(item, key, name)


def option_value(item: Json, key: Key, name: str) -> str:
    options = item.get("options") or []
    for option in options:
        if key in (option["value"], option.get("label")):
            return str(option["value"])
    known = ", ".join(repr(option["value"]) for option in options)
    raise StageError(f"{name}: there is no {key!r}; there are {known or 'none'}")


def modal_data(modal: Json, values: Mapping[str, object], targets: ResolvedTargets) -> Json:
    """Return the modal as submitted: the same shape, with the values that were filled in."""
    left = dict(values)
    rows = [_row(row, left, targets) for row in modal.get("components") or []]
    if left:
        raise StageError(f"the modal has no field {', '.join(map(repr, left))}")
    data: Json = {"custom_id": modal["custom_id"], "components": [row for row in rows if row]}
    return data | ({"resolved": targets.found} if targets.found else {})


def _row(row: Json, left: dict[str, object], targets: ResolvedTargets) -> Json | None:
    if row.get("type") == LABEL:
        return {
            "type": LABEL,
            "component": _field(row["component"], row.get("label"), left, targets),
        }
    if row.get("type") == ROW:
        inside = row.get("components") or []
        fields = [_field(item, item.get("label"), left, targets) for item in inside]
        return {"type": ROW, "components": fields}
    return None


def _field(item: Json, label: object, left: dict[str, object], targets: ResolvedTargets) -> Json:
    name = str(label or item["custom_id"])
    given: object = None
    for key in (item["custom_id"], label):
        if isinstance(key, str) and key in left:
            given = left.pop(key)
            break
    sent: Json = {"type": item["type"], "custom_id": item["custom_id"]}
    needed = item.get("required", item["type"] != CHECKBOX)
    if given is None and needed and not item.get("value") and not _preselected(item):
        raise StageError(f"the modal needs {name!r}")
    return sent | _filled(item, given, targets, name)


def _preselected(item: Json) -> bool:
    chosen = any(option.get("default") for option in item.get("options") or [])
    return chosen or bool(item.get("default_values")) or item.get("min_values") == 0


def _filled(item: Json, given: object, targets: ResolvedTargets, name: str) -> Json:
    kind = item["type"]
    if kind == TEXT_INPUT:
        return {"value": _text(item, given, name)}
    if kind in SELECTS or kind == CHECKBOX_GROUP:
        return {"values": _chosen(item, given, targets, name)}
    if kind == RADIO_GROUP:
        values = _chosen(item, given, targets, name)
        return {"value": values[0] if values else None}
    if kind == CHECKBOX:
        return {"value": bool(item.get("default")) if given is None else given is True}
    if kind == FILE_UPLOAD:
        return {"values": _uploaded(item, given, targets, name)}
    raise StageError(f"the modal: the stage cannot fill in {name!r} (a component of type {kind})")


def _text(item: Json, given: object, name: str) -> str:
    text = item.get("value") or "" if given is None else given
    if not isinstance(text, str):
        raise StageError(f"the modal: {name!r} must be a text")
    least, most = item.get("min_length") or 0, item.get("max_length") or MODAL_TEXT_MOST
    if text and not least <= len(text) <= most:
        raise StageError(f"the modal: {name!r} must have {least} to {most} characters")
    return text


def _chosen(item: Json, given: object, targets: ResolvedTargets, name: str) -> list[str]:
    if given is not None:
        return selected(item, given, targets, f"the modal: {name!r}")
    return [str(option["value"]) for option in item.get("options") or [] if option.get("default")]


def _uploaded(item: Json, given: object, targets: ResolvedTargets, name: str) -> list[str]:
    files = [given] if isinstance(given, PostedFile) else given or []
    if not isinstance(files, list) or not all(isinstance(file, PostedFile) for file in files):
        raise StageError(f"the modal: {name!r} must be files")
    least, most = _amount(item)
    if files and not least <= len(files) <= most:
        raise StageError(f"the modal: {name!r}: attach {least} to {most} files, not {len(files)}")
    return [targets.file(file) for file in files]
