"""Streams, runs tools and streams again, until the model calls no more tools (spec 08)."""

from __future__ import annotations

from dataclasses import replace

from oshaberi.bot.tools.definition import ToolContext, ToolFailedError
from oshaberi.bot.tools.toolbox import ToolBox
from oshaberi.bot.turns.generation.fallback import ModelFallback
from oshaberi.bot.turns.generation.model_call import GenerationSetup
from oshaberi.bot.turns.notices import (
    NoticeSender,
    still_working,
    too_many_errors,
    too_many_rounds,
)
from oshaberi.chunks import ToolCall
from oshaberi.providers.request.model_request import ToolResult, ToolRound
from oshaberi.stream.result import StreamResult

STILL_WORKING_AT = 20


class ToolLoop:
    """The streams of one turn, added to `results`. Raises InterruptedTurnError between them."""

    def __init__(
        self,
        models: ModelFallback,
        setup: GenerationSetup,
        announcer: NoticeSender,
        tools: ToolBox,
        context: ToolContext,
        results: list[StreamResult],
    ) -> None:
        self._results = results
        self._models = models
        self._setup = setup
        self._announcer = announcer
        self._tools = tools
        self._context = context
        self._rounds: list[ToolRound] = []
        self._errors = 0

    async def run(self) -> StreamResult:
        """Run the loop and return the last result."""
        limit = self._setup.turn.max_function_call_iterations
        while True:
            result = await self._models.stream(self._rounds)
            self._results.append(result)
            response = self._setup.context.response
            if self._setup.is_silence(result):
                response.choose_silence()
                return replace(result, status="completed")
            if result.status == "empty_response" and response.sent:
                return replace(result, status="completed")  # all was said before the tools
            if result.status != "function_call":
                return result
            if len(self._rounds) >= limit:
                await self._announcer.show(too_many_rounds(limit))
                return _ended(result, StreamResult("timeout"))
            await self._round(result)
            if response.chose_silence:
                return replace(result, status="completed", data=None, calls=())
            most_errors = self._setup.turn.max_consecutive_tool_errors
            if self._errors >= most_errors:
                await self._announcer.show(too_many_errors(most_errors))
                failure = ToolFailedError(f"tool errors in a row: {most_errors}")
                return _ended(result, StreamResult("error", data=failure))

    async def _round(self, result: StreamResult) -> None:
        answers = await self._answers(result.calls)
        self._rounds.append(
            ToolRound(
                result.calls,
                answers,
                text=result.accumulated_text,
                thoughts=result.thought_log.parts,
                provider=result.thought_log.provider,
                model=result.thought_log.model,
            )
        )
        for answer in answers:
            self._errors = self._errors + 1 if answer.is_error else 0
        if len(self._rounds) == STILL_WORKING_AT:
            await self._announcer.show(still_working(STILL_WORKING_AT))

    async def _answers(self, calls: tuple[ToolCall, ...]) -> tuple[ToolResult, ...]:
        work = self._tools.run(
            calls,
            self._context,
            timeout_ms=self._setup.turn.tool_timeout_ms,
            result_limit_chars=self._setup.turn.tool_result_limit_chars,
        )
        return await self._setup.channel.until_stopped(work)


def _ended(last: StreamResult, ending: StreamResult) -> StreamResult:
    """Return the last stream's result with another status."""
    return replace(last, status=ending.status, data=ending.data, calls=())
