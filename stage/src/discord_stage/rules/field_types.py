"""Checks the types of a body's fields; a wrong one is refused (50035) with its path."""

from __future__ import annotations

from discord_stage.refusals import bad_form
from discord_stage.world.ids import number_in
from discord_stage.world.records import Json


def objects(body: Json, key: str) -> list[Json]:
    """Return a list of objects. An absent or null field is empty."""
    value = body.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise bad_form((key,), "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
    for number, entry in enumerate(value):
        if not isinstance(entry, dict):
            message = "Only dictionaries may be used in a DictType"
            raise bad_form((key, number), "DICT_TYPE_CONVERT", message)
    return value


def mapping(body: Json, key: str) -> Json:
    value = body.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        message = "Only dictionaries may be used in a DictType"
        raise bad_form((key,), "DICT_TYPE_CONVERT", message)
    return value


def whole(body: Json, key: str, default: int = 0) -> int:
    """Return a number, even if it is written as text."""
    value = body.get(key)
    if value is None:
        return default
    number = None if isinstance(value, bool) else number_in(str(value))
    if number is None:
        raise bad_form((key,), "NUMBER_TYPE_COERCE", f'Value "{str(value)[:40]}" is not int.')
    return number


def ids(body: Json, key: str) -> list[int]:
    value = body.get(key)
    if value is None:
        return []
    entries = value if isinstance(value, list) else [value]
    return [whole({key: entry}, key) for entry in entries if entry is not None]
