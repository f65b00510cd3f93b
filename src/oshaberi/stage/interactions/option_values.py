"""Checks the values of a slash command's options, as Discord's client does before it sends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oshaberi.stage.interactions.resolved_targets import PostedFile, ResolvedTargets
from oshaberi.stage.stage_errors import StageError
from oshaberi.stage.world.discord_records import Json

STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, MENTIONABLE, NUMBER, ATTACHMENT = range(3, 12)
TEXT_MOST = 6000
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
        least, most = option.get("min_length") or 0, option.get("max_length") or TEXT_MOST
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
