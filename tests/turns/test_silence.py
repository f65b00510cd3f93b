"""Silence is an answer: by a marker, by a tool, or by an empty answer where nobody asked."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from oshaberi.bot.tools import ToolBox, builtin_tools
from oshaberi.chunks import Chunk, ToolCall
from oshaberi.delivery.config import StreamConfig
from oshaberi.stream.provider_protocol import Silence, Step
from tests.turns.turn_harness import CHANNEL, TurnHarness, calls, quick, run_turns, text

AUTO = {"auto_channels": (CHANNEL,)}
WHY = "Because the model read it and chose to say nothing (silence_markers, `stay_silent`)."
NOTED = "Because the model read it and chose to say nothing (silence_markers). It noted: “{}”."
MARKER: Sequence[Step] = [text("NO"), Silence(300), text("_REP"), Silence(300), text("LY")]


async def is_silent(harness: TurnHarness, *, mention: bool = False) -> None:
    await harness.answer("lunch?", mention=mention)
    assert harness.turn_channel.channel.posted == []
    assert len(harness.models.requests) == 1
    assert await harness.channel_turns.why(harness.turn_channel.people[-1].id) == WHY


@pytest.mark.parametrize(
    "stream",
    [quick(), quick(humanizer_degree=0), quick(humanizer_degree=3), quick(delivery="live")],
)
@pytest.mark.parametrize("mention", [True, False])
def test_a_marker_in_pieces(stream: StreamConfig, mention: bool) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await is_silent(harness, mention=mention)
        assert await harness.answer("and now?") == "mention"
        assert len(harness.turn_channel.contents) == 1

    run_turns(scenario, MARKER, turn=AUTO, stream=stream)


@pytest.mark.parametrize("script", [[], [text("\n")], [Chunk("done", finish_reason="stop")]])
def test_an_empty_answer_that_nobody_waits_for(script: Sequence[Step]) -> None:
    run_turns(is_silent, script, turn={"interjection_chance": 1.0})


@pytest.mark.parametrize("mention", [True, False])
def test_an_empty_answer_to_a_question_is_asked_for_again(mention: bool) -> None:
    """In an auto channel too: a model that has nothing to say there says so."""

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("lunch?", mention=mention)
        assert harness.turn_channel.contents == ["Rice."]

    run_turns(scenario, [], [text("Rice.")], turn=AUTO)


def test_an_answer_that_ran_out_of_tokens_is_no_silence() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("lunch?", mention=False)
        assert harness.turn_channel.contents == ["Rice."]

    run_turns(scenario, [Chunk("done", finish_reason="length")], [text("Rice.")], turn=AUTO)


def test_the_tool() -> None:
    script = [calls(ToolCall("stay_silent", {}))]
    run_turns(is_silent, script, turn=AUTO, tools=ToolBox(builtin_tools()))


def test_a_reaction_instead() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await is_silent(harness, mention=True)
        assert harness.turn_channel.reactions == [(harness.turn_channel.people[-1].id, "👍")]

    asked = calls(ToolCall("react", {"emoji": "👍"}), ToolCall("stay_silent", {}))
    run_turns(scenario, [asked], tools=ToolBox(builtin_tools()))


@pytest.mark.parametrize(
    "stream",
    [quick(), quick(humanizer_degree=0), quick(humanizer_degree=3), quick(delivery="live")],
)
def test_a_marker_with_a_reason(stream: StreamConfig) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("lunch?")
        assert harness.turn_channel.channel.posted == []
        asked = harness.turn_channel.people[-1].id
        assert await harness.channel_turns.why(asked) == NOTED.format("Ann asked Bo, not me")

    pieces = ("NO_REP", "LY (Ann asked", " Bo,\nnot me)")
    run_turns(
        scenario, [step for piece in pieces for step in (text(piece), Silence(300))], stream=stream
    )


def test_a_long_reason_is_cut() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("lunch?")
        asked = harness.turn_channel.people[-1].id
        assert await harness.channel_turns.why(asked) == NOTED.format("x" * 199 + "…")

    run_turns(scenario, [text("NO_REPLY: " + "x" * 5000)])


@pytest.mark.parametrize(("mention", "said"), [(True, ["NO_REPLY is my word."]), (False, [])])
def test_words_right_behind_a_marker_are_its_reason_where_it_was_offered(
    mention: bool, said: Sequence[str]
) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("lunch?", mention=mention)
        assert harness.turn_channel.contents == said

    run_turns(scenario, [text("NO_REPLY is my word.")], turn=AUTO)


def test_a_name_before_a_marker() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await is_silent(harness, mention=True)

    run_turns(scenario, [text("Tomori: NO_"), text("REPLY")])


def test_words_before_a_marker_are_said() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("lunch?")
        assert harness.turn_channel.contents == ["Rice."]
        asked = harness.turn_channel.people[-1].id
        assert await harness.channel_turns.why(asked) == "Because the bot was mentioned."

    run_turns(scenario, [text("Rice.\nNO_"), text("REPLY")])
    run_turns(scenario, [text("Rice.\nNO_"), text("REPLY (that is all"), text(")")])


@pytest.mark.parametrize("markers", [(), (" ",)])
def test_without_markers_the_word_is_shown(markers: tuple[str, ...]) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("lunch?")
        assert harness.turn_channel.contents == ["NO_REPLY"]

    run_turns(scenario, MARKER, turn={"silence_markers": markers})


@pytest.mark.parametrize(("mention", "told"), [(True, False), (False, True)])
def test_the_model_is_told_of_the_marker_where_nobody_asked(mention: bool, told: bool) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("lunch?", mention=mention)
        (request,) = harness.models.requests
        assert ("write only NO_REPLY." in str(request.items[0])) is told

    run_turns(scenario, turn=AUTO)


@pytest.mark.parametrize("mention", [True, False])
def test_the_model_knows_whether_somebody_addressed_it(mention: bool) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("lunch?", mention=mention)
        (request,) = harness.models.requests
        assert ("does not address Tomori" in str(request.items[0])) is not mention

    run_turns(scenario, turn={"interjection_chance": 1.0}, draw=lambda: 0.0)
