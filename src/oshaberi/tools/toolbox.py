"""All tools of the bot: decides which ones a turn may use, and runs calls."""

from __future__ import annotations

import asyncio
import difflib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oshaberi.chunks import ToolCall
from oshaberi.providers.request.context_items import ToolDeclaration, ToolResult
from oshaberi.secret_redaction import SecretValues
from oshaberi.tools.argument_checks import ArgumentChecks
from oshaberi.tools.tool_definition import Tool, ToolContext, ToolFailedError
from oshaberi.tools.tool_names import by_name, is_valid
from oshaberi.tools.tool_results import as_text, cut
from oshaberi.turn_spans import turn_span

log = logging.getLogger(__name__)

LONGEST_DESCRIPTION = 1024
"""The longest description, which is what OpenAI's API accepts."""
LONGEST_ERROR = 2000
MOST_CALLS = 16
"""How many calls are run in one round. Each may be a request to Discord, the web or an MCP
server."""
_MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class _ToolEntry:
    name: str
    tool: Tool
    arguments: ArgumentChecks

    def declaration(self) -> ToolDeclaration:
        description = _shortened(self.tool.description, LONGEST_DESCRIPTION)
        return ToolDeclaration(self.name, description, self.tool.parameters)


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
        self._secrets = SecretValues(secrets)
        self._theirs: tuple[Tool, ...] | None = None
        self._entries: dict[str, _ToolEntry] = {}
        self._at_work: set[asyncio.Task[Any]] = set()
        self._refresh()

    def declarations(self, context: ToolContext) -> tuple[ToolDeclaration, ...]:
        """Return the declarations of the tools that this turn may use."""
        return tuple(entry.declaration() for entry in self._available(context).values())

    async def run(
        self,
        calls: Sequence[ToolCall],
        context: ToolContext,
        *,
        timeout_ms: int,
        result_limit_chars: int,
    ) -> tuple[ToolResult, ...]:
        """Run the calls together; `results[i]` is for `calls[i]`. Raises only CancelledError.

        A tool that exceeds its time, or ignores its cancellation, keeps running, but its result is
        ignored.
        """
        entries = self._available(context)
        tasks = [
            asyncio.create_task(
                _told(call, self._answer(call, entries, context, timeout_ms, result_limit_chars))
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

    def _available(self, context: ToolContext) -> Mapping[str, _ToolEntry]:
        self._refresh()
        entries = self._entries.items()
        return {name: entry for name, entry in entries if _is_available(entry.tool, context)}

    def _refresh(self) -> None:
        theirs = self._more()
        if theirs is self._theirs:
            return
        self._theirs = theirs
        named = by_name(self._ours, theirs)
        self._entries = {
            name: _ToolEntry(name, tool, ArgumentChecks(name, tool.parameters))
            for name, tool in named.items()
        }

    async def _answer(
        self,
        call: ToolCall,
        entries: Mapping[str, _ToolEntry],
        context: ToolContext,
        timeout_ms: int,
        most: int,
    ) -> ToolResult:
        try:
            entry = self._entry(call, entries)
            args = entry.arguments.checked(call.args)
        except ToolFailedError as failure:
            return self._error(str(failure), most)
        timeout_ms = entry.tool.timeout_ms or timeout_ms
        work = asyncio.create_task(self._work(entry, context, args, most))
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)
        try:
            await asyncio.wait({work}, timeout=timeout_ms / 1000)
        finally:
            work.cancel()
        if not work.done():
            log.warning("tool %s did not end within %d ms", entry.name, timeout_ms)
            return self._error(f"{entry.name} did not end within {timeout_ms / 1000:g} s", most)
        if work.cancelled():
            return self._error(f"{entry.name} was cut off", most)
        return work.result()

    def _entry(self, call: ToolCall, entries: Mapping[str, _ToolEntry]) -> _ToolEntry:
        if call.error is not None:
            raise ToolFailedError(call.error)
        entry = entries.get(call.name)
        if entry is not None:
            return entry
        if call.name in self._entries:
            raise ToolFailedError(f"whoever asked may not use {call.name} here")
        near = difflib.get_close_matches(call.name, entries, n=3)
        names = ", ".join(near or list(entries)[:_MOST_NAMES]) or "none"
        hint = "did you mean" if near else "there are"
        raise ToolFailedError(f"there is no tool {call.name[:64]!r}; {hint}: {names}")

    async def _work(
        self, entry: _ToolEntry, context: ToolContext, args: Mapping[str, Any], most: int
    ) -> ToolResult:
        try:
            text = as_text(await entry.tool.run(context, args), most)
        except ToolFailedError as failure:
            return self._error(str(failure), most)
        except (Exception, SystemExit) as error:
            # Whatever a tool stumbles over is told to the model; it must not end the turn.
            told = self._secrets.redacted(f"{type(error).__name__}: {error}")
            log.warning("tool %s failed: %s", entry.name, told[:LONGEST_ERROR])
            log.debug("tool %s failed", entry.name, exc_info=error)
            return self._error(f"{entry.name} failed: {told}", most)
        return ToolResult(cut(self._secrets.masked(text), most))

    def _error(self, text: str, most: int) -> ToolResult:
        return ToolResult(
            cut(self._secrets.redacted(text), min(most, LONGEST_ERROR)), is_error=True
        )


async def _told(call: ToolCall, answering: Awaitable[ToolResult]) -> ToolResult:
    """Log the call without its arguments, and return its result."""
    loop = asyncio.get_running_loop()
    name = call.name if is_valid(call.name) else repr(call.name[:64])
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


def _is_available(tool: Tool, context: ToolContext) -> bool:
    try:
        return tool.available(context)
    except Exception:
        # `offered` may be anybody's code, and a turn must not end by it.
        log.exception("tool %s cannot say whether it is offered; it is not", tool.name)
        return False


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
