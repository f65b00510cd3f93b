"""All tools of the bot: which ones a turn may use. `tool_calls` runs them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from oshaberi.chunks import ToolCall
from oshaberi.providers.request.context_items import ToolDeclaration, ToolResult
from oshaberi.secret_redaction import SecretValues
from oshaberi.tools.argument_checks import ArgumentChecks
from oshaberi.tools.tool_calls import NamedTool, OfferedTools, ToolCallRunner
from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_definition import Tool
from oshaberi.tools.tool_names import by_name

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
        return tuple(_declaration(one) for one in self._offered(context).values())

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
            OfferedTools(self._offered(context), self._tools.keys()),
            context,
            timeout_ms=timeout_ms,
            result_limit_chars=result_limit_chars,
        )

    def _offered(self, context: ToolContext) -> Mapping[str, NamedTool]:
        self._refresh()
        return {name: one for name, one in self._tools.items() if _is_offered(one.tool, context)}

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
    description = _shortened(one.tool.description, LONGEST_DESCRIPTION)
    return ToolDeclaration(one.name, description, one.tool.parameters)


def _is_offered(tool: Tool, context: ToolContext) -> bool:
    try:
        return tool.available(context)
    except Exception:
        # `offered` may be anybody's code, and a turn must not end by it.
        log.exception("tool %s cannot say whether it is offered; it is not", tool.name)
        return False


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
