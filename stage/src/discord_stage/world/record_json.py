"""Records as JSON and back, by the types of their fields. A field with its default is left out."""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import IntEnum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from discord_stage.world.ids import number_in
from discord_stage.world.records import Json

R = TypeVar("R")


def to_json(record: Any) -> Json:
    """Return a record's fields, copied. Bytes stay bytes: whoever writes them encodes them."""
    return {
        each.name: _copied(value)
        for each in fields(record)
        if (value := getattr(record, each.name)) != _default(each)
    }


def _default(each: Field[Any]) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [_copied(inside) for inside in value]
    return to_json(value) if is_dataclass(value) else value


def from_json(kind: type[R], value: object) -> R:
    """Return the record. Raises ValueError if a field is missing, unknown or of another type."""
    made: R = _read(kind, value)
    return made


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, value: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is UnionType:
        return None if value is None else _read(inner[0], value)
    if origin is list and isinstance(value, list):
        return [_read(inner[0], item) for item in value]
    if origin is dict and isinstance(value, dict):
        return {_key(inner[0], key): _read(inner[1], item) for key, item in value.items()}
    if is_dataclass(kind) and isinstance(value, dict):
        return _record(kind, value)
    if kind is bytes and isinstance(value, str):
        return _bytes(value)
    if isinstance(value, bool) is not (kind is bool):
        raise ValueError(f"{value!r:.40} is not of the type {kind}")
    if isinstance(kind, type) and issubclass(kind, IntEnum) and isinstance(value, int):
        return kind(value)
    if kind is float and isinstance(value, int | float):
        return float(value)
    if kind in (int, str, bool) and isinstance(value, kind):
        return value
    raise ValueError(f"{value!r:.40} is not of the type {kind}")


def _record(kind: Any, value: Json) -> Any:
    types = _types(kind)
    unknown = value.keys() - types.keys()
    missing = {f.name for f in fields(kind) if _default(f) is MISSING} - value.keys()
    if unknown or missing:
        raise ValueError(f"{kind.__name__}: {min(unknown | missing)} is unknown or missing")
    return kind(**{name: _read(types[name], item) for name, item in value.items()})


def _key(kind: type, key: str) -> int | str:
    if kind is str:
        return key
    number = number_in(key)
    if number is None:
        raise ValueError(f"{key!r:.40} is not an id")
    return number


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
