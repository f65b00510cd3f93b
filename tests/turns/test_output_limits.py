"""An answer that ran into its limit says so, and offers to go on."""

from __future__ import annotations

from oshaberi.chunks import Chunk, ToolCall
from tests.turns.turn_harness import ALICE, TurnHarness, run_turns, text

CUT = Chunk("done", finish_reason="length")


def test_a_cut_answer_says_so_and_goes_on() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("a story?")
        assert harness.turn_channel.contents == [
            "Once upon a",
        ]
        assert harness.turn_channel.embeds == ["This answer is not complete"]
        await harness.channel_turns.continue_(harness.turn_channel, ALICE)
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents[-1] == "time."

    run_turns(scenario, [text("Once upon a"), CUT], [text("time.")])


def test_a_cut_call_says_so_too() -> None:
    """Its arguments are incomplete, so it is not made; what came before it is there."""

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("what is the weather?")
        assert harness.turn_channel.embeds == ["This answer is not complete"]

    run_turns(scenario, [text("I look."), CUT])


def test_one_that_had_no_room_for_a_word_says_which_number() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("hm?")
        assert harness.turn_channel.embeds == ["The model gave no answer"]
        (shown,) = [one.post.embed for one in harness.turn_channel.channel.posted]
        assert shown is not None
        assert "`max_output_tokens`" in shown.description

    run_turns(scenario, [CUT], [CUT], [CUT], [CUT])


def test_a_complete_answer_says_nothing() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.embeds == []

    run_turns(scenario, [text("Fine."), Chunk("done", finish_reason="stop")])


def test_calls_that_came_whole_are_made() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.embeds == []
        assert harness.turn_channel.contents == ["Done."]

    call = Chunk("function_call", calls=(ToolCall("nothing"),), finish_reason="length")
    run_turns(scenario, [call], [text("Done.")])
