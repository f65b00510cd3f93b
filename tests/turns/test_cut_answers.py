"""A process ends in the middle of answers and has no time left: what goes on is stored first."""

from __future__ import annotations

import asyncio
from typing import Any

from oshaberi.bot.turns.notices import GOES_ON, RESTARTED
from oshaberi.delivery.sink import Post, Sent, WireState
from oshaberi.stream.provider_protocol import Silence, Step
from tests.turns.turn_harness import CHANNEL, TurnHarness, run_turns, spoil, text

CUT: list[Step] = [text("One.\nTwo. And then the qui"), Silence(60_000), text("ck fox.")]
THREE: list[Step] = [text("Three.")]


def hang_where(harness: TurnHarness, hangs: Any) -> None:
    """Discord does not answer when such a message is sent."""
    send = harness.turn_channel.channel.send

    async def sent(post: Post, wire: WireState) -> Sent:
        if hangs(post):
            await asyncio.Event().wait()
        return await send(post, wire)

    spoil(harness.turn_channel.channel, "send", sent)


def restarted(harness: TurnHarness) -> TurnHarness:
    """Another process with the same channel and database, where Discord answers."""
    vars(harness.turn_channel.channel).pop("send", None)
    channel_turns = type(harness.channel_turns).over(harness.services)
    return TurnHarness(harness.services, harness.turn_channel, channel_turns, harness.db)


async def cut_in_the_middle(harness: TurnHarness) -> int:
    await harness.hear("tell me")
    await asyncio.sleep(1)
    await harness.channel_turns.shutdown(2)
    return harness.turn_channel.people[-1].id


async def goes_on(harness: TurnHarness) -> None:
    turn = await harness.db.turns.last(CHANNEL)
    assert turn is not None
    assert turn.status == "interrupted"
    assert await harness.channel_turns.resume(harness.turn_channel, turn)
    await harness.channel_turns.idle()


def test_an_answer_goes_on_although_its_notice_could_not_be_sent() -> None:
    async def scenario(harness: TurnHarness) -> None:
        hang_where(harness, lambda post: post.embed is not None)
        asked = await cut_in_the_middle(harness)
        assert harness.turn_channel.contents == ["One.", "Two."]
        (stored,) = await harness.questions()
        assert (stored.message_id, stored.is_begun) == (asked, True)
        (turn,) = await harness.turns()
        assert turn.message_ids == tuple(one.id for one in harness.turn_channel.channel.posted)
        await goes_on(restarted(harness))
        assert harness.turn_channel.contents == ["One.", "Two.", "Three."]
        assert harness.turn_channel.embeds == []
        assert await harness.question_ids() == []

    run_turns(scenario, CUT, THREE)


def test_the_cut_is_stored_before_it_is_told() -> None:
    async def scenario(harness: TurnHarness) -> None:
        stored: list[list[bool]] = []
        send = harness.turn_channel.channel.send

        async def look_and_send(post: Post, *more: Any) -> Any:
            if post.embed is not None:
                stored.append([one.is_begun for one in await harness.questions()])
            return await send(post, *more)

        spoil(harness.turn_channel.channel, "send", look_and_send)
        await cut_in_the_middle(harness)
        assert stored == [[True]]

    run_turns(scenario, CUT)


def test_the_notice_belongs_to_the_answer() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await cut_in_the_middle(harness)
        posts = harness.turn_channel.channel.posted
        assert [one.post.embed and one.post.embed.title for one in posts] == [None, None, RESTARTED]
        (turn,) = await harness.turns()
        assert turn.message_ids == tuple(one.id for one in posts)
        assert posts[-1].post.embed is not None
        assert posts[-1].post.embed.description == GOES_ON

    run_turns(scenario, CUT)


def test_a_message_that_hangs_is_left_to_the_next_process_and_the_answer_goes_on() -> None:
    async def scenario(harness: TurnHarness) -> None:
        hang_where(harness, lambda post: post.content == "Two.")
        asked = await cut_in_the_middle(harness)
        assert harness.turn_channel.contents == ["One."]
        (stored,) = await harness.questions()
        assert (stored.message_id, stored.is_begun) == (asked, True)
        await goes_on(restarted(harness))
        assert harness.turn_channel.contents == ["One.", "Three."]

    run_turns(scenario, CUT, THREE)


def test_the_journal_stays_open_for_a_message_that_hangs() -> None:
    async def scenario(harness: TurnHarness) -> None:
        hang_where(harness, lambda post: post.content == "Two.")
        await cut_in_the_middle(harness)
        assert len(await harness.db.journal.unfinished("")) == 1
        assert [turn.status for turn in await harness.turns()] == ["interrupted"]

    run_turns(scenario, CUT)


def test_where_nobody_wants_it_to_go_on_the_question_is_settled() -> None:
    async def scenario(harness: TurnHarness) -> None:
        hang_where(harness, lambda post: post.embed is not None or post.content == "Two.")
        await cut_in_the_middle(harness)
        assert await harness.question_ids() == []
        assert [turn.status for turn in await harness.turns()] == ["interrupted"]

    run_turns(scenario, CUT, turn={"continue_after_restart": False})


def test_nothing_said_is_answered_anew() -> None:
    async def scenario(harness: TurnHarness) -> None:
        async def hanging(*_given: Any) -> Any:
            await asyncio.Event().wait()

        spoil(harness.turn_channel, "channel_info", hanging)
        asked = await cut_in_the_middle(harness)
        assert [one.message_id for one in await harness.questions()] == [asked]
        assert not any(one.is_begun for one in await harness.questions())
        assert await harness.turns() == []

    run_turns(scenario, CUT)


def test_what_goes_on_is_not_taken_for_a_message_that_was_missed() -> None:
    async def scenario(harness: TurnHarness) -> None:
        hang_where(harness, lambda post: post.embed is not None)
        incoming = harness.turn_channel.write("tell me")
        await harness.channel_turns.submit(incoming, harness.turn_channel)
        await asyncio.sleep(1)
        await harness.channel_turns.shutdown(2)
        again = restarted(harness)
        turn = await harness.db.turns.last(CHANNEL)
        assert turn is not None
        assert await again.channel_turns.resume(harness.turn_channel, turn)
        taken = await again.channel_turns.submit(incoming, harness.turn_channel, "missed")
        assert taken == "seen"
        await again.channel_turns.idle()
        assert harness.turn_channel.contents == ["One.", "Two.", "Three."]

    run_turns(scenario, CUT, THREE)
