"""What a tool is: a name, a schema, a permission, and an async function that answers with text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from oshaberi.errors import OshaberiError
from oshaberi.turns.room import Room
from oshaberi.turns.values import Incoming

Permission = Literal["everyone", "manage_messages", "manage_server"]


class ToolFailedError(OshaberiError):
    """Said by a tool on purpose: its text goes to the model as an error."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom and where a tool runs. `store` is the bot's database, if there is one."""

    room: Room
    incoming: Incoming
    store: Any = None
    names: Mapping[str, Any] | None = None


RunTool = Callable[[ToolContext, Mapping[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Tool:
    """`parameters` is a JSON schema of an object. `run` returns text, or what JSON can say."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: RunTool
    permission: Permission = "everyone"
    timeout_ms: int | None = None
    """None: the setting `tool_timeout_ms`."""
    source: str = "built-in"
