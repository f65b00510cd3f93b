"""Chooses a tool call's arguments: JSON or `key=value` from the message, else from its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

Schema = Mapping[str, Any]

_VALUE = r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;)]+)"""
_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T12:00:00Z",
    "time": "12:00:00Z",
    "email": "somebody@example.org",
    "uri": "https://example.org/",
}
_DEEPEST = 6


def asked_arguments(schema: Schema, words: str, rest: str) -> dict[str, Any]:
    """Return the arguments from a message. `rest` is the text after the tool's name.

    JSON is passed on as it is, mistakes included.
    """
    given = _json_object(words)
    if given is not None:
        return given
    assigned = _assigned(schema, rest)
    return {**made_arguments(schema, rest or words), **assigned}


def made_arguments(schema: Schema, words: str) -> dict[str, Any]:
    """Make up the required arguments. A text argument gets these words."""
    return _object(schema, words, schema, _DEEPEST)


def _json_object(words: str) -> dict[str, Any] | None:
    for at, sign in enumerate(words):
        if sign == "{":
            with suppress(ValueError, RecursionError):
                found, _end = json.JSONDecoder().raw_decode(words, at)
                return dict(found)
    return None


def _assigned(schema: Schema, rest: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, about in _properties(schema).items():
        match = re.search(rf"(?<!\w){re.escape(name)}\s*=\s*{_VALUE}", rest)
        if match:
            found[name] = _read(match[1], _resolved(about, schema))
    return found


def _read(text: str, schema: Schema) -> Any:
    plain = text[1:-1] if text[:1] == "'" else text
    if text[:1] != '"' and schema.get("type") == "string":
        return plain
    with suppress(ValueError):
        return json.loads(plain)
    return plain


def _properties(schema: Schema) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _object(schema: Schema, words: str, root: Schema, depth: int) -> dict[str, Any]:
    properties = _properties(schema)
    wanted = [name for name in schema.get("required") or () if name in properties]
    return {name: _value(properties[name], words, root, depth - 1) for name in wanted}


def _value(about: Any, words: str, root: Schema, depth: int) -> Any:
    schema = _resolved(about, root)
    if "const" in schema:
        return schema["const"]
    if "default" in schema:
        return schema["default"]
    for listed in ("enum", "examples"):
        if schema.get(listed):
            return schema[listed][0]
    match schema.get("type"):
        case "integer" | "number":
            return _number(schema)
        case "boolean":
            return False
        case "null":
            return None
        case "array":
            item = schema.get("items")
            count = schema.get("minItems", 0) if depth > 0 else 0
            return [_value(item, words, root, depth - 1) for _ in range(count)]
        case "object":
            return _object(schema, words, root, depth) if depth > 0 else {}
        case _:
            return _FORMATS.get(str(schema.get("format")), words[: schema.get("maxLength")])


def _number(schema: Schema) -> Any:
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    return min(least, schema.get("maximum", least))


def _resolved(about: Any, root: Schema) -> Schema:
    """Follow references. If there are several types, take the first that is not null."""
    schema: Any = about
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict):
            return {}
        if "$ref" in schema:
            schema = _at(str(schema["$ref"]), root)
        elif several := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            schema = next((one for one in several if one != {"type": "null"}), {})
        elif isinstance(kinds := schema.get("type"), list):
            schema = {**schema, "type": next((one for one in kinds if one != "null"), "null")}
        else:
            return schema
    return {}


def _at(reference: str, root: Schema) -> Any:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step) if isinstance(found, dict) else None
    return found
