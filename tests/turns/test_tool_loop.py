"""Streams and tools taking turns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from oshaberi.bot.storage.records import UsageRecord
from oshaberi.bot.tools.definition import ToolContext
from oshaberi.chunks import Chunk, ThoughtPart, ToolCall
from oshaberi.providers.request.model_request import ToolDeclaration, ToolResult, ToolRound
from tests.turns.turn_harness import (
    CHANNEL,
    SERVER,
    TurnHarness,
    calls,
    dialogue_of,
    fails,
    link,
    run_turns,
    text,
    used,
)


class Workshop:
    """Tools whose answers are told beforehand: a text, an error, or a time to take."""

    def __init__(self, *answers: str | Exception | float) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, ...]] = []
        self.cancelled = 0

    def declarations(self, context: ToolContext) -> tuple[ToolDeclaration, ...]:
        return (ToolDeclaration(f"look_for_{context.persona_name}"),)

    async def run(
        self, asked: Sequence[ToolCall], context: ToolContext, **limits: int
    ) -> tuple[ToolResult, ...]:
        assert limits == {"timeout_ms": 60_000, "result_limit_chars": 20_000}
        assert context.incoming.said.author.name == "Alice"
        self.asked.append(tuple(call.name for call in asked))
        return tuple([await self._answer() for _ in asked])

    async def _answer(self) -> ToolResult:
        answer = self.answers.pop(0) if self.answers else "done"
        if isinstance(answer, float):
            try:
                await asyncio.sleep(answer)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if isinstance(answer, Exception):
            return ToolResult(str(answer), is_error=True)
        return ToolResult(str(answer))


LOOK = ToolCall("look", {"at": "moon"}, "c1")


def rounds_of(harness: TurnHarness, number: int) -> list[ToolRound]:
    return [item for item in harness.models.requests[number].items if isinstance(item, ToolRound)]


def test_text_tool_text() -> None:
    tools = Workshop("round")

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("look at the moon")
        assert harness.turn_channel.contents == ["Let me see.", "It is round."]
        (first,) = rounds_of(harness, 1)
        assert first.calls == (LOOK,)
        assert first.results == (ToolResult("round"),)
        assert first.text == "Let me see."
        assert first.thoughts == (ThoughtPart("hm", "raw", "sig"),)
        assert first.provider == "scripted"
        assert harness.models.requests[0].tools == (ToolDeclaration("look_for_Tomori"),)
        # One response: only its first message replies.
        assert [r["reply"] for r in harness.turn_channel.channel.records] == [True, False]
        (kept,) = await harness.exchanges()
        assert kept.answered == "Let me see.\nIt is round."
        assert await harness.usage() == UsageRecord(SERVER, "scripted", "m", 2, 30, 3)

    thought = Chunk("text", thoughts=(ThoughtPart("hm", "raw", "sig"),))
    run_turns(
        scenario,
        [thought, text("Let me see."), used(10, 1), calls(LOOK)],
        [text("It is round."), used(20, 2)],
        tools=tools,
    )


def test_parallel_calls_stay_in_order() -> None:
    tools = Workshop("a", "b")

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        (first,) = rounds_of(harness, 1)
        assert [(c.name, r.content) for c, r in zip(first.calls, first.results, strict=True)] == [
            ("one", "a"),
            ("two", "b"),
        ]
        assert tools.asked == [("one", "two")]

    run_turns(scenario, [calls(ToolCall("one"), ToolCall("two"))], [text("ok")], tools=tools)


def test_too_many_rounds() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert len(harness.models.requests) == 4
        assert harness.turn_channel.embeds == ["This took too many steps"]
        assert (await harness.turns())[-1].status == "timeout"

    turn = {"max_function_call_iterations": 3}
    run_turns(scenario, *[[calls(LOOK)]] * 10, tools=Workshop(), turn=turn)


def test_still_working_is_told_once() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert len(harness.models.requests) == 31
        assert harness.turn_channel.embeds == ["Still working"]
        assert harness.turn_channel.contents == ["Done."]

    run_turns(scenario, *[[calls(LOOK)]] * 30, [text("Done.")], tools=Workshop())


def test_failures_in_a_row_end_it() -> None:
    tools = Workshop(*[ValueError("no")] * 9)

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert len(harness.models.requests) == 3
        assert harness.turn_channel.embeds == ["The tools keep failing"]
        assert (await harness.turns())[-1].status == "error"

    turn = {"max_consecutive_tool_errors": 3}
    run_turns(scenario, *[[calls(LOOK)]] * 9, tools=tools, turn=turn)


def test_a_success_between_failures_counts() -> None:
    tools = Workshop(ValueError("no"), ValueError("no"), "yes", ValueError("no"), ValueError("no"))

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.contents == ["Done."]
        assert harness.turn_channel.embeds == []

    turn = {"max_consecutive_tool_errors": 3}
    run_turns(scenario, *[[calls(LOOK)]] * 5, [text("Done.")], tools=tools, turn=turn)


def test_a_stop_during_a_tool_ends_the_turn_at_once() -> None:
    tools = Workshop(1000.0)

    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("look")
        await asyncio.sleep(5)
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert harness.channel_turns.stop(CHANNEL, 1, False).ok
        await harness.channel_turns.idle()
        assert loop.time() - began < 0.05
        assert tools.cancelled == 1
        assert len(harness.models.requests) == 1
        assert harness.turn_channel.contents == ["Wait."]
        turn = (await harness.turns())[-1]
        assert turn.status == "stopped_by_user"
        assert not harness.channel_turns.is_busy(CHANNEL)

    run_turns(scenario, [text("Wait."), calls(LOOK)], [text("never")], tools=tools)


def test_a_tool_that_ignores_its_cancellation_holds_nobody_up() -> None:
    class Stubborn(Workshop):
        async def run(
            self, asked: Sequence[ToolCall], context: ToolContext, **limits: int
        ) -> tuple[ToolResult, ...]:
            del asked, context, limits
            for _ in range(100):
                try:
                    await asyncio.sleep(1)
                except asyncio.CancelledError:
                    self.cancelled += 1
            return (ToolResult("late"),)

    tools = Stubborn()

    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("look")
        await asyncio.sleep(5)
        began = asyncio.get_running_loop().time()
        assert harness.channel_turns.stop(CHANNEL, 1, False).ok
        await harness.channel_turns.idle()
        assert asyncio.get_running_loop().time() - began < 0.05
        assert tools.cancelled == 1
        await asyncio.sleep(200)

    run_turns(scenario, [calls(LOOK)], tools=tools)


def test_a_follow_up_during_a_tool_begins_anew() -> None:
    tools = Workshop(1000.0)

    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("look")
        await asyncio.sleep(5)
        await harness.answer("no, at the sun")
        assert tools.cancelled == 1
        assert harness.turn_channel.contents == ["Wait.", "The sun."]
        assert [turn.status for turn in await harness.turns()] == [
            "follow_up_interrupt",
            "completed",
        ]
        told = dialogue_of(harness.models.requests[1])
        assert told[-3:] == ["Alice: look", "Wait.", "Alice: no, at the sun"]

    run_turns(scenario, [text("Wait."), calls(LOOK)], [text("The sun.")], tools=tools)


def test_after_a_tool_another_model_may_go_on() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.play([text("Spare.")], model="spare")
        await harness.answer()
        assert [model for model, _ in harness.models.asked] == ["m", "m", "spare"]
        assert harness.turn_channel.contents == ["Wait.", "Spare."]
        (first,) = rounds_of(harness, 2)
        assert first.provider == "scripted"

    run_turns(
        scenario,
        [text("Wait."), calls(LOOK)],
        [fails("network")],
        tools=Workshop(),
        links=[link("m"), link("spare")],
    )


def test_silence_after_a_tool_is_fine_if_something_was_said_before() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert len(harness.models.requests) == 2
        assert harness.turn_channel.embeds == []
        assert (await harness.turns())[-1].status == "completed"

    run_turns(scenario, [text("I react."), calls(LOOK)], [], tools=Workshop())


def test_a_model_that_calls_tools_nobody_has() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        (first,) = rounds_of(harness, 1)
        assert first.results[0].is_error
        assert harness.turn_channel.contents == ["Oh."]

    run_turns(scenario, [calls(LOOK)], [text("Oh.")])
