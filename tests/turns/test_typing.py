"""The typing indicator of a whole turn: from the question to the last message, and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from oshaberi.chunks import ToolCall
from oshaberi.delivery.response import ResponseState
from oshaberi.stream import Silence, Step
from tests.delivery.seen_typing import TypingWatch
from tests.turns.test_tool_loop import Workshop
from tests.turns.turn_harness import TurnHarness, calls, fails, link, quick, run_turns, spoil, text

LOOK = ToolCall("look", {"at": "moon"}, "c1")
SLOW_TOOL = 9.5
CALL: Sequence[Step] = [text("Let me see.\n"), Silence(1500), calls(LOOK)]
ROUNDS: Sequence[Sequence[Step]] = [
    CALL,
    [Silence(7000), calls(LOOK)],
    [Silence(7000), text("It is round."), Silence(3000), text(" Done.")],
]


def loop_time() -> float:
    return asyncio.get_running_loop().time()


def watched(
    scenario: Callable[[TurnHarness], Awaitable[object]], *scripts: Sequence[Step], **options: Any
) -> TypingWatch:
    """Run it, and an idle minute after it: nothing may be shown in it."""

    async def whole(harness: TurnHarness) -> TypingWatch:
        watch = TypingWatch(harness.turn_channel.channel)
        await scenario(harness)
        end = loop_time()
        await asyncio.sleep(60)
        assert all(at <= end for at in watch.asked_at)
        return watch

    return run_turns(whole, *scripts, **options)


async def answered(harness: TurnHarness) -> None:
    await harness.answer()
    assert harness.turn_channel.embeds == []


def slow(thing: Any, name: str, seconds: float) -> None:
    """Let a method take its time."""
    real = getattr(thing, name)

    async def slowly(*args: Any, **options: Any) -> Any:
        await asyncio.sleep(seconds)
        return await real(*args, **options)

    spoil(thing, name, slowly)


@pytest.mark.parametrize("degree", range(4))
def test_tool_rounds(degree: int) -> None:
    watch = watched(
        answered,
        *ROUNDS,
        stream=quick(humanizer_degree=degree),
        tools=Workshop(SLOW_TOOL, SLOW_TOOL),
    )
    assert watch.longest_silence(max(watch.came_at())) <= 1.0


@pytest.mark.parametrize("degree", range(4))
def test_everything_around_the_stream_is_slow(degree: int) -> None:
    async def scenario(harness: TurnHarness) -> None:
        slow(harness.turn_channel, "channel_info", 12)
        slow(harness.services.models.adapters, "warm", 9)
        slow(harness.db.reading, "surroundings", 3)
        await answered(harness)

    watch = watched(scenario, [Silence(9000), text("Hi.")], stream=quick(humanizer_degree=degree))
    assert watch.longest_silence(max(watch.came_at())) <= 1.0


def test_a_model_that_is_waited_for() -> None:
    scripts = [[fails("rate_limit", {"retry_after_s": 12})], [fails("provider_overloaded")]]
    watch = watched(answered, *scripts, [text("Fine.")], links=[link("m", "k1")])
    assert watch.longest_silence(max(watch.came_at())) <= 1.0
    assert watch.asked_at == [0.0, 8.0, 16.0]


def test_none_after_the_last_message_however_long_the_rest_takes() -> None:
    async def scenario(harness: TurnHarness) -> None:
        slow(harness.db, "keep_turn", 30)
        slow(harness.db, "count_usage", 30)
        await answered(harness)

    watch = watched(scenario, [text("Hi.")])
    assert watch.asked_at == [0.0]


def test_none_after_a_stop_while_a_tool_runs() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hi")
        await asyncio.sleep(5)
        stopped_at.append(loop_time())
        channel = str(harness.turn_channel.channel_id)
        harness.services.traffic.stops.request_stop(channel, "1")
        await harness.channel_turns.idle()

    stopped_at: list[float] = []
    watch = watched(scenario, CALL, tools=Workshop(50.0))
    assert watch.asked_at
    assert all(at <= stopped_at[0] for at in watch.asked_at)


def test_a_refused_question_shows_no_indicator() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        await harness.answer()
        assert len(harness.turn_channel.embeds) == 1

    watch = watched(scenario, [text("Hi.")], turn={"quota_requests_per_user_day": 1})
    assert watch.asked_at == [0.0], "only for the first"


UNASKED: Any = {"turn": {"interjection_chance": 1.0}, "draw": lambda: 0.0}


async def overheard(harness: TurnHarness) -> None:
    assert await harness.answer("nice day", mention=False) == "interjection"


@pytest.mark.parametrize(
    "script",
    [
        [Silence(3000), text("NO"), Silence(9000), text("_REP"), Silence(2000), text("LY")],
        [
            text("<th"),
            Silence(2000),
            text("ink>hm"),
            Silence(3000),
            text("</think>"),
            Silence(2000),
        ],
        [text("<think>hm"), Silence(9000), text(" so</think>NO_"), Silence(2000), text("REPLY")],
        [Silence(9000)],
    ],
    ids=["marker", "thoughts", "thoughts and marker", "nothing"],
)
def test_words_that_nobody_asked_for_and_nobody_hears_show_no_indicator(
    script: Sequence[Step],
) -> None:
    watch = watched(overheard, script, **UNASKED)
    assert watch.came_at() == []
    assert watch.asked_at == []


@pytest.mark.parametrize("begin", ["Well", "<think>hm</think>Well", "<b> is a tag, well"])
def test_unasked_words_show_it_when_they_begin(begin: str) -> None:
    script: Sequence[Step] = [
        Silence(3000),
        text(begin),
        Silence(12_000),
        text(", it is.\nYes."),
        Silence(2000),
    ]
    watch = watched(overheard, script, **UNASKED)
    assert watch.asked_at[:2] == pytest.approx([3.75, 11.75])
    assert len(watch.came_at()) == 2


def test_unasked_words_that_come_at_once_need_none() -> None:
    script: Sequence[Step] = [Silence(3000), text("Yes, it is.")]
    watch = watched(overheard, script, **UNASKED)
    assert watch.asked_at == []


def test_the_model_of_unasked_words_may_use_a_tool_unseen() -> None:
    tools = Workshop(SLOW_TOOL)
    watch = watched(overheard, [calls(LOOK)], [text("NO_REPLY")], tools=tools, **UNASKED)
    assert watch.asked_at == []


def test_it_is_off_unless_somebody_answers() -> None:
    assert not ResponseState().indicator.is_on
