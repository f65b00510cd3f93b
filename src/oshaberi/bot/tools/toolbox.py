"""All tools of the bot: where they come from, and which ones a turn may use. `calls` runs them."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from oshaberi.bot.tools.calls import ArgumentChecks, NamedTool, OfferedTools, ToolCallRunner
from oshaberi.bot.tools.choice import is_chosen, is_offered_by
from oshaberi.bot.tools.definition import (
    Tool,
    ToolContext,
    ToolDefinitionError,
    by_name,
)
from oshaberi.chunks import ToolCall
from oshaberi.errors import ConfigError
from oshaberi.providers.request.model_request import ToolDeclaration, ToolResult
from oshaberi.secret_redaction import SecretValues

log = logging.getLogger(__name__)

LONGEST_DESCRIPTION = 1024
"""The longest description, which is what OpenAI's API accepts."""


class ToolBox:
    """All tools of a process. `more` returns tools that come and go, such as those of MCP servers.

    `secrets` are values that no result may show: keys and tokens of this process.
    """

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        *,
        more: Callable[[], tuple[Tool, ...]] = tuple,
        secrets: Iterable[str] = (),
    ) -> None:
        self._ours = tuple(tools)
        self._more = more
        self._runner = ToolCallRunner(SecretValues(secrets))
        self._theirs: tuple[Tool, ...] | None = None
        self._tools: dict[str, NamedTool] = {}
        self._refresh()

    def declarations(self, context: ToolContext) -> tuple[ToolDeclaration, ...]:
        """Return the declarations of the tools that this turn may use."""
        return tuple(_declaration(one) for one in self._offered_tools(context).values())

    async def run(
        self,
        calls: Sequence[ToolCall],
        context: ToolContext,
        *,
        timeout_ms: int,
        result_limit_chars: int,
    ) -> tuple[ToolResult, ...]:
        """Run the calls together; `results[i]` is for `calls[i]`. Raises only CancelledError."""
        return await self._runner.run(
            calls,
            OfferedTools(self._offered_tools(context), self._tools.keys()),
            context,
            timeout_ms=timeout_ms,
            result_limit_chars=result_limit_chars,
        )

    def all_tools(self) -> Mapping[str, Tool]:
        """Return all tools by the names that models know, offered anywhere or not."""
        self._refresh()
        return {name: one.tool for name, one in self._tools.items()}

    def _offered_tools(self, context: ToolContext) -> Mapping[str, NamedTool]:
        self._refresh()
        permissions, turn = context.permissions, context.turn
        has_lists = any(
            (turn.allowed_tools, turn.blocked_tools, context.persona_allows, context.persona_blocks)
        )
        return {
            name: one
            for name, one in self._tools.items()
            if one.tool.permission in permissions
            and (not has_lists or _is_chosen(one, context))
            and _is_offered(one.tool, context)
        }

    def _refresh(self) -> None:
        theirs = self._more()
        if theirs is self._theirs:
            return
        self._theirs = theirs
        self._tools = {
            name: NamedTool(name, tool, ArgumentChecks(name, tool.parameters))
            for name, tool in by_name(self._ours, theirs).items()
        }


def _declaration(one: NamedTool) -> ToolDeclaration:
    description = _shorten(one.tool.description, LONGEST_DESCRIPTION)
    return ToolDeclaration(one.name, description, one.tool.parameters, one.tool.strict)


def _is_chosen(one: NamedTool, context: ToolContext) -> bool:
    """Return whether channel and persona use a tool. Neither gives what the other denies."""
    return is_offered_by(context.turn, one.name, one.tool) and is_chosen(
        one.name, one.tool.source, context.persona_allows, context.persona_blocks
    )


def _is_offered(tool: Tool, context: ToolContext) -> bool:
    try:
        return tool.offered is None or tool.offered(context)
    except Exception:
        # `offered` may be anybody's code, and it must not end the turn.
        log.exception("tool %s cannot say whether it is offered; it is not", tool.name)
        return False


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def load_tools(modules: Iterable[str], folder: Path | None = None) -> tuple[Tool, ...]:
    """Load every tool of these modules, in order. The modules may be in `folder`."""
    if folder is not None and str(folder) not in sys.path:
        # at the end of the path, so that their files cannot hide a library
        sys.path.append(str(folder))
    found: dict[int, Tool] = {}
    for name in modules:
        for tool in _tools_of(_module(name), name):
            found.setdefault(id(tool), tool)
    return tuple(found.values())


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise ConfigError(f"tools: {name} needs {error.name}, which is not installed") from None
        where = "install it or put it next to the settings file"
        raise ConfigError(f"tools: there is no Python module {name!r}; {where}") from None
    except ToolDefinitionError as error:
        raise ConfigError(f"tools: {error}") from None
    except Exception as error:
        # Any code may run there, so anything may be raised.
        why = f"{type(error).__name__}: {error}"
        raise ConfigError(f"tools: {name} cannot be imported: {why}") from error


def _tools_of(module: ModuleType, name: str) -> list[Tool]:
    tools = [value for value in vars(module).values() if isinstance(value, Tool)]
    if not tools:
        raise ConfigError(f"tools: {name} has no function with @tool")
    return tools
