"""`reply_mode`: which messages of an answer reply, and when a persona's notice is there."""

from __future__ import annotations

import asyncio

import pytest

from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.stream.provider_protocol import Silence, Step
from tests.turns.turn_harness import BOB, TurnHarness, run_turns, text

ANSWER: list[Step] = [Silence(1000), text("one\ntwo\nthree")]


def replies(harness: TurnHarness) -> list[bool]:
    return [posted.post.reply for posted in harness.turn_channel.channel.posted]


def notices(harness: TurnHarness) -> int:
    records = harness.turn_channel.channel.records
    return sum(record["kind"] == "reply_notice" for record in records)


async def answered(harness: TurnHarness, words: str, *, between: bool) -> None:
    await harness.hear(words)
    await asyncio.sleep(0.5)
    if between:
        await harness.hear("by the way", BOB, mention=False)
    await harness.channel_turns.idle()


@pytest.mark.parametrize(
    ("mode", "between", "expected"),
    [
        ("off", True, [False, False, False]),
        ("auto", False, [False, False, False]),
        ("auto", True, [True, False, False]),
        ("first", False, [True, False, False]),
        ("all", False, [True, True, True]),
    ],
)
def test_which_messages_reply(mode: str, between: bool, expected: list[bool]) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await answered(harness, "hi", between=between)
        assert replies(harness) == expected

    run_turns(scenario, ANSWER, turn={"reply_mode": mode})


@pytest.mark.parametrize(
    ("mode", "between", "expected"),
    [
        ("off", True, 0),
        ("auto", False, 0),
        ("auto", True, 1),
        ("first", False, 1),
        ("all", True, 1),
    ],
)
def test_the_notice_of_a_persona(mode: str, between: bool, expected: int) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await answered(harness, "ren?", between=between)
        assert harness.turn_channel.contents == ["one", "two", "three"]
        assert notices(harness) == expected

    run_turns(scenario, ANSWER, turn={"reply_mode": mode})


@pytest.mark.parametrize(("mode", "expected"), [("auto", False), ("first", False), ("all", True)])
def test_direct_messages(mode: str, expected: bool) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await answered(harness, "hi", between=False)
        assert replies(harness) == [expected] * 3

    run_turns(scenario, ANSWER, turn={"reply_mode": mode}, turn_channel={"server_id": 0})


def test_a_late_first_message_looks_at_the_channel_when_it_is_sent() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hi")
        await asyncio.sleep(30)
        await harness.hear("anybody?", BOB, mention=False)
        await harness.channel_turns.idle()
        assert replies(harness) == [True]

    mode = TurnConfig().reply_mode
    run_turns(scenario, [Silence(60_000), text("Hm.")], turn={"reply_mode": mode})
