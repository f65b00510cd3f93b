"""Runs the calls of one round: checks of arguments, time limits, errors that the model can read.

Which tools a turn may call is decided in `tool_definition` (`Tool.available`) and `toolbox`.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oshaberi.chunks import ToolCall
from oshaberi.providers.request.context_items import ToolResult
from oshaberi.secret_redaction import SecretValues
from oshaberi.tools.argument_checks import ArgumentChecks
from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_definition import Tool, ToolFailedError
from oshaberi.tools.tool_names import is_valid
from oshaberi.tools.tool_results import as_text, cut
from oshaberi.turn_spans import turn_span

log = logging.getLogger(__name__)

LONGEST_ERROR = 2000
MOST_CALLS = 16
"""How many calls are run in one round. Each may be a request to Discord, the web or an MCP
server."""
_MOST_NAMES = 20
_LONGEST_NAME = 64
"""Of a name that no tool has, only this much is compared and repeated: comparing is quadratic."""


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A tool under the name that the model knows."""

    name: str
    tool: Tool
    arguments: ArgumentChecks


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools that a turn may use. `names` are the names of all tools, offered or not."""

    by_name: Mapping[str, NamedTool]
    names: Collection[str]

    def called(self, call: ToolCall) -> NamedTool:
        if call.error is not None:
            raise ToolFailedError(call.error)
        found = self.by_name.get(call.name)
        if found is not None:
            return found
        if call.name in self.names:
            raise ToolFailedError(f"whoever asked may not use {call.name} here")
        near = difflib.get_close_matches(call.name[:_LONGEST_NAME], self.by_name, n=3)
        names = ", ".join(near or list(self.by_name)[:_MOST_NAMES]) or "none"
        hint = "did you mean" if near else "there are"
        raise ToolFailedError(f"there is no tool {call.name[:_LONGEST_NAME]!r}; {hint}: {names}")


class ToolCallRunner:
    """Runs calls. `secrets` are values that no result may show."""

    def __init__(self, secrets: SecretValues) -> None:
        self._secrets = secrets
        self._at_work: set[asyncio.Task[Any]] = set()

    async def run(
        self,
        calls: Sequence[ToolCall],
        offered: OfferedTools,
        context: ToolContext,
        *,
        timeout_ms: int,
        result_limit_chars: int,
    ) -> tuple[ToolResult, ...]:
        """Run the calls together; `results[i]` is for `calls[i]`. Raises only CancelledError.

        A tool that exceeds its time, or ignores its cancellation, keeps running, but its result is
        ignored.
        """
        tasks = [
            asyncio.create_task(
                _told(call, self._answer(call, offered, context, timeout_ms, result_limit_chars))
            )
            for call in calls[:MOST_CALLS]
        ]
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
        too_many = self._error(f"not run: at most {MOST_CALLS} calls at once; ask again", 200)
        return (*(task.result() for task in tasks), *(too_many for _ in calls[MOST_CALLS:]))

    async def _answer(
        self,
        call: ToolCall,
        offered: OfferedTools,
        context: ToolContext,
        timeout_ms: int,
        most: int,
    ) -> ToolResult:
        try:
            called = offered.called(call)
            args = called.arguments.checked(call.args)
        except ToolFailedError as failure:
            return self._error(str(failure), most)
        timeout_ms = called.tool.timeout_ms or timeout_ms
        work = asyncio.create_task(self._work(called, context, args, most))
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)
        try:
            await asyncio.wait({work}, timeout=timeout_ms / 1000)
        finally:
            work.cancel()
        if not work.done():
            log.warning("tool %s did not end within %d ms", called.name, timeout_ms)
            return self._error(f"{called.name} did not end within {timeout_ms / 1000:g} s", most)
        if work.cancelled():
            return self._error(f"{called.name} was cut off", most)
        return work.result()

    async def _work(
        self, called: NamedTool, context: ToolContext, args: Mapping[str, Any], most: int
    ) -> ToolResult:
        try:
            text = as_text(await called.tool.run(context, args), most)
        except ToolFailedError as failure:
            return self._error(str(failure), most)
        except (Exception, SystemExit) as error:
            # Whatever a tool stumbles over is told to the model; it must not end the turn.
            told = self._secrets.redacted(f"{type(error).__name__}: {error}", LONGEST_ERROR)
            log.warning("tool %s failed: %s", called.name, told)
            log.debug("tool %s failed", called.name, exc_info=error)
            return self._error(f"{called.name} failed: {told}", most)
        return ToolResult(cut(self._secrets.masked(text, most + 1), most))

    def _error(self, text: str, most: int) -> ToolResult:
        return ToolResult(
            cut(self._secrets.redacted(text, LONGEST_ERROR + 1), min(most, LONGEST_ERROR)),
            is_error=True,
        )


async def _told(call: ToolCall, answering: Awaitable[ToolResult]) -> ToolResult:
    """Log the call without its arguments, and return its result."""
    loop = asyncio.get_running_loop()
    name = call.name if is_valid(call.name) else repr(call.name[:_LONGEST_NAME])
    begun, outcome = loop.time(), "cut off"
    values = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    try:
        with turn_span(f"execute_tool {name}", values) as span:
            result = await answering
            if result.is_error:
                span.fail("tool_error")
        outcome = "failed" if result.is_error else "answered"
        return result
    finally:
        log.info("tool %s %s, %d ms", name, outcome, (loop.time() - begun) * 1000)
