"""Reads the values of a control request. An invalid value raises StageError with its key."""

from __future__ import annotations

import base64
import binascii

from oshaberi.stage.interactions.resolved_targets import PostedFile
from oshaberi.stage.stage_errors import StageError
from oshaberi.stage.world.discord_records import Json
from oshaberi.stage.world.snowflakes import number_in
from oshaberi.stage.world.world_state import Key


def text_of(said: Json, key: str) -> str:
    value = said.get(key)
    if not isinstance(value, str):
        raise StageError(f"`{key}` must be a text")
    return value


def number_of(said: Json, key: str) -> int:
    number = number_in(str(said.get(key, "")))
    if number is None:
        raise StageError(f"`{key}` must be a number")
    return number


def close_code_of(said: Json) -> int:
    """Return the close code, if it is one that a server may send (RFC 6455, 7.4)."""
    code = number_of(said, "code")
    if not (1000 <= code <= 4999 and code not in (1004, 1005, 1006, 1015)):
        raise StageError("`code` must be a close code from 1000 to 4999")
    return code


def key_of(said: Json, key: str) -> Key:
    """Return a name or an id. Ids arrive as text: JavaScript cannot hold them as numbers."""
    value = said.get(key)
    if isinstance(value, str) and value:
        number = number_in(value)
        return value if number is None else number
    raise StageError(f"`{key}` must be a name or an id, as a text")


def user_of(said: Json) -> Key | None:
    return None if said.get("user") is None else key_of(said, "user")


def texts_of(said: Json, key: str) -> list[str]:
    values = said.get(key)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise StageError(f"`{key}` must be a list of texts")
    return values


def fields_of(said: Json) -> Json:
    values = said.get("values") or {}
    if not isinstance(values, dict):
        raise StageError("`values` must be an object")
    return {key: _field(value) for key, value in values.items()}


def _field(value: object) -> object:
    """Return a text, a switch, a list of texts, or files (`{"name": …, "content": base64}`)."""
    if isinstance(value, str | bool) or value is None:
        return value
    if isinstance(value, dict):
        return _file(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return [_file(one) for one in value]
    raise StageError("`values` must be texts, switches, lists of texts, or files")


def options_of(said: Json) -> Json:
    """Return the options of a command. A file is `{"name": …, "content": base64}`."""
    options = said.get("options") or {}
    if not isinstance(options, dict):
        raise StageError("`options` must be an object")
    return {key: _file(v) if isinstance(v, dict) else v for key, v in options.items()}


def files_of(said: Json) -> list[PostedFile]:
    """Return the files in `[{"name": …, "content": base64, "alt": …}]`."""
    entries = said.get("files") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise StageError("`files` must be a list of objects")
    return [_file(entry) for entry in entries]


def _file(entry: Json) -> PostedFile:
    return PostedFile(text_of(entry, "name"), _decoded(text_of(entry, "content")), _alt(entry))


def _alt(entry: Json) -> str | None:
    return text_of(entry, "alt") if entry.get("alt") else None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise StageError("a file's `content` must be base64") from None
