"""`@tool`: a typed Python function becomes a tool, with the schema of its type hints."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Union, overload

from oshaberi.bot.tools.daemon_threads import THREADS
from oshaberi.bot.tools.definition import (
    APPROVERS,
    PERMISSIONS,
    Approver,
    Permission,
    RunTool,
    Tool,
    ToolContext,
    ToolDefinitionError,
    is_valid,
)

# The docstring of a function: its description, and those of its parameters.


_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*")
_ENTRY = re.compile(r"(\w+)(?:\s*\([^)]*\))?:\s*(.*)")
_FIELD = re.compile(r":param(?:\s+[\w\[\], |.]+?)?\s+(\w+):\s*(.*)")
_OTHER_FIELD = re.compile(r":\w+[^:]*:")
_OF_PARAMETERS = ("Args", "Arguments", "Parameters")


@dataclass
class ParsedDocstring:
    """A parsed docstring. `about` is the text before the parameters."""

    about: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def parse_docstring(docstring: str | None) -> ParsedDocstring:
    """Parse a docstring. Reads `Args:` with indented `name: text`, and `:param name: text`."""
    reader = _DocstringReader()
    for line in inspect.cleandoc(docstring or "").splitlines():
        reader.line(line)
    about = "\n".join(reader.about).strip()
    texts = {name: " ".join(" ".join(parts).split()) for name, parts in reader.found.items()}
    return ParsedDocstring(about, {name: text for name, text in texts.items() if text})


class _DocstringReader:
    def __init__(self) -> None:
        self.about: list[str] = []
        self.found: dict[str, list[str]] = {}
        self._section = ""
        self._indent = 0
        self._current: list[str] | None = None

    def line(self, line: str) -> None:
        section, entry = _SECTION.fullmatch(line), _FIELD.fullmatch(line)
        if section is not None:
            self._section, self._current, self._indent = section[1], None, 0
        elif entry is not None:
            self._begin(entry)
            self._section = ":"
        elif _OTHER_FIELD.match(line):
            self._section, self._current = ":", None
        elif self._section in _OF_PARAMETERS:
            self._in_section(line)
        elif self._section == ":" and self._current is not None:
            self._current.append(line)
        elif not self._section:
            self.about.append(line)

    def _in_section(self, line: str) -> None:
        indent = len(line) - len(line.lstrip())
        entry = _ENTRY.fullmatch(line.strip())
        if line.strip() and not indent:
            self._section = "?"  # prose after the section, which describes no parameter
        elif entry is not None and (self._indent == 0 or indent == self._indent):
            self._indent = indent
            self._begin(entry)
        elif self._current is not None:
            self._current.append(line)

    def _begin(self, entry: re.Match[str]) -> None:
        self._current = [entry[2]]
        self.found[entry[1]] = self._current


# Type hints become JSON schema, and checked JSON becomes what a function expects.


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
        kinds = {name: self.kind(_without_mark(one)) for name, one in hints.items()}
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


def _without_mark(hint: Any) -> Any:
    return typing.get_args(hint)[0] if typing.get_origin(hint) in _MARKS else hint


def _is_required(owner: Any, name: str, hint: Any) -> bool:
    """Return whether a key is required. A TypedDict's own list is wrong for string annotations."""
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


# The decorator.


Function = Callable[..., Any]
Offered = Callable[[ToolContext], bool]

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@overload
def tool(function: Function, /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    permission: Permission = "everyone",
    timeout_ms: int | None = None,
    strict: bool = False,
    offered: Offered | None = None,
    asks: Approver | None = None,
) -> Callable[[Function], Tool]: ...


