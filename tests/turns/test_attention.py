"""After it was spoken to the bot goes on listening, by a chance that falls; it never barges in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from oshaberi.bot.conversation.messages import ChannelMessage, IncomingMessage
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.turns.admission.message_admission import (
    MOST_CHANNELS,
    ChannelAttention,
    RecentTalk,
    odds_as_text,
)
from oshaberi.bot.turns.notices import FULL, TOO_SOON, USED_UP
from oshaberi.stream.provider_protocol import Silence
from tests.turns.turn_harness import ALICE, BOB, EPOCH, REN, TOMORI, TurnHarness, fails, run_turns
from tests.turns.turn_harness import text as says

LISTENING = {"attention_ms": 60_000, "attention_chance": 0.8}


class Draws:
    """What is drawn, in order; the number of draws."""

    def __init__(self, *drawn: float) -> None:
        self._drawn: Iterator[float] = iter(drawn)
        self.count = 0

    def __call__(self) -> float:
        self.count += 1
        return next(self._drawn)


def run_listening(scenario: Any, *scripts: Any, draw: Draws, **turn: Any) -> None:
    run_turns(scenario, *scripts, turn={**LISTENING, **turn}, draw=draw)


async def why(harness: TurnHarness) -> str | None:
    return await harness.channel_turns.why(harness.turn_channel.people[-1].id)


def test_the_chance_falls_with_time_and_with_messages_of_others() -> None:
    config = TurnConfig(attention_ms=60_000, attention_chance=0.8)
    talk = RecentTalk(ALICE.id, (TOMORI,), at_s=100.0)
    assert talk.chance(ALICE.id, 100.0, config) == pytest.approx(0.8)
    assert talk.chance(ALICE.id, 130.0, config) == pytest.approx(0.4)
    assert talk.chance(BOB.id, 130.0, config) == pytest.approx(0.2)
    assert talk.chance(ALICE.id, 160.0, config) == 0.0
    later = RecentTalk(ALICE.id, (TOMORI,), at_s=100.0, passed=2)
    assert later.chance(ALICE.id, 130.0, config) == pytest.approx(0.1)
    assert talk.chance(ALICE.id, 100.0, TurnConfig()) == 0.0


def test_it_goes_on_with_the_person_and_says_why() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("hi")
        await asyncio.sleep(15)
        assert await harness.answer("and you", mention=False) == "attention"
        told = "Because the bot and its author had been talking 15 s ago: chance 0.6, drew 0.4."
        assert await why(harness) == told
        ours = (await harness.turns())[-1]
        assert await harness.channel_turns.why(ours.message_ids[0]) == told
        await asyncio.sleep(30)
        assert await harness.answer("hm", mention=False) == "inattentive"
        assert await why(harness) == (
            "Because nobody was addressed; the bot had been talking here 30 s ago: "
            "chance 0.4, drew 0.5."
        )
        await asyncio.sleep(60)
        assert await harness.answer("anybody", mention=False) == "unaddressed"
        assert len(harness.models.requests) == 2

    run_listening(scenario, draw=Draws(0.4, 0.5))


def test_the_channel_comes_after_the_person() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("hi")
        assert await harness.answer("what is this", BOB, mention=False) == "overhearing"
        assert await why(harness) == (
            "Because the bot had been talking here 0 s ago: chance 0.4, drew 0.3."
        )
        assert await harness.answer("I see", mention=False) == "inattentive"

    run_listening(scenario, draw=Draws(0.3, 0.45))


def test_two_people_who_talk_past_it_are_left_alone() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("hi")
        turn_channel, channel_turns = harness.turn_channel, harness.channel_turns
        hers = turn_channel.people[-1]
        reply = turn_channel.write("hey", BOB, mention=False, reply_to=hers.id, replied=hers)
        assert await channel_turns.submit(reply, turn_channel) == "others"
        said = ChannelMessage(turn_channel.next_id(), ALICE, "@Bob yes", EPOCH)
        mention = IncomingMessage(said, turn_channel.channel_id, 7, mentions_others=True)
        assert await channel_turns.submit(mention, turn_channel) == "others"
        assert await harness.answer("so", mention=False) == "inattentive"
        assert await why(harness) == (
            "Because nobody was addressed; the bot had been talking here 0 s ago: "
            "chance 0.2, drew 0.2."
        )

    run_listening(scenario, draw=Draws(0.2))


@pytest.mark.parametrize(
    ("chance", "drew", "told"),
    [
        (0.8, 0.4321, ("0.8", "0.43")),
        (0.0000123, 0.5, ("0.000012", "0.5")),
        (0.8, 0.7999, ("0.8", "0.7999")),
        (1.0, 0.99999, ("1", "0.99999")),
        (0.2, 0.2, ("0.2", "0.2")),
    ],
)
def test_what_was_drawn_is_told_in_words_that_people_read(
    chance: float, drew: float, told: tuple[str, str]
) -> None:
    assert odds_as_text(chance, drew) == told


def test_off_means_that_nothing_is_drawn() -> None:
    draws = Draws()

    async def scenario(harness: TurnHarness) -> None:
        harness.change(draw=draws)
        await harness.answer("hi")
        assert await harness.answer("and you", mention=False) == "unaddressed"

    run_turns(scenario, turn={"attention_ms": 0})
    assert draws.count == 0


def test_words_that_nobody_asked_for() -> None:
    async def scenario(harness: TurnHarness) -> None:
        assert await harness.answer("nice day", mention=False) == "interjection"
        assert await why(harness) == (
            "Because the bot may speak unasked (interjection_chance): chance 0.05, drew 0.01."
        )
        assert await harness.answer("is it", BOB, mention=False) == "uninvited"
        assert await why(harness) == (
            "Because nobody was addressed, and the bot did not speak unasked "
            "(interjection_chance): chance 0.05, drew 0.5."
        )

    run_turns(scenario, turn={"interjection_chance": 0.05}, draw=Draws(0.01, 0.5))


def test_the_persona_that_had_been_talking_goes_on() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("ren, hi", mention=False)
        await harness.answer("and you", mention=False)
        assert [turn.persona for turn in await harness.turns()] == [REN.name, REN.name]

    run_listening(scenario, draw=Draws(0.0))


def test_it_may_say_nothing_and_then_listens_no_longer_than_before() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("hi")
        await asyncio.sleep(30)
        await harness.answer("hm", mention=False)
        assert harness.turn_channel.contents == ["Hm."]
        assert "said nothing" not in (await why(harness) or "")
        assert "chose to say nothing" in (await why(harness) or "")
        assert "NO_REPLY" in harness.models.requests[-1].items[0].text
        await asyncio.sleep(30)
        assert await harness.answer("hm", mention=False) == "unaddressed"

    run_listening(scenario, [says("Hm.")], [says("NO_REPLY")], draw=Draws(0.0))


def test_what_is_collected_with_a_question_stays_one() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hi")
        await asyncio.sleep(1)
        await harness.hear("and I", BOB)
        assert await harness.hear("by the way", BOB, mention=False) == "overhearing"
        await harness.channel_turns.idle()
        assert [turn.why for turn in await harness.turns()] == ["mention", "mention"]

    script = [says("One.\n"), Silence(5000), says("Two.")]
    run_listening(scenario, script, draw=Draws(0.0), follow_up_policy="collect")


def test_a_message_by_chance_never_interrupts() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        assert await harness.hear("and btw", mention=False) == "attention"
        await harness.channel_turns.idle()
        assert [turn.status for turn in await harness.turns()] == ["completed"] * 2
        assert harness.turn_channel.contents == ["One.", "Two.", "Hm."]

    run_listening(scenario, [says("One.\n"), Silence(5000), says("Two.")], draw=Draws(0.0))


@pytest.mark.parametrize(
    ("turn", "reason"), [({"cooldown_ms": 9000}, "cooldown"), ({"waiting_limit": 1}, "full")]
)
def test_nobody_is_told_why_unasked_words_do_not_come(turn: Any, reason: str) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        if reason == "full":
            await harness.hear("second", BOB)
        assert await harness.hear("and btw", mention=False) == reason
        await harness.channel_turns.idle()
        shown = {emoji for _, emoji in harness.turn_channel.reactions}
        assert not shown & {TOO_SOON, FULL}

    slow = [says("One.\n"), Silence(5000), says("Two.")]
    run_listening(scenario, slow, draw=Draws(0.0), **turn)


def test_a_failure_of_unasked_words_is_not_shown() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("nice day", mention=False)
        assert harness.turn_channel.channel.posted == []
        await harness.answer("hi")
        assert harness.turn_channel.embeds != []

    failing = [fails("invalid_request")] * 2
    run_turns(
        scenario, *([one] for one in failing), turn={"interjection_chance": 0.5}, draw=Draws(0.0)
    )


def test_a_used_up_quota_of_unasked_words_is_not_shown() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("hi")
        await harness.answer("nice day", mention=False)
        assert harness.turn_channel.embeds == []
        assert USED_UP not in {emoji for _, emoji in harness.turn_channel.reactions}

    run_turns(
        scenario,
        turn={"interjection_chance": 0.5, "quota_requests_per_user_day": 1},
        draw=Draws(0.0),
    )


def test_what_came_while_nobody_listened_is_not_drawn_for() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("hi")
        late = harness.turn_channel.write("and you", mention=False)
        channel_turns = harness.channel_turns
        assert await channel_turns.submit(late, harness.turn_channel, "missed") == "unaddressed"

    run_listening(scenario, draw=Draws())


def test_what_was_written_before_the_talk_is_not_drawn_for() -> None:
    """It may be decided later: the first message after a start waits for the settings."""

    async def scenario(harness: TurnHarness) -> None:
        early = harness.turn_channel.write("hm", mention=False)
        await harness.answer("hi")
        channel_turns = harness.channel_turns
        assert await channel_turns.submit(early, harness.turn_channel) == "unaddressed"

    run_listening(scenario, draw=Draws())


def test_a_stored_question_keeps_its_reason() -> None:
    async def scenario(harness: TurnHarness) -> None:
        stored = harness.turn_channel.write("and you", mention=False)
        channel_turns = harness.channel_turns
        told = "attention 40 0.7 0.4"
        assert (
            await channel_turns.submit(stored, harness.turn_channel, "stored", told) == "attention"
        )
        await channel_turns.idle()
        assert await why(harness) == (
            "Because the bot and its author had been talking 40 s ago: chance 0.7, drew 0.4."
        )

    run_listening(scenario, draw=Draws())


def test_what_is_remembered_is_bounded() -> None:
    attention = ChannelAttention()
    for channel_id in range(MOST_CHANNELS + 10):
        attention.note_talk(channel_id, ALICE.id, (TOMORI,), 0.0)
    assert attention.talk(0) is None
    assert attention.talk(MOST_CHANNELS + 9) is not None
