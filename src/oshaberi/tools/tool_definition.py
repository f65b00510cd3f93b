"""What a tool is: a name, a schema, a permission, and an async function that returns text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oshaberi.errors import OshaberiError
from oshaberi.tools.tool_context import Permission, ToolContext


class ToolDefinitionError(OshaberiError):
    """A function cannot be a tool. The message names the function, the mistake and the remedy."""


class ToolFailedError(OshaberiError):
    """Raised by a tool on purpose. Its text goes to the model as an error."""


RunTool = Callable[[ToolContext, Mapping[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `parameters` is the JSON schema of an object. `run` returns text or a JSON value."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: RunTool
    permission: Permission = "everyone"
    timeout_ms: int | None = None
    """None means the setting `tool_timeout_ms`."""
    source: str = "built-in"
    """`built-in`, the Python module, or the name of the MCP server."""
    offered: Callable[[ToolContext], bool] | None = None
    """Tells whether the tool is offered in this turn; None means always."""

    def available(self, context: ToolContext) -> bool:
        """Tell whether this turn may use the tool."""
        permitted = context.allows(self.permission)
        return permitted and (self.offered is None or self.offered(context))
