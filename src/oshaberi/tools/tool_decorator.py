"""`@tool`: a typed Python function becomes a tool."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, overload

from oshaberi.tools.daemon_threads import THREADS
from oshaberi.tools.docstring_reading import described
from oshaberi.tools.tool_context import PERMISSIONS, Permission, ToolContext
from oshaberi.tools.tool_definition import RunTool, Tool, ToolDefinitionError
from oshaberi.tools.tool_names import is_valid
from oshaberi.tools.type_hint_schema import HintKind, Schema, kind_of, object_schema

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
    offered: Offered | None = None,
) -> Callable[[Function], Tool]: ...


def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    permission: Permission = "everyone",
    timeout_ms: int | None = None,
    offered: Offered | None = None,
) -> Tool | Callable[[Function], Tool]:
    """Make a tool of a function: its name and docstring describe it, its type hints the parameters.

    A parameter annotated `ToolContext` gets the context and is not shown to the model. A
    function that is not async runs in a thread.
    """

    def made(function: Function) -> Tool:
        where = f"{function.__module__}.{function.__qualname__}"
        docs = described(function.__doc__)
        signature = _signature(function, where, docs.parameters)
        made = Tool(
            name=name or function.__name__,
            description=description or docs.about,
            parameters=signature.schema(),
            run=_runner(function, signature),
            permission=permission,
            timeout_ms=timeout_ms,
            source=function.__module__,
            offered=offered,
        )
        _check(made, where)
        return made

    return made if function is None else made(function)


def _check(made: Tool, where: str) -> None:
    if not is_valid(made.name):
        rule = "use at most 64 letters, digits, _ and -, beginning with a letter or _"
        raise ToolDefinitionError(f"{where}: {made.name!r} cannot be a tool's name; {rule}")
    if not made.description:
        raise ToolDefinitionError(f"{where}: the model is told what a tool does; write a docstring")
    if made.permission not in PERMISSIONS:
        allowed = ", ".join(PERMISSIONS)
        raise ToolDefinitionError(
            f"{where}: permission {made.permission!r} is not one of: {allowed}"
        )
    if made.timeout_ms is not None and made.timeout_ms <= 0:
        raise ToolDefinitionError(f"{where}: timeout_ms {made.timeout_ms} is not above 0")


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
            schema = dict(schema["anyOf"][0])  # leaving it out says the same as null
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
