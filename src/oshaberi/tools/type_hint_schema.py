"""Converts type hints to JSON schema, and checked JSON back to what a function expects."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union

from oshaberi.tools.tool_definition import ToolDefinitionError

Schema = dict[str, Any]
Read = Callable[[Any], Any]

_NULL: Schema = {"type": "null"}
_SUPPORTED = (
    "str, int, float, bool, Literal, Optional, list, dict[str, ...], dataclasses and TypedDicts"
)
_MARKS = (typing.Required, typing.NotRequired)
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True, slots=True)
class HintKind:
    """How a type is written in a JSON schema, and how a valid value becomes an object of it."""

    schema: Schema
    read: Read


def kind_of(hint: Any, where: str) -> HintKind:
    """Return the kind of a type hint. `where` names the parameter, for errors."""
    return _HintReader(where).kind(hint)


def object_schema(properties: Mapping[str, Schema], required: typing.Iterable[str]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


class _HintReader:
    """Reads one type hint. Knows the enclosing classes, since a class must not contain itself."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._inside: list[type] = []

    def kind(self, hint: Any) -> HintKind:
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if hint is Any:
            return HintKind({}, _as_it_is)
        if hint in _JSON_TYPES:
            return _scalar(hint)
        if origin is Literal:
            return self._literal(args)
        if origin in (Union, types.UnionType):
            return self._optional(hint, args)
        if hint is list or origin is list:
            return self._list(args)
        if hint is dict or origin is dict:
            return self._dict(hint, args)
        if isinstance(hint, type):
            return self._class(hint)
        raise self._refusal(hint)

    def _literal(self, options: tuple[Any, ...]) -> HintKind:
        names = {_JSON_TYPES.get(type(option)) for option in options}
        if None in names:
            raise self._refusal(f"Literal{list(options)!r}")
        schema: Schema = {"enum": list(options)}
        if len(names) == 1:
            schema["type"] = names.pop()
        return HintKind(schema, lambda value: next(one for one in options if one == value))

    def _optional(self, hint: Any, args: tuple[Any, ...]) -> HintKind:
        inner = [one for one in args if one is not types.NoneType]
        if len(inner) != 1 or len(inner) == len(args):
            raise self._refusal(hint)
        kind = self.kind(inner[0])
        read = kind.read
        return HintKind(
            {"anyOf": [kind.schema, _NULL]}, lambda value: None if value is None else read(value)
        )

    def _list(self, args: tuple[Any, ...]) -> HintKind:
        item = self.kind(args[0] if args else Any)
        return HintKind(
            {"type": "array", "items": item.schema}, lambda value: [item.read(v) for v in value]
        )

    def _dict(self, hint: Any, args: tuple[Any, ...]) -> HintKind:
        key, value_hint = args or (str, Any)
        if key is not str:
            raise self._refusal(hint)
        item = self.kind(value_hint)
        schema = {"type": "object", "additionalProperties": item.schema or True}
        return HintKind(schema, lambda value: {k: item.read(v) for k, v in value.items()})

    def _class(self, hint: type) -> HintKind:
        if hint in self._inside:
            raise ToolDefinitionError(f"{self._where}: {hint.__name__} contains itself")
        self._inside.append(hint)
        try:
            if dataclasses.is_dataclass(hint):
                return self._dataclass(hint)
            if typing.is_typeddict(hint):
                return self._typed_dict(hint)
        finally:
            self._inside.pop()
        raise self._refusal(hint)

    def _dataclass(self, hint: Any) -> HintKind:
        hints = typing.get_type_hints(hint)
        given = [one for one in dataclasses.fields(hint) if one.init]
        kinds = {one.name: self.kind(hints[one.name]) for one in given}
        required = [one.name for one in given if _has_no_default(one)]
        return HintKind(_object(kinds, required), lambda value: hint(**_fields(kinds, value)))

    def _typed_dict(self, hint: Any) -> HintKind:
        hints = typing.get_type_hints(hint, include_extras=True)
        kinds = {name: self.kind(_unmarked(one)) for name, one in hints.items()}
        required = [name for name, one in hints.items() if _is_required(hint, name, one)]
        return HintKind(_object(kinds, required), lambda value: _fields(kinds, value))

    def _refusal(self, hint: Any) -> ToolDefinitionError:
        name = hint.__name__ if isinstance(hint, type) else str(hint).removeprefix("typing.")
        return ToolDefinitionError(
            f"{self._where}: a tool cannot take {name}; it can take {_SUPPORTED}"
        )


def _object(kinds: Mapping[str, HintKind], required: list[str]) -> Schema:
    return object_schema({name: kind.schema for name, kind in kinds.items()}, required)


def _fields(kinds: Mapping[str, HintKind], value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: kinds[name].read(given) for name, given in value.items()}


def _unmarked(hint: Any) -> Any:
    return typing.get_args(hint)[0] if typing.get_origin(hint) in _MARKS else hint


def _is_required(owner: Any, name: str, hint: Any) -> bool:
    """Tell whether a key is required. A TypedDict's own list is wrong for string annotations."""
    mark = typing.get_origin(hint)
    return name in owner.__required_keys__ if mark not in _MARKS else mark is typing.Required


def _has_no_default(one: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return one.default is missing and one.default_factory is missing


def _scalar(hint: Any) -> HintKind:
    # JSON has one kind of number: 5.0 is an integer to a schema, and 5 a number.
    read: Read = hint if hint in (int, float) else _as_it_is
    return HintKind({"type": _JSON_TYPES[hint]}, read)


def _as_it_is(value: Any) -> Any:
    return value