def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    permission: Permission = "everyone",
    timeout_ms: int | None = None,
    strict: bool = False,
    offered: Offered | None = None,
    asks: Approver | None = None,
) -> Tool | Callable[[Function], Tool]:
    """Make a tool of a function: its name and docstring describe it, its type hints the parameters.

    A parameter annotated `ToolContext` gets the context and is not shown to the model. A
    function that is not async runs in a thread.
    """

    def make(function: Function) -> Tool:
        where = f"{function.__module__}.{function.__qualname__}"
        docs = parse_docstring(function.__doc__)
        signature = _signature(function, where, docs.parameters)
        new_tool = Tool(
            name=name or function.__name__,
            description=description or docs.about,
            parameters=signature.schema(),
            run=_runner(function, signature),
            permission=permission,
            timeout_ms=timeout_ms,
            source=function.__module__,
            strict=strict,
            offered=offered,
            asks=asks,
        )
        _check(new_tool, where)
        return new_tool

    return make if function is None else make(function)


def _check(tool: Tool, where: str) -> None:
    if not is_valid(tool.name):
        rule = "use at most 64 letters, digits, _ and -, beginning with a letter or _"
        raise ToolDefinitionError(f"{where}: {tool.name!r} cannot be a tool's name; {rule}")
    if not tool.description:
        raise ToolDefinitionError(f"{where}: the model is told what a tool does; write a docstring")
    if tool.permission not in PERMISSIONS:
        allowed = ", ".join(PERMISSIONS)
        raise ToolDefinitionError(
            f"{where}: permission {tool.permission!r} is not one of: {allowed}"
        )
    if tool.asks is not None and tool.asks not in APPROVERS:
        raise ToolDefinitionError(
            f"{where}: asks {tool.asks!r} is not one of: {', '.join(APPROVERS)}"
        )
    if tool.timeout_ms is not None and tool.timeout_ms <= 0:
        raise ToolDefinitionError(f"{where}: timeout_ms {tool.timeout_ms} is not above 0")


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    kind: HintKind
    default: Any
    about: str

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    def schema(self) -> Schema:
        schema = dict(self.kind.schema)
        if self.default is None and "anyOf" in schema:
            schema = dict(schema["anyOf"][0])  # omitting it means the same as null
        if self.about:
            schema["description"] = self.about
        if not self.required and self.default is not None and _is_json(self.default):
            schema["default"] = self.default
        return schema


@dataclass(frozen=True, slots=True)
class _Signature:
    parameters: tuple[_Parameter, ...]
    context_name: str | None

    def schema(self) -> Schema:
        required = [one.name for one in self.parameters if one.required]
        return object_schema({one.name: one.schema() for one in self.parameters}, required)

    def arguments(self, context: ToolContext, args: Mapping[str, Any]) -> dict[str, Any]:
        kinds = {one.name: one.kind for one in self.parameters}
        read = {name: kinds[name].read(value) for name, value in args.items()}
        return read if self.context_name is None else {**read, self.context_name: context}


def _signature(function: Function, where: str, about: Mapping[str, str]) -> _Signature:
    hints = _hints(function, where)
    parameters: list[_Parameter] = []
    context_name = None
    for one in inspect.signature(function).parameters.values():
        place = f"{where}: parameter {one.name!r}"
        if one.kind not in _NAMED:
            raise ToolDefinitionError(f"{place} has no name that a model could use")
        if one.name not in hints:
            raise ToolDefinitionError(f"{place} has no type; write for example `{one.name}: str`")
        if hints[one.name] is ToolContext:
            context_name = one.name
            continue
        kind = kind_of(hints[one.name], place)
        parameters.append(_Parameter(one.name, kind, one.default, about.get(one.name, "")))
    return _Signature(tuple(parameters), context_name)


def _hints(function: Function, where: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError) as error:
        raise ToolDefinitionError(f"{where}: a type cannot be read: {error}") from None


def _runner(function: Function, signature: _Signature) -> RunTool:
    async def run(context: ToolContext, args: Mapping[str, Any]) -> Any:
        call = functools.partial(function, **signature.arguments(context, args))
        if inspect.iscoroutinefunction(function):
            return await call()
        return await asyncio.get_running_loop().run_in_executor(THREADS, call)

    return run


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
