"""Commands on turns: stop, continue, regenerate, delete, why."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.turns import control_reply
from oshaberi.bot.turns.admission.rules import WHY
from oshaberi.bot.turns.context.dialogue import GO_ON
from oshaberi.stream.provider_protocol import Silence
from tests.turns.turn_harness import (
    ALICE,
    BOB,
    CHANNEL,
    REN,
    TOMORI,
    FakeTurnChannel,
    TurnHarness,
    fails,
    quick,
    run_turns,
    text,
)

MODERATOR = replace(BOB, can_manage_messages=True)
LINES = "One.\nTwo.\nThree.\nFour."


def told(harness: TurnHarness) -> list[str]:
    items = harness.models.requests[-1].items
    return [item.text for item in items if getattr(item, "tag", "") in ("history", "current")]


def test_who_may_stop() -> None:
    async def scenario(harness: TurnHarness) -> None:
        assert harness.channel_turns.stop(CHANNEL, ALICE.id, True) == control_reply.IDLE
        await harness.hear("hi")
        await asyncio.sleep(1)
        assert harness.channel_turns.stop(CHANNEL, BOB.id, False) == control_reply.NOT_YOURS
        assert harness.channel_turns.is_busy(CHANNEL)
        assert harness.channel_turns.stop(CHANNEL, BOB.id, True) == control_reply.STOPPED
        await harness.channel_turns.idle()
        assert harness.channel_turns.stop(CHANNEL, ALICE.id, False) == control_reply.IDLE

    run_turns(scenario, [Silence(60_000)])


def test_continue_delivers_what_was_not() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.contents == ["One.", "Two."]
        assert (
            await harness.channel_turns.continue_(harness.turn_channel, ALICE)
            == control_reply.CONTINUED
        )
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["One.", "Two.", "Three.", "Four."]
        assert len(harness.models.requests) == 1
        last = (await harness.turns())[-1]
        assert (last.why, last.undelivered, last.status) == ("continue", "", "completed")
        assert harness.turn_channel.channel.records[-1]["reply"] is False

    run_turns(scenario, [text(LINES)], stream=quick(send_message_limit=2))


def test_continue_asks_the_model_to_go_on() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("a tale")
        await harness.channel_turns.continue_(harness.turn_channel, ALICE)
        await harness.channel_turns.idle()
        assert told(harness) == ["Alice: a tale", "Once", GO_ON]
        assert harness.turn_channel.contents == ["Once", "upon a time."]

    run_turns(scenario, [text("Once")], [text("upon a time.")])


def test_continue_works_without_the_message_that_was_answered() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("a tale")
        harness.turn_channel.people.clear()
        assert (await harness.channel_turns.continue_(harness.turn_channel, ALICE)).ok
        await harness.channel_turns.idle()
        assert told(harness) == ["Once", GO_ON]

    run_turns(scenario, [text("Once")], [text("upon a time.")])


def test_nothing_to_continue() -> None:
    async def scenario(harness: TurnHarness) -> None:
        assert (
            await harness.channel_turns.continue_(harness.turn_channel, ALICE)
            == control_reply.NOTHING
        )
        assert (
            await harness.channel_turns.delete(harness.turn_channel, 1, ALICE)
            == control_reply.UNKNOWN
        )
        assert await harness.channel_turns.why(1) is None

    run_turns(scenario)


def test_regenerate() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.turn_channel.write("before", BOB, mention=False)
        await harness.answer("a joke")
        harness.turn_channel.write("haha", BOB, mention=False)
        first = (await harness.turns())[-1].message_ids
        assert (
            await harness.channel_turns.regenerate(harness.turn_channel, ALICE)
            == control_reply.REGENERATED
        )
        await harness.channel_turns.idle()
        assert harness.turn_channel.deleted == list(first)
        assert told(harness) == ["Bob: before", "Alice: a joke"]
        assert harness.turn_channel.contents[-1] == "Better."
        assert (await harness.turns())[-1].why == "regenerate"
        assert harness.turn_channel.channel.records[-1]["reply"] is True

    run_turns(scenario, [text("Bad.\nVery bad.")], [text("Better.")])


def test_regenerate_needs_the_message() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        harness.turn_channel.people.clear()
        assert (
            await harness.channel_turns.regenerate(harness.turn_channel, ALICE)
            == control_reply.GONE
        )
        assert harness.turn_channel.deleted == []

    run_turns(scenario)


def test_others_may_not_and_moderators_may() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        mine = (await harness.turns())[-1].message_ids[0]
        assert (
            await harness.channel_turns.continue_(harness.turn_channel, BOB)
            == control_reply.NOT_YOURS
        )
        assert (
            await harness.channel_turns.regenerate(harness.turn_channel, BOB)
            == control_reply.NOT_YOURS
        )
        assert (
            await harness.channel_turns.delete(harness.turn_channel, mine, BOB)
            == control_reply.NOT_YOURS
        )
        assert harness.turn_channel.deleted == []
        assert (await harness.channel_turns.delete(harness.turn_channel, mine, MODERATOR)).ok
        assert (await harness.channel_turns.regenerate(harness.turn_channel, MODERATOR)).ok
        await harness.channel_turns.idle()

    run_turns(scenario)


def test_while_an_answer_is_under_way() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        await harness.hear("more")
        assert (
            await harness.channel_turns.continue_(harness.turn_channel, ALICE) == control_reply.BUSY
        )
        assert (
            await harness.channel_turns.regenerate(harness.turn_channel, ALICE)
            == control_reply.BUSY
        )
        await harness.channel_turns.idle()

    run_turns(scenario)


def test_of_two_that_come_at_once_one_is_done() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        for work, done in (
            (harness.channel_turns.continue_, control_reply.CONTINUED),
            (harness.channel_turns.regenerate, control_reply.REGENERATED),
        ):
            both = await asyncio.gather(*(work(harness.turn_channel, ALICE) for _ in range(2)))
            assert both == [done, control_reply.BUSY]
            await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["One.", "Two.", "Three."]

    run_turns(scenario, [text("One.")], [text("Two.")], [text("Three.")])


def test_who_is_not_answered_any_more_cannot_ask_again() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        here = harness.turn_channel.channel_id
        for lists in (
            {"blocked_users": (ALICE.id,)},
            {"allowed_users": (BOB.id,)},
            {"blocked_channels": (here,)},
            {"allowed_channels": (here + 1,)},
        ):

            async def settings(_path: ChannelPath, lists: Any = lists) -> Any:
                return EffectiveSettings(quick(), TurnConfig(**lists))

            harness.settings.of = settings
            assert (
                await harness.channel_turns.continue_(harness.turn_channel, ALICE)
                == control_reply.NOT_LISTED
            )
            assert (
                await harness.channel_turns.regenerate(harness.turn_channel, ALICE)
                == control_reply.NOT_LISTED
            )
        mine = (await harness.turns())[-1].message_ids[0]
        assert (
            await harness.channel_turns.delete(harness.turn_channel, mine, ALICE)
            == control_reply.DELETED
        )

    run_turns(scenario)


def test_a_persona_for_age_restricted_channels_does_not_go_on_elsewhere() -> None:
    async def scenario(harness: TurnHarness) -> None:
        place = harness.turn_channel
        place.is_age_restricted = True
        assert await harness.answer("ren?", mention=False) == "trigger"
        place.is_age_restricted = False
        for ask in (harness.channel_turns.continue_, harness.channel_turns.regenerate):
            assert await ask(place, ALICE) == control_reply.NOT_HERE
        assert not await harness.channel_turns.resume(place, (await harness.turns())[-1])
        assert await harness.answer("ren?", mention=False) == "age_restricted"
        place.is_age_restricted = True
        again = await harness.channel_turns.regenerate(place, ALICE)
        assert again == control_reply.REGENERATED

    run_turns(scenario, personas=(TOMORI, replace(REN, is_age_restricted=True)))


def test_who_asks_again_too_soon_waits() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert (
            await harness.channel_turns.regenerate(harness.turn_channel, ALICE)
            == control_reply.TOO_SOON
        )
        await asyncio.sleep(10)
        assert (
            await harness.channel_turns.regenerate(harness.turn_channel, ALICE)
            == control_reply.REGENERATED
        )
        await harness.channel_turns.idle()
        assert (
            await harness.channel_turns.continue_(harness.turn_channel, ALICE)
            == control_reply.TOO_SOON
        )
        assert await harness.hear("hi") == "cooldown"
        assert (await harness.channel_turns.continue_(harness.turn_channel, MODERATOR)).ok
        await harness.channel_turns.idle()

    run_turns(scenario, turn={"cooldown_ms": 10_000})


def test_delete_takes_the_whole_answer() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        ids = (await harness.turns())[-1].message_ids
        assert len(ids) == 4
        elsewhere = FakeTurnChannel(51)
        assert await harness.channel_turns.delete(elsewhere, ids[1], ALICE) == control_reply.UNKNOWN
        assert (
            await harness.channel_turns.delete(harness.turn_channel, ids[1], ALICE)
            == control_reply.DELETED
        )
        assert harness.turn_channel.deleted == list(ids)

    run_turns(scenario, [text(LINES)])


def test_an_answer_and_its_continuations_are_deleted_as_one() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("a tale")
        for _ in range(2):
            assert (await harness.channel_turns.continue_(harness.turn_channel, ALICE)).ok
            await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["Once", "upon", "a time."]
        first, second, third = (turn.message_ids for turn in await harness.turns())
        assert (
            await harness.channel_turns.delete(harness.turn_channel, second[0], ALICE)
            == control_reply.DELETED
        )
        assert harness.turn_channel.deleted == [*first, *second, *third]
        assert await harness.exchanges() == []
        assert [turn.why for turn in await harness.turns()] == [
            "mention",
            "continue",
            "continue",
        ]

    run_turns(scenario, [text("Once")], [text("upon")], [text("a time.")])


def test_an_answer_and_its_continuation_are_told_anew_as_one() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("before")
        await asyncio.sleep(1)
        await harness.answer("a tale")
        await asyncio.sleep(1)
        await harness.channel_turns.continue_(harness.turn_channel, ALICE)
        await harness.channel_turns.idle()
        old = [number for turn in (await harness.turns())[1:] for number in turn.message_ids]
        assert (
            await harness.channel_turns.regenerate(harness.turn_channel, ALICE)
            == control_reply.REGENERATED
        )
        await harness.channel_turns.idle()
        assert harness.turn_channel.deleted == old
        assert told(harness) == ["Alice: before", "Well.", "Alice: a tale"]
        assert [one.answered for one in await harness.exchanges()] == ["Well.", "Anew."]

    run_turns(scenario, [text("Well.")], [text("Once")], [text("upon a time.")], [text("Anew.")])


def test_what_is_continued_without_its_question_still_has_none() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("a tale")
        asked = harness.turn_channel.people[0].id
        harness.turn_channel.people.clear()
        await harness.channel_turns.continue_(harness.turn_channel, ALICE)
        await harness.channel_turns.idle()
        assert [turn.asked_id for turn in await harness.turns()] == [asked, asked]
        assert (
            await harness.channel_turns.regenerate(harness.turn_channel, ALICE)
            == control_reply.GONE
        )

    run_turns(scenario, [text("Once")], [text("upon a time.")])


def test_a_deleted_answer_is_not_continued_but_can_be_told_anew() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        (turn,) = await harness.turns()
        assert (
            await harness.channel_turns.delete(harness.turn_channel, turn.message_ids[0], ALICE)
        ).ok
        assert (
            await harness.channel_turns.continue_(harness.turn_channel, ALICE)
            == control_reply.DELETED_BEFORE
        )
        assert (
            await harness.channel_turns.regenerate(harness.turn_channel, ALICE)
            == control_reply.REGENERATED
        )
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents[-1] == "Better."

    run_turns(scenario, [text(LINES)], [text("Better.")], stream=quick(send_message_limit=2))


def test_why() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("ren?", mention=False)
        asked = harness.turn_channel.people[-1].id
        mine = (await harness.turns())[-1].message_ids[0]
        sentence = f"Because {WHY['trigger']}."
        assert await harness.channel_turns.why(asked) == sentence
        assert await harness.channel_turns.why(mine) == sentence
        await harness.answer("lol", mention=False)
        ignored = harness.turn_channel.people[-1].id
        assert await harness.channel_turns.why(ignored) == f"Because {WHY['unaddressed']}."
        assert await harness.channel_turns.why(424242) is None

    run_turns(scenario)


def test_after_a_failure_continue_asks_again() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("a tale")
        assert harness.turn_channel.embeds == ["The model could not be reached"]
        assert (await harness.channel_turns.continue_(harness.turn_channel, ALICE)).ok
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["Once."]

    run_turns(scenario, [fails("network")], [text("Once.")])


def test_the_guard_does_not_cut_what_is_delivered_again() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        (turn,) = await harness.turns()
        said = replace(turn, undelivered="Yes.\nAlice: said so.\nBye.", id=0)
        await harness.db.turns.remember(said)
        await harness.channel_turns.continue_(harness.turn_channel, ALICE)
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents[-3:] == ["Yes.", "Alice: said so.", "Bye."]

    run_turns(scenario, stream=quick(registered_speaker_guard_enabled=True))
