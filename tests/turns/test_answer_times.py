"""How long people wait for an answer is counted from their question, in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from oshaberi.bot.turns.services.turn_services import AnswerTimes
from oshaberi.stream.provider_protocol import Silence, Step
from tests.turns.turn_harness import ALICE, BOB, TurnHarness, run_turns, text

SLOW: list[Step] = [Silence(2000), text("one\n\ntw"), Silence(3000), text("o")]


def watched(harness: TurnHarness) -> list[AnswerTimes]:
    times: list[AnswerTimes] = []
    harness.change(on_answered=times.append)
    return times


def test_the_first_token_and_the_first_message_count_from_the_question() -> None:
    async def scenario(harness: TurnHarness) -> None:
        times = watched(harness)
        await harness.answer()
        [answer] = times
        assert answer.first_token_s == pytest.approx(2, abs=0.01)
        assert answer.first_message_s == pytest.approx(2, abs=0.01)

    run_turns(scenario, SLOW)


def test_a_wait_for_the_answer_before_counts() -> None:
    async def scenario(harness: TurnHarness) -> None:
        times = watched(harness)
        await harness.hear("first")
        await asyncio.sleep(1)
        await harness.answer("second", BOB)
        assert [one.first_token_s for one in times] == pytest.approx([2, 4 + 2], abs=0.01)

    run_turns(scenario, SLOW, SLOW, turn={"follow_up_policy": "queue"})


def test_a_question_that_was_missed_counts_from_when_it_was_written() -> None:
    async def scenario(harness: TurnHarness) -> None:
        times = watched(harness)
        asked = harness.turn_channel.write("are you there?")
        old = replace(asked, said=replace(asked.said, at=asked.said.at - timedelta(seconds=90)))
        await harness.channel_turns.submit(old, harness.turn_channel, "missed")
        await harness.channel_turns.idle()
        assert [one.first_message_s for one in times] == pytest.approx([92], abs=0.01)

    run_turns(scenario, SLOW)


def test_messages_that_are_answered_together_count_from_the_first() -> None:
    async def scenario(harness: TurnHarness) -> None:
        times = watched(harness)
        await harness.hear("first")
        await harness.hear("second", BOB)
        await asyncio.sleep(1)
        await harness.answer("and third", BOB)
        assert times[1].first_token_s == pytest.approx(5 + 2, abs=0.01)

    run_turns(scenario, SLOW, SLOW, turn={"follow_up_policy": "collect"})


def test_an_answer_that_does_not_come_has_no_times() -> None:
    async def scenario(harness: TurnHarness) -> None:
        times = watched(harness)
        await harness.answer()
        assert times == [AnswerTimes()]

    run_turns(scenario, [Silence(1)], [Silence(1)], [Silence(1)])


def test_a_continued_answer_has_no_question() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        times = watched(harness)
        await harness.channel_turns.continue_(harness.turn_channel, ALICE)
        await harness.channel_turns.idle()
        assert times == [AnswerTimes()]

    run_turns(scenario, SLOW, SLOW)


def test_an_addressed_message_where_the_bot_may_not_write_gets_a_sign() -> None:
    async def scenario(harness: TurnHarness) -> None:
        for mention in (True, False):
            asked = harness.turn_channel.write("Tomori?", mention=mention)
            mute = replace(asked, can_answer=False)
            assert await harness.channel_turns.submit(mute, harness.turn_channel) == "mute"
        await harness.channel_turns.idle()
        assert [sign for _, sign in harness.turn_channel.reactions] == ["🔇"]

    run_turns(scenario, turn={"auto_channels": (1,)}, turn_channel={"channel_id": 1})
